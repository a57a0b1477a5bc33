"""Choices as buttons, which one was pressed, and what a person sees after that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from bot.domain import InboundMessage
from bot.platforms.discord.rest import Rest, Route
from bot.platforms.discord.sdk import discord
from bot.platforms.payload import Json, objects, string

log = structlog.get_logger(__name__)

ROW, ROWS = 5, 5
"""Buttons of an action row, and rows of a message
(docs.discord.com/developers/components/reference#action-row)."""
MOST_CHOICES = ROW * ROWS
LABEL_LIMIT = 80
"""Characters of a button's label (same page, #button-button-structure)."""
STALE = "This question is too old. Please write your answer."
_PREFIX = "choice:"
_ACTION_ROW, _BUTTON = 1, 2
_GREY, _GREEN = 2, 3
_MESSAGE, _UPDATE = 4, 7
_FOR_ONE = 1 << 6
"""Flag of an answer that only the person who clicked sees."""


@dataclass(frozen=True, slots=True)
class Click:
    """A button was pressed: the interaction to answer, and what it means (None: nobody can tell any more)."""

    id: str
    token: str
    message: InboundMessage | None


def components(choices: Sequence[str]) -> list[Json]:
    """The rows of buttons below a question; none where there is nothing to choose."""
    made = [
        _button(choice, f"{_PREFIX}{number}", _GREY) for number, choice in enumerate(choices[:MOST_CHOICES])
    ]
    return [_row(made[start : start + ROW]) for start in range(0, len(made), ROW)]


def pressed_label(message: Json, pressed: str) -> str:
    """What the pressed button of a message says, "" where that cannot be told. Raises Malformed."""
    if not pressed.startswith(_PREFIX):
        return ""
    for row in objects(message, "components"):
        for button in objects(row, "components"):
            if string(button, "custom_id") == pressed and not button.get("disabled"):
                return string(button, "label")
    return ""


class Clicks:
    """Confirms clicks that are stored. A failure costs nothing but the sign: the answer is on its way."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    async def confirm(self, click: Click) -> None:
        """Let the choice stand in the place of the buttons; Discord wants to hear within three seconds."""
        answer: dict[str, Any] = {"type": _MESSAGE, "data": {"content": STALE, "flags": _FOR_ONE}}
        shown: dict[str, Any] = {}
        if click.message is not None:
            chosen = _button(f"✓ {click.message.text}", "chosen", _GREEN)
            shown = {"components": [_row([{**chosen, "disabled": True}])]}
            answer = {"type": _UPDATE, "data": shown}
        route = Route(
            "POST", "/interactions/{webhook_id}/{webhook_token}/callback", webhook_id=click.id,
            webhook_token=click.token,
        )  # fmt: skip
        try:
            await self._rest.request(route, json=answer)
        except discord.NotFound:
            # It was stored too late for that; the message itself can be changed at any time.
            if click.message is not None:
                await self._edit(click.message, shown)
        except discord.DiscordException as error:
            _unconfirmed(error)

    async def _edit(self, message: InboundMessage, shown: Json) -> None:
        origin = message.origin
        route = Route(
            "PATCH", "/channels/{channel_id}/messages/{message_id}", channel_id=origin.topic or origin.chat,
            message_id=origin.reply_to,
        )  # fmt: skip
        try:
            await self._rest.request(route, json=shown)
        except discord.DiscordException as error:
            _unconfirmed(error)


def _unconfirmed(error: discord.DiscordException) -> None:
    log.info("discord.click_not_confirmed", reason=type(error).__name__)


def _row(buttons: list[Json]) -> Json:
    return {"type": _ACTION_ROW, "components": buttons}


def _button(label: str, name: str, style: int) -> Json:
    return {"type": _BUTTON, "style": style, "label": label[:LABEL_LIMIT], "custom_id": name}
