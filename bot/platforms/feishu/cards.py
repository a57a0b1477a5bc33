"""Cards 2.0 as JSON (open.feishu.cn, "Card JSON 2.0 structure")."""

from __future__ import annotations

from typing import Any

import orjson

from bot.domain import ChatKind, ReplyAddress
from bot.render.feishu import card_markdown
from bot.render.plain import render_plain

TEXT = "text"
"""The id of the element that holds the answer."""
SAY = "roebot_say"
"""The key of a button's value under which the words stand that it says for the person who clicks."""
STOP_LABEL = "■ Stop"
SUMMARY_LENGTH = 120
_SUMMARY_SOURCE = 600


def card(text: str, *, stop: ReplyAddress | None = None) -> dict[str, Any]:
    """A card that shows Markdown. With `stop` (where it is shown) it streams and has a stop button."""
    streaming = stop is not None
    elements: list[dict[str, Any]] = [{"tag": "markdown", "element_id": TEXT, "content": card_markdown(text)}]
    if stop is not None:
        elements.append(_stop_button(stop))
    config: dict[str, Any] = {"streaming_mode": streaming, "update_multi": True}
    if not streaming:
        config["summary"] = {"content": summary(text)}
    return {"schema": "2.0", "config": config, "body": {"elements": elements}}


def dumped(value: Any) -> str:
    """JSON inside a string, as the API wants cards and settings."""
    return orjson.dumps(value).decode()


def summary(text: str) -> str:
    """The line that the list of chats and a notification show."""
    shown = " ".join(render_plain(text[:_SUMMARY_SOURCE]).split())
    return shown if len(shown) <= SUMMARY_LENGTH else f"{shown[:SUMMARY_LENGTH]}…"


def _stop_button(address: ReplyAddress) -> dict[str, Any]:
    value = {SAY: "/stop", "group": address.chat_kind is ChatKind.GROUP, "topic": address.topic}
    return {
        "tag": "button",
        "element_id": "stop",
        "size": "tiny",
        "text": {"tag": "plain_text", "content": STOP_LABEL},
        "behaviors": [{"type": "callback", "value": value}],
    }
