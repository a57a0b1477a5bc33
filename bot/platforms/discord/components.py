"""Buttons for choices and the stop, the press of one, and its answer.

A button's meaning is in its id and in the message that Discord sends with the click: nothing is kept in
memory, so buttons outlive the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from bot.domain import InboundMessage
from bot.platforms.choice_markers import ChoiceMarkers
from bot.platforms.discord.callbacks import CALLBACK_SECONDS
from bot.platforms.discord.rest import DiscordRest, Route
from bot.platforms.discord.sdk import discord
from bot.platforms.payload import Json, get_objects, get_string

log = structlog.get_logger(__name__)

ROW, ROWS = 5, 5
"""Buttons of an action row, and rows of a message
(docs.discord.com/developers/components/reference#action-row)."""
MAX_CHOICES = ROW * ROWS
LABEL_LIMIT = 80
"""Characters of a button's label (same page, #button-button-structure)."""
STALE = "This question is too old. Please write your answer."
STOP, STOP_LABEL = "stop", "■ Stop"
"""The id and label of the button below a message that grows."""
_PREFIX = "choice:"
_ACTION_ROW, _BUTTON = 1, 2
_GREY, _GREEN = 2, 3
_MESSAGE, _LATER, _UPDATE = 4, 6, 7
"""Types of an answer to a click (docs.discord.com/developers/interactions/receiving-and-responding)."""
_FOR_ONE = 1 << 6
"""Flag of an answer that only the person who clicked sees."""


@dataclass(frozen=True, slots=True)
class DiscordClick:
    """A pressed button: the interaction to answer, and its message (None where no longer known)."""

    id: str
    token: str
    message: InboundMessage | None


def choice_rows(choices: Sequence[str]) -> list[Json]:
    """Build the rows of buttons below a question, none without choices."""
    rows = [
        _button(choice, f"{_PREFIX}{number}", _GREY) for number, choice in enumerate(choices[:MAX_CHOICES])
    ]
    return [_action_row(rows[start : start + ROW]) for start in range(0, len(rows), ROW)]


def stop_button() -> list[Json]:
    """Build the row below a growing message."""
    return [_action_row([_button(STOP_LABEL, STOP, _GREY)])]


def pressed_label(message: Json, pressed: str) -> str:
    """Return the label of the pressed button of a message, "" where unknown. Raises Malformed."""
    if pressed != STOP and not pressed.startswith(_PREFIX):
        return ""
    button = find_component(message, pressed)
    return get_string(button, "label") if button.get("type") == _BUTTON else ""


def find_component(message: Json, name: str) -> Json:
    """Return the usable component of a message with this `custom_id`, empty where there is none. Raises
    Malformed.
    """
    for row in get_objects(message, "components"):
        for one in get_objects(row, "components"):
            if get_string(one, "custom_id") == name and not one.get("disabled"):
                return one
    return {}


def list_button_ids(message: Json) -> list[str]:
    """List the ids of the buttons of a message, as sent or as received."""
    rows = message.get("components") or []
    return [str(button.get("custom_id")) for row in rows for button in row.get("components", [])]


class DiscordClickAnswers:
    """Answers clicks once they are stored or refused. A failure costs only the marker."""

    def __init__(self, rest: DiscordRest, signs: ChoiceMarkers) -> None:
        self._rest = rest
        self._signs = signs

    async def refuse(self, click: DiscordClick, reason: str) -> None:
        """Tell the person who clicked, and nobody else, that the click does not count; the buttons stay."""
        answer: dict[str, Any] = {"type": _MESSAGE, "data": {"content": reason, "flags": _FOR_ONE}}
        try:
            await self._call_back(click, answer if reason else {"type": _LATER})
        except (TimeoutError, discord.DiscordException) as error:
            _log_unconfirmed(error)

    async def confirm(self, click: DiscordClick) -> None:
        """Let the choice stand in the place of the buttons; Discord wants to hear within three seconds.

        A stop changes nothing yet: the final takes its button away.
        """
        question = click.message.origin.reply_to if click.message is not None else ""
        async with self._signs.claim_marker(question) as due:
            await self._confirm(click, due=due)

    async def _confirm(self, click: DiscordClick, *, due: bool) -> None:
        answer: dict[str, Any] = {"type": _MESSAGE, "data": {"content": STALE, "flags": _FOR_ONE}}
        shown: dict[str, Any] = {}
        if click.message is not None and not (due and click.message.clicked):
            answer = {"type": _LATER}
        elif click.message is not None:
            chosen = _button(f"✓ {click.message.text}", "chosen", _GREEN)
            shown = {"components": [_action_row([{**chosen, "disabled": True}])]}
            answer = {"type": _UPDATE, "data": shown}
        try:
            await self._call_back(click, answer)
        except (TimeoutError, discord.NotFound):
            # It was stored too late for that; the message itself can be changed at any time.
            if click.message is not None and shown:
                await self._edit(click.message, shown)
        except discord.DiscordException as error:
            _log_unconfirmed(error)

    async def _call_back(self, click: DiscordClick, answer: Json) -> None:
        """Answer a click. Raises TimeoutError and the errors of DiscordRest."""
        route = Route(
            "POST", "/interactions/{webhook_id}/{webhook_token}/callback", webhook_id=click.id,
            webhook_token=click.token,
        )  # fmt: skip
        async with asyncio.timeout(CALLBACK_SECONDS):
            await self._rest.request(route, json=answer)

    async def _edit(self, message: InboundMessage, shown: Json) -> None:
        origin = message.origin
        route = Route(
            "PATCH", "/channels/{channel_id}/messages/{message_id}", channel_id=origin.topic or origin.chat,
            message_id=origin.reply_to,
        )  # fmt: skip
        try:
            await self._rest.request(route, json=shown)
        except discord.DiscordException as error:
            _log_unconfirmed(error)


def _log_unconfirmed(error: Exception) -> None:
    log.info("discord.click_not_confirmed", reason=type(error).__name__)


def _action_row(buttons: list[Json]) -> Json:
    return {"type": _ACTION_ROW, "components": buttons}


def _button(label: str, name: str, style: int) -> Json:
    return {"type": _BUTTON, "style": style, "label": label[:LABEL_LIMIT], "custom_id": name}
