"""Content of posts: text, Markdown and blocks, within Slack's limits."""

from __future__ import annotations

from typing import Any

from bot.testing.emulators.slack.calls import SlackCall
from bot.testing.emulators.slack.errors import SlackApiError

MARKDOWN_LIMIT = 12_000
"""Characters of `markdown_text` in one call (docs.slack.dev, chat.postMessage and chat.startStream)."""
UPDATE_LIMIT = 4_000
"""Characters of `text` in chat.update (docs.slack.dev, chat.update)."""
TEXT_LIMIT = 40_000


def content_of(call: SlackCall, limit: int) -> tuple[str, bool]:
    """Return the text of a post and whether it is Markdown. Raises ApiRefusal."""
    markdown, text, blocks = call.text("markdown_text"), call.text("text"), blocks_of(call)
    if markdown and (text or blocks):
        raise SlackApiError("markdown_text_conflict")
    if markdown:
        if len(markdown) > MARKDOWN_LIMIT:
            raise SlackApiError("msg_too_long")
        return markdown, True
    if len(text) > limit:
        raise SlackApiError("msg_too_long")
    if not text and not blocks:
        raise SlackApiError("no_text")
    written = [str(block.get("text", "")) for block in blocks if block.get("type") == "markdown"]
    return "\n\n".join(written) or text, bool(written)


def blocks_of(call: SlackCall) -> list[dict[str, Any]]:
    """Return the blocks of a call. Raises ApiRefusal if they exceed a limit of Block Kit."""
    blocks = call.json("blocks") or []
    if not isinstance(blocks, list) or len(blocks) > 50:
        raise SlackApiError("invalid_blocks")
    for block in blocks:
        elements = block.get("elements") or []
        labels = [str(one.get("text", {}).get("text", "")) for one in elements if one.get("type") == "button"]
        values = [str(one.get("value", "")) for one in elements]
        if len(elements) > 25 or any(not 0 < len(label) <= 75 for label in labels):
            raise SlackApiError("invalid_blocks")
        if any(len(value) > 2000 for value in values) or len(str(block.get("text", ""))) > MARKDOWN_LIMIT:
            raise SlackApiError("invalid_blocks")
    return blocks
