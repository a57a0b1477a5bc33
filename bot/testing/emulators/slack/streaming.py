"""`chat.*Stream`: streams of Markdown or chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.testing.emulators.slack.calls import SlackCall
from bot.testing.emulators.slack.content import MARKDOWN_LIMIT
from bot.testing.emulators.slack.errors import SlackApiError
from bot.testing.emulators.slack.state import SlackChatMessage

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
