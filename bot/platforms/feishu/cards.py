"""Cards 2.0 as JSON (open.feishu.cn, "Card JSON 2.0 structure")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from bot.domain import ChatKind, Mention, ReplyAddress
from bot.render.entities import render_plain
from bot.render.feishu import card_markdown, mention_in_card

TEXT = "text"
"""The id of the element that holds the answer."""
SAY = "roebot_say"
"""Key of a button's value for the text that a click sends."""
CHOICES = "choices"
"""The id of the element that holds the buttons of a question."""
MAX_CHOICES = 20
"""Buttons of one question; a card allows 200 elements, but nobody reads that many."""
STOP_LABEL = "■ Stop"
SUMMARY_LENGTH = 120
_SUMMARY_SOURCE = 600


def build_card(
    text: str,
    address: ReplyAddress,
    *,
    streaming: bool = False,
    choices: Sequence[str] = (),
    mentions: Sequence[Mention] = (),
) -> dict[str, Any]:
    """Build a card that shows Markdown with mentions, and a stop button while it streams, or choices."""
    content = mention_in_card(text, mentions)
    elements: list[dict[str, Any]] = [{"tag": "markdown", "element_id": TEXT, "content": content}]
    if streaming:
        elements.append(_button("stop", STOP_LABEL, _button_value("/stop", address)))
    if choices:
        elements.append(_choice_columns(choices, address))
    config: dict[str, Any] = {"streaming_mode": streaming, "update_multi": True}
    if not streaming:
        config["summary"] = {"content": summarize(text)}
    return {"schema": "2.0", "config": config, "body": {"elements": elements}}


def build_plain_card(text: str) -> dict[str, Any]:
    """Build a card that shows the text as written, if Feishu refuses it as Markdown."""
    element = {
        "tag": "div",
        "element_id": TEXT,
        "text": {"tag": "plain_text", "content": text},
    }
    config = {"streaming_mode": False, "update_multi": True, "summary": {"content": summarize(text)}}
    return {"schema": "2.0", "config": config, "body": {"elements": [element]}}


def choice_element(choice: str) -> dict[str, Any]:
    """Build the element that replaces the buttons once one was clicked."""
    return {"tag": "markdown", "element_id": CHOICES, "content": card_markdown(f"✓ {choice}")}


def dump_json(value: Any) -> str:
    """JSON inside a string, as the API wants cards and settings."""
    return orjson.dumps(value).decode()


def summarize(text: str) -> str:
    """Return the line for the list of chats and for notifications."""
    shown = " ".join(render_plain(text[:_SUMMARY_SOURCE]).split())
    return shown if len(shown) <= SUMMARY_LENGTH else f"{shown[:SUMMARY_LENGTH]}…"


def _button_value(words: str, address: ReplyAddress, **more: Any) -> dict[str, Any]:
    """Build the value of a button. It names kind of chat and topic, which the event of a click lacks."""
    return {SAY: words, "group": address.chat_kind is ChatKind.GROUP, "topic": address.topic, **more}


def _button(element_id: str, label: str, value: dict[str, Any]) -> dict[str, Any]:
    return {
        "tag": "button",
        "element_id": element_id,
        "size": "small",
        "text": {"tag": "plain_text", "content": label},
        "behaviors": [{"type": "callback", "value": value}],
    }


def _choice_columns(choices: Sequence[str], address: ReplyAddress) -> dict[str, Any]:
    columns = [
        {
            "tag": "column",
            "width": "auto",
            "elements": [_button(f"choice_{number}", choice, _button_value(choice, address, choice=True))],
        }
        for number, choice in enumerate(choices)
    ]
    return {"tag": "column_set", "element_id": CHOICES, "flex_mode": "flow", "columns": columns}
