"""Content of tool results, in any format that tools return, as text and files.

Providers accept few of these forms in a tool's result, and one that a provider rejects would be part of every
later request of the thread.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agent.shared.json_text import shorten_text, to_short_json

FILE_BYTES = 50_000_000
"""Largest file that is stored."""
_TO_STANDARD = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file in a result: `mime_type` as the tool states it, `name` from its address, "" without one."""

    content: bytes
    mime_type: str = ""
    name: str = ""


Part = str | FilePart


def read_parts(content: object) -> list[Part]:
    """Return the parts of a message's content in order, with descriptions in place of unreadable parts."""
    blocks = content if isinstance(content, list | tuple) else [content]
    return [part for block in blocks for part in _read_block(block)]


def describe_content(content: object) -> str:
    """Return the content as text, with a note in place of each file."""
    parts = read_parts(content)
    return "\n".join(part if isinstance(part, str) else _describe_file(part) for part in parts)


def clean_text(text: str) -> str:
    """Replace invalid text: lone surrogates and NUL, which no request can contain."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def decode_base64(text: str) -> bytes | None:
    """Decode base64 in the variants that tools write: as a data URL, URL-safe, wrapped or without padding.

    Return None if it is none.
    """
    if text.startswith("data:"):
        text = text.partition(",")[2]
    packed = "".join(text.split()).rstrip("=").translate(_TO_STANDARD)
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except ValueError:
        return None


def _read_block(block: object) -> Iterable[Part]:
    if not isinstance(block, Mapping):
        return [clean_text(block if isinstance(block, str) else to_short_json(block))]
    if block.get("type") == "search_result":
        head = " ".join(str(block[key]) for key in ("title", "source") if block.get(key))
        return [clean_text(head), *read_parts(block.get("content") or [])]
    text = _find_text(block)
    if text is not None:
        return [clean_text(text)]
    source = _find_source(block)
    if source is None:
        return [clean_text(to_short_json(block))]
    return [_read_source(source, str(block.get("type") or "file"))]


def _find_text(block: Mapping[str, Any]) -> str | None:
    """Return the text of a text block, or of Anthropic's text documents."""
    inner = block.get("source")
    if isinstance(inner, Mapping) and inner.get("type") == "text":
        return str(inner.get("data"))
    return next(_texts_under(block, "text"), None)


@dataclass(frozen=True, slots=True)
class _Source:
    """The source of a block's content: `data` in base64, or an address or id."""

    data: str | None
    place: str = ""
    mime_type: str = ""
    name: str = ""


def _find_source(block: Mapping[str, Any]) -> _Source | None:
    """Return the content's source, in the formats of LangChain, OpenAI and Anthropic; None for other
    formats.
    """
    inner = next((block[key] for key in ("source", "image_url", "file") if block.get(key)), block)
    if isinstance(inner, str):
        inner = {"url": inner}
    if not isinstance(inner, Mapping):
        return None
    mime_type = _first(inner, "mime_type", "media_type", "mimeType") or _first(block, "mime_type")
    name = _first(inner, "filename", "name") or _first(block, "filename", "name")
    data = next(_texts_under(inner, "base64", "data", "file_data"), None)
    place = _first(inner, "url", "file_id")
    if data is None and place.startswith("data:"):
        data = place
    if data is not None and data.startswith("data:"):
        mime_type = mime_type or data[5:].partition(",")[0].partition(";")[0]
    return None if data is None and not place else _Source(data, place, mime_type, name)


def _first(mapping: Mapping[str, Any], *keys: str) -> str:
    """Return the first text under these keys, or "" if there is none."""
    return next(_texts_under(mapping, *keys), "")


def _texts_under(mapping: Mapping[str, Any], *keys: str) -> Iterator[str]:
    for key in keys:
        value = mapping.get(key)
        if isinstance(value, str):
            yield value


def _read_source(source: _Source, kind: str) -> Part:
    named = clean_text(" ".join(filter(None, [kind, source.mime_type[:100], source.name[:200]])))
    if source.data is None:
        return clean_text(f"[{named}: {shorten_text(source.place)}]")
    if len(source.data) > FILE_BYTES * 4 // 3 + 1_000:
        size = len(source.data) * 3 // 4
        return f"[{named}: omitted, because its {size:,} bytes are more than {FILE_BYTES:,}]"
    content = decode_base64(source.data)
    if not content:
        problem = "it is not valid base64" if content is None else "it is empty"
        return f"[{named}: omitted, because {problem} ({len(source.data):,} characters)]"
    return FilePart(content, clean_text(source.mime_type), clean_text(source.name))


def _describe_file(file: FilePart) -> str:
    named = " ".join(filter(None, [file.mime_type[:100] or "file", file.name[:200]]))
    return f"[{named}: {len(file.content):,} bytes, not shown here]"
