"""Reduction of chat completion messages to the fields that strict providers accept.

A message of an agent thread carries more than a provider expects: the name of the agent, blocks and ids from
another provider's model, arguments that are not JSON. One provider or another rejects each of them, and with
it every later request of the thread.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

Wire = dict[str, Any]

REPLAY = "_replay"
"""Key of a message with fields that its provider requires in an answer; it is not sent itself."""
MARK = "cache_control"
UNMARKED_TAIL = "unmarked_tail"
"""Setting of a request: the number of last messages that the next request won't contain."""
OMITTED_IMAGE = "(an image, which this model can't see)"
OMITTED_FILE = "(a file, which this model can't read)"
EMPTY = "(an empty message)"
"""Google rejects a message without text."""
TOOL_IMAGES = "Images from the tool results above:"
_IMAGE_KEYS = ("url", "detail")
_NAME_LENGTH = 64


def tidy_messages(wires: Sequence[Wire], *, images: bool, files: bool = False) -> list[Wire]:
    """Return the messages with published fields only, dropping answers without text and calls.

    Images in tool results follow the results in a human message, since no provider of these APIs accepts them
    in a tool message. With `images` false a note replaces every image. With `files` other parts of human
    messages, such as PDF files, are sent as they are.
    """
    tidy: list[Wire] = []
    shown: list[Wire] = []
    for wire in wires:
        if wire["role"] == "tool":
            text, found = _split_images(wire.get("content"), images=images)
            shown += found
            tidy.append({"role": "tool", "tool_call_id": wire["tool_call_id"], "content": text})
            continue
        if shown:
            tidy.append(_image_message(shown))
            shown = []
        if message := _tidy_message(wire, images=images, files=files):
            tidy.append(message)
    return [*tidy, _image_message(shown)] if shown else tidy


def _tidy_message(wire: Wire, *, images: bool, files: bool) -> Wire | None:
    role = wire["role"]
    if role == "user":
        return {"role": role, "content": _user_content(wire.get("content"), images=images, files=files)}
    text = read_text(wire.get("content"))
    if role != "assistant":
        return {"role": "system", "content": text}
    extra = wire.get(REPLAY) or {}
    if calls := [_tidy_call(call) for call in wire.get("tool_calls") or ()]:
        return {"role": role, "content": text or None, "tool_calls": calls, **extra}
    return {"role": role, "content": text, **extra} if text else None


def _tidy_call(call: Mapping[str, Any]) -> Wire:
    """Return a call with a name and arguments that every provider can parse."""
    function = call["function"]
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", function.get("name") or "")[:_NAME_LENGTH] or "unknown"
    arguments = function.get("arguments") or "{}"
    if not _is_object(arguments):
        arguments = "{}"
    return {"id": call["id"], "type": "function", "function": {"name": name, "arguments": arguments}}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def read_text(content: object) -> str:
    """Return the text of a message's content; other blocks have none."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part if isinstance(part, str) else _block_text(part) for part in parts]
    return "".join(filter(None, texts))


def _block_text(part: object) -> str:
    if isinstance(part, Mapping) and part.get("type") == "text":
        return str(part.get("text") or "")
    return ""


def _user_content(content: object, *, images: bool, files: bool) -> str | list[Wire]:
    """Return a text if there are no images, as providers without vision require."""
    if not isinstance(content, list):
        return read_text(content) or EMPTY
    tidy = [_tidy_part(part, images=images, files=files) for part in content]
    parts = [part for part in tidy if part["type"] != "text" or part["text"]]
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts) or EMPTY
    return parts


def _tidy_part(part: object, *, images: bool, files: bool = False) -> Wire:
    if isinstance(part, Mapping) and part.get("type") == "image_url":
        return _image_part(part) if images else {"type": "text", "text": OMITTED_IMAGE}
    if isinstance(part, str) or (isinstance(part, Mapping) and part.get("type") == "text"):
        return {"type": "text", "text": read_text([part])}
    return dict(part) if files and isinstance(part, Mapping) else {"type": "text", "text": OMITTED_FILE}


def _image_part(part: Mapping[str, Any]) -> Wire:
    image = part["image_url"]
    if isinstance(image, str):
        return {"type": "image_url", "image_url": {"url": image}}
    return {"type": "image_url", "image_url": {key: image[key] for key in _IMAGE_KEYS if key in image}}


def _split_images(content: object, *, images: bool) -> tuple[str, list[Wire]]:
    """Return a tool result's text, and the images to show after it."""
    if not isinstance(content, list):
        return read_text(content), []
    parts = [_tidy_part(part, images=images) for part in content]
    shown = [part for part in parts if part["type"] == "image_url"]
    return "\n".join(part["text"] for part in parts if part["type"] == "text"), shown


def _image_message(shown: Sequence[Wire]) -> Wire:
    return {"role": "user", "content": [{"type": "text", "text": TOOL_IMAGES}, *shown]}


def join_answers(wires: Sequence[Wire]) -> list[Wire]:
    """Return the messages with consecutive answers joined, unless the first has calls."""
    joined: list[Wire] = []
    for wire in wires:
        before = joined[-1] if joined else {}
        if wire["role"] == "assistant" == before.get("role") and not before.get("tool_calls"):
            texts = filter(None, (before.get("content"), wire.get("content")))
            joined[-1] = {**wire, "content": "\n\n".join(texts) or None}
        else:
            joined.append(wire)
    return joined


def map_call_ids(wires: Sequence[Wire], convert: Mapping[str, str]) -> None:
    """Replace the ids of calls and of their results in place."""
    for wire in wires:
        for call in wire.get("tool_calls") or ():
            call["id"] = convert.get(call["id"], call["id"])
        if "tool_call_id" in wire:
            wire["tool_call_id"] = convert.get(wire["tool_call_id"], wire["tool_call_id"])


def list_call_ids(wires: Sequence[Wire]) -> list[str]:
    calls = [call["id"] for wire in wires for call in wire.get("tool_calls") or ()]
    return [*calls, *(wire["tool_call_id"] for wire in wires if "tool_call_id" in wire)]


def mark_wires(wires: Sequence[Wire], mark: Wire, *, tail: int = 0, shared: int = 0) -> None:
    """Mark the ends of the parts that an Anthropic model should cache, in place.

    They are the first `shared` characters of the system prompt, all of it, the last message before the
    `tail`, and the one that was last in the previous request. All of the system, user and tool messages get
    parts, so that each is the same in later requests.
    """
    last = len(wires) - tail - 1
    answer = next((at for at in range(last, -1, -1) if wires[at]["role"] == "assistant"), 0)
    system = max((at for at, wire in enumerate(wires) if wire["role"] == "system"), default=-1)
    for at, wire in enumerate(wires):
        if wire["role"] == "assistant" or not wire["content"]:
            continue
        if isinstance(wire["content"], str):
            cut = shared if at == system else 0
            parts = filter(str.strip, (wire["content"][:cut], wire["content"][cut:]))
            wire["content"] = [{"type": "text", "text": part} for part in parts]
        texts = [part for part in wire["content"] if part["type"] == "text" and part["text"].strip()]
        if texts and at in (system, last, answer - 1):
            for part in texts if at == system else texts[-1:]:
                part[MARK] = mark
