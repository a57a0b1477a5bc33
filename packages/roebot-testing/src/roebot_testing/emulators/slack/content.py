"""Content of posts and streams: text, Markdown, blocks and chunks, within Slack's limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from roebot_testing.emulators.slack.blocks import BLOCK_LIMIT, MARKDOWN_LIMIT, check_blocks
from roebot_testing.emulators.slack.calls import SlackCall
from roebot_testing.emulators.slack.errors import SlackApiError
from roebot_testing.emulators.slack.state import SlackChatMessage

TEXT_LIMIT = 40_000
"""Characters of `text` that chat.postMessage shows; it cuts what is longer (docs.slack.dev, chat.postMessage,
truncating content)."""
EVENT_TYPE, EVENT_PAYLOAD = "event_type", "event_payload"


def content_of(call: SlackCall) -> tuple[str, bool]:
    """Return a post's text and whether it is Markdown. Raises ApiRefusal."""
    markdown, text, blocks = call.text("markdown_text"), call.text("text"), blocks_of(call)
    if not call.world.takes_markdown:
        markdown = ""
        if any(one["type"] in ("markdown", "context_actions") for one in blocks):
            raise SlackApiError("invalid_blocks")
    if markdown and (text or blocks):
        raise SlackApiError("markdown_text_conflict")
    if markdown:
        return markdown, True
    if not text and not blocks:
        raise SlackApiError("no_text")
    written = [str(block.get("text", "")) for block in blocks if block.get("type") == "markdown"]
    return "\n\n".join(written) or text[:TEXT_LIMIT], bool(written)


def blocks_of(call: SlackCall) -> list[dict[str, Any]]:
    """Return the blocks of a call. Raises ApiRefusal if they exceed a limit of Block Kit."""
    return check_blocks(call.json("blocks", "invalid_blocks_format") or [])


def metadata_of(call: SlackCall) -> dict[str, Any] | None:
    """Return the metadata of a call, or None if it has none. Raises ApiRefusal.

    It has a type and a payload; an empty object removes it (docs.slack.dev, chat.update, message metadata).
    """
    metadata = call.json("metadata", "invalid_metadata_format")
    if metadata is None:
        return None
    if not isinstance(metadata, dict):
        raise SlackApiError("invalid_metadata_format")
    if not metadata:
        return {}
    kind, payload = metadata.get(EVENT_TYPE), metadata.get(EVENT_PAYLOAD)
    if not isinstance(kind, str) or not kind or not isinstance(payload, dict):
        raise SlackApiError("invalid_metadata_schema")
    return metadata


TITLE_LIMIT = 256
"""Characters of the title of a task or plan (docs.slack.dev, chat.appendStream)."""
STATUSES = ("pending", "in_progress", "complete", "error")
DISPLAYS = ("", "timeline", "plan")
_KINDS = ("markdown_text", "task_update", "plan_update", "blocks")


@dataclass(frozen=True, slots=True)
class Delta:
    """Content that a call adds to a stream; `mode` is "markdown_text", "chunks" or "" (nothing)."""

    mode: str
    text: str
    chunks: Sequence[dict[str, Any]] = ()


def delta_of(call: SlackCall) -> Delta:
    """Return the content of a call. Raises ApiRefusal for content that Slack refuses."""
    markdown, chunks = call.text("markdown_text"), call.json("chunks") or []
    if markdown and chunks:
        raise SlackApiError("cannot_provide_both_markdown_text_and_chunks")
    if not isinstance(chunks, list):
        raise SlackApiError("invalid_chunks")
    for chunk in chunks:
        _check(chunk)
        if chunk["type"] == "blocks":
            check_blocks(chunk["blocks"])
    if _count_own_blocks(chunks) > BLOCK_LIMIT:
        raise SlackApiError("msg_blocks_too_many")
    text = markdown + "".join(chunk["text"] for chunk in chunks if chunk["type"] == "markdown_text")
    if len(text) > MARKDOWN_LIMIT:
        raise SlackApiError("msg_too_long")
    return Delta("chunks" if chunks else "markdown_text" if markdown else "", text, chunks)


def grow(message: SlackChatMessage, delta: Delta) -> None:
    """Add content to a stream, which stays in the mode of its first content. Raises ApiRefusal."""
    stream = message.stream
    if stream and delta.mode:
        if stream.mode and stream.mode != delta.mode:
            raise SlackApiError("streaming_mode_mismatch")
        stream.mode = delta.mode
    message.text += delta.text
    for chunk in delta.chunks:
        if chunk["type"] == "task_update":
            fields = {key: value for key, value in chunk.items() if key != "type"}
            message.tasks[chunk["id"]] = {**message.tasks.get(chunk["id"], {}), **fields}
        elif chunk["type"] == "plan_update":
            message.plan = chunk["title"]
        elif chunk["type"] == "blocks":
            message.blocks = [*message.blocks, *chunk["blocks"]]


def check_room(message: SlackChatMessage, delta: Delta, blocks: Sequence[dict[str, Any]] = ()) -> None:
    """Raise msg_blocks_too_many where a stream would have more than fifty blocks of its app's own."""
    if len(message.blocks) + _count_own_blocks(delta.chunks) + len(blocks) > BLOCK_LIMIT:
        raise SlackApiError("msg_blocks_too_many")


def _count_own_blocks(chunks: Sequence[dict[str, Any]]) -> int:
    return sum(len(chunk["blocks"]) for chunk in chunks if chunk["type"] == "blocks")


def _check(chunk: Any) -> None:
    if not isinstance(chunk, dict) or chunk.get("type") not in _KINDS:
        raise SlackApiError("invalid_chunks")
    kind = chunk["type"]
    wrong = {
        "markdown_text": lambda: not _worded(chunk.get("text"), MARKDOWN_LIMIT),
        "plan_update": lambda: not _worded(chunk.get("title"), TITLE_LIMIT),
        "blocks": lambda: not isinstance(chunk.get("blocks"), list),
        "task_update": lambda: (
            not _worded(chunk.get("id"), TITLE_LIMIT)
            or not _worded(chunk.get("title"), TITLE_LIMIT)
            or chunk.get("status") not in STATUSES
        ),
    }
    if wrong[kind]():
        raise SlackApiError("invalid_chunks")


def _worded(value: Any, limit: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= limit
