"""Cards 2.0 as JSON (open.feishu.cn, "Card JSON 2.0 structure").

The agent's steps are apart from the text: Feishu animates a text as if it were typed only if it begins with
the one before, which a quote at its end would prevent. A frame that replaces a card folds a panel that
somebody has opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from agent.shared.text import shorten, to_one_line
from bot.domain import ChatKind, Mention, ProgressItem, ReplyAddress
from bot.platforms.feishu.renderer import FEISHU_CARD_LIMIT, card_markdown, feishu_bytes, mention_in_card
from bot.render.entities import render_plain
from bot.render.progress import list_steps, summarize_steps

TEXT = "text"
"""The id of the element that holds the answer."""
SAY = "roebot_say"
"""Key of a button's value for the text that a click sends."""
CHOICES = "choices"
"""The id of the element that holds the buttons of a question."""
PROGRESS, STEP_TITLE, PANEL_BYTES = "progress", 100, 4000
"""The id of the panel with the agent's steps, characters of a step's title, and what the panel may take of a
card's bytes: eight steps in Chinese, quoted twice."""
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
    progress: Sequence[ProgressItem] = (),
) -> dict[str, Any]:
    """Build a card that shows Markdown with mentions, the agent's steps and a stop button while it streams,
    or choices.
    """
    content = mention_in_card(text, mentions)
    elements: list[dict[str, Any]] = [{"tag": "markdown", "element_id": TEXT, "content": content}]
    if progress:
        elements.append(build_panel(progress))
    if streaming:
        elements.append(_button("stop", STOP_LABEL, _button_value("/stop", address)))
    if choices:
        elements.append(_choice_columns(choices, address))
    config: dict[str, Any] = {"streaming_mode": streaming, "update_multi": True}
    if not streaming:
        config["summary"] = {"content": summarize(text)}
    return {"schema": "2.0", "config": config, "body": {"elements": elements}}


def fit_panel(text: str, progress: tuple[ProgressItem, ...]) -> tuple[ProgressItem, ...]:
    """Return the steps if there is room for them below the card's text."""
    return progress if feishu_bytes(text) <= FEISHU_CARD_LIMIT - PANEL_BYTES else ()


def build_panel(progress: Sequence[ProgressItem]) -> dict[str, Any]:
    """Build the panel of the agent's steps: collapsed, with the current step in its header. Titles may quote
    anyone, so they are plain text (open.feishu.cn, card JSON 2.0, "Collapsible panel").
    """
    listed = {"tag": "plain_text", "content": "\n".join(list_steps(progress, STEP_TITLE))}
    return {
        "tag": "collapsible_panel",
        "element_id": PROGRESS,
        "expanded": False,
        "header": {
            "title": {"tag": "plain_text", "content": summarize_steps(progress)},
            "icon": {"tag": "standard_icon", "token": "down-small-ccm_outlined", "size": "16px 16px"},
            "icon_position": "follow_text",
            "icon_expanded_angle": -180,
        },
        "elements": [{"tag": "div", "text": {**listed, "text_size": "notation", "text_color": "grey"}}],
    }


def build_plain_card(text: str) -> dict[str, Any]:
    """Build a card with the literal text, if Feishu refuses it as Markdown."""
    element = {
        "tag": "div",
        "element_id": TEXT,
        "text": {"tag": "plain_text", "content": text},
    }
    config = {"streaming_mode": False, "update_multi": True, "summary": {"content": summarize(text)}}
    return {"schema": "2.0", "config": config, "body": {"elements": [element]}}


def choice_element(choice: str) -> dict[str, Any]:
    """Build the element that replaces the buttons after a click."""
    return {"tag": "markdown", "element_id": CHOICES, "content": card_markdown(f"✓ {choice}")}


def dump_json(value: Any) -> str:
    """Return JSON inside a string, as the API requires for cards and settings."""
    return orjson.dumps(value).decode()


def summarize(text: str) -> str:
    """Return the line for the list of chats and for notifications."""
    return shorten(to_one_line(render_plain(text[:_SUMMARY_SOURCE])), SUMMARY_LENGTH)


def _button_value(words: str, address: ReplyAddress, **more: Any) -> dict[str, Any]:
    """Build a button's value. It includes kind of chat and topic, which click events lack."""
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
