"""Rules for the arguments of methods, one table: which are required, how long they may be, how many.

From the pages of the methods (docs.slack.dev/reference/methods) and the schemas of their arguments, which
slack-ruby/slack-api-ref copies. An argument outside its schema is invalid_arguments, unless the page names an
error of its own for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from roebot_testing.emulators.fields import MISSING, find_values, json_pointer
from roebot_testing.emulators.slack.errors import SlackApiError

INVALID = "invalid_arguments"
POSTS = ("chat.postMessage", "chat.postEphemeral", "chat.update")
STREAMS = ("chat.startStream", "chat.appendStream", "chat.stopStream")
MESSAGE_ATTACHMENTS = 100


class Unit(StrEnum):
    """Unit in which an argument is measured."""

    CHARACTERS = "characters"
    BYTES = "bytes"
    ITEMS = "items"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class ArgumentRule:
    """Rule for an argument of some methods: present if `required`, and measuring `least` to `most` (0: no
    limit). `name` is a path (see `emulators.fields`).
    """

    methods: Sequence[str]
    name: str
    error: str = INVALID
    most: int = 0
    least: int = 0
    unit: Unit = Unit.CHARACTERS
    required: bool = False


ARGUMENT_RULES: Sequence[ArgumentRule] = (
    ArgumentRule((*POSTS, "chat.delete", *STREAMS), "channel", required=True),
    ArgumentRule(("chat.update", "chat.delete", "chat.appendStream", "chat.stopStream"), "ts", required=True),
    ArgumentRule(("chat.postEphemeral",), "user", required=True),
    ArgumentRule(("assistant.threads.setStatus",), "channel_id", required=True),
    ArgumentRule(("assistant.threads.setStatus",), "thread_ts", required=True),
    ArgumentRule(
        ("agents.sessions.setStatus", "agents.sessions.rename", "assistant.threads.setSuggestedPrompts"),
        "channel_id",
        required=True,
    ),
    ArgumentRule(("agents.sessions.setStatus",), "status", required=True),
    ArgumentRule(("agents.sessions.setStatus",), "title", INVALID, 200),
    ArgumentRule(("agents.sessions.rename",), "title", INVALID, 200, required=True),
    ArgumentRule(("assistant.threads.setSuggestedPrompts",), "prompts", required=True),
    ArgumentRule(("assistant.threads.setStatus",), "loading_messages", INVALID, 10, 1, Unit.ITEMS),
    ArgumentRule(("assistant.threads.setStatus",), "loading_messages[]", INVALID, 50, 1),
    ArgumentRule(
        ("conversations.history", "conversations.replies", "conversations.info"), "channel", required=True
    ),
    ArgumentRule(("conversations.replies",), "ts", required=True),
    ArgumentRule(("conversations.replies",), "limit", INVALID, 1000, 1, Unit.NUMBER),
    ArgumentRule(("reactions.add", "reactions.remove"), "channel", "no_item_specified", required=True),
    ArgumentRule(("reactions.add", "reactions.remove"), "timestamp", "no_item_specified", required=True),
    ArgumentRule(("reactions.add", "reactions.remove"), "name", required=True),
    ArgumentRule(("users.info",), "user", required=True),
    ArgumentRule(("files.info",), "file", required=True),
    ArgumentRule(("files.getUploadURLExternal",), "filename", "missing_argument", required=True),
    ArgumentRule(
        ("files.getUploadURLExternal",), "length", "missing_argument", 0, 1, Unit.NUMBER, required=True
    ),
    ArgumentRule(("files.getUploadURLExternal",), "alt_txt", "alt_txt_too_large", 1000),
    ArgumentRule(("files.completeUploadExternal",), "files", required=True),
    ArgumentRule(("files.completeUploadExternal",), "files[].highlight_type", INVALID, 10),
    ArgumentRule(("chat.update",), "text", "msg_too_long", 4_000, unit=Unit.BYTES),
    ArgumentRule(("chat.postEphemeral",), "text", "msg_too_long", 40_000),
    ArgumentRule((*POSTS, *STREAMS), "markdown_text", "msg_too_long", 12_000),
    ArgumentRule(POSTS, "attachments", "too_many_attachments", MESSAGE_ATTACHMENTS, 0, Unit.ITEMS),
)
"""chat.postMessage cuts a `text` of more than 40,000 characters instead of refusing it.

chat.update documents a limit of 4,000 characters, but counts UTF-8 bytes: it took 4,000 bytes of non-ASCII
text and refused 4,002 (openclaw/openclaw#115027).
"""


def check_arguments(method: str, values: Mapping[str, Any]) -> None:
    """Raise SlackApiError for the first argument that breaks a rule."""
    for rule in ARGUMENT_RULES:
        if method in rule.methods:
            for problem in _find_problems(rule, values):
                raise _refuse(rule, problem)


def _refuse(rule: ArgumentRule, problem: str) -> SlackApiError:
    if rule.error != INVALID or not problem:
        return SlackApiError(rule.error)
    return SlackApiError(INVALID, response_metadata={"messages": [f"[ERROR] {problem}"]})


def _find_problems(rule: ArgumentRule, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield a text for each problem, or "" if Slack's is not known."""
    name = re.split(r"[.[]", rule.name, maxsplit=1)[0]
    value = values.get(name)
    if value is None or value == "":
        if rule.required:
            yield f"missing required field: {name}"
        return
    body = {name: _read_list(value) if rule.name != name else value}
    for place, found in find_values(body, rule.name):
        if found is not None and found is not MISSING:
            size, pointer = _measure(rule, found), json_pointer(place)
            problem = find_size_problem(rule.unit, size, rule.most, rule.least, pointer)
            if problem is not None:
                yield problem


def find_size_problem(unit: Unit, size: int, most: int, least: int, pointer: str) -> str | None:
    """Return Slack's text for a size outside `least` to `most` (0: no limit), or "" if unknown."""
    too_large = 0 < most < size
    if size >= least and not too_large:
        return None
    if unit is Unit.CHARACTERS:
        bound = f"less than {most + 1}" if too_large else f"more than {least - 1}"
        return f"must be {bound} characters [json-pointer:{pointer}]"
    if unit is Unit.ITEMS and too_large:
        return f"no more than {most} items allowed [json-pointer:{pointer}]"
    return ""


def _measure(rule: ArgumentRule, value: Any) -> int:
    if rule.unit is Unit.NUMBER:
        text = str(value)
        return int(text) if text.lstrip("-").isdecimal() else rule.least - 1
    if rule.unit is Unit.BYTES:
        return len(str(value).encode(errors="surrogatepass"))
    return len(_read_list(value) if rule.unit is Unit.ITEMS else str(value))


def _read_list(value: Any) -> list[Any]:
    """Return a list that came as such or as JSON text; anything else counts as empty."""
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return []
    return value if isinstance(value, list) else []
