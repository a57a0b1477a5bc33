"""Buttons and menus for choices, the stop button, clicks on them, and answers to clicks.

What a click means is in the ids and in the message that Discord sends with it: nothing is kept in memory, so
choices outlive the process.

More than five choices, or one that a phone would cut off, become a menu, without a placeholder, since
Discord's default is in the reader's language. Messages keep their text in `content`: notifications of
Components V2 are empty (discord/discord-api-docs#7854), and a request should be readable there. There are no
forms (modals) for answers, because others in the conversation would not see what was typed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from rich.cells import cell_len

from bot.domain import InboundMessage
from bot.platforms.choice_markers import ChoiceMarkers
from bot.platforms.discord.callbacks import CALLBACK_SECONDS
from bot.platforms.discord.rest import DiscordRest, Route
from bot.platforms.discord.sdk import discord
from bot.platforms.payload import Json, get_objects, get_string

log = structlog.get_logger(__name__)

ROW = 5
"""Buttons of an action row (docs.discord.com/developers/components/reference#action-row)."""
MAX_CHOICES = 25
"""Options of a menu (same page, #string-select)."""
LABEL_LIMIT, OPTION_LIMIT = 80, 100
"""Characters of a button's label and of an option's (same page, #button-button-structure and
#string-select-select-option-structure)."""
BUTTON_WIDTH = 38
"""Columns of a button's label that a phone shows (same page, #button-button-design-guidelines)."""
STALE = "This question is too old. Please write your answer."
STOP, STOP_LABEL = "stop", "■ Stop"
"""The id and label of the button below a message that grows."""
MENU = "choices"
"""The id of the menu below a question; the values of its options are their numbers."""
_PREFIX = "choice:"
_ACTION_ROW, _BUTTON, _STRING_MENU = 1, 2, 3
_GREY, _GREEN = 2, 3
_MESSAGE, _LATER, _UPDATE = 4, 6, 7
"""Types of an answer to a click (docs.discord.com/developers/interactions/receiving-and-responding)."""
_FOR_ONE = 1 << 6
"""Flag of an answer that only the person who clicked sees."""


@dataclass(frozen=True, slots=True)
class DiscordClick:
    """A choice or a pressed button: the interaction to answer, and its message (None if no longer known)."""

    id: str
    token: str
    message: InboundMessage | None

    @property
    def sharing(self) -> tuple[str, ...]:
        """Return the keys for limits on callbacks: the person, and the question."""
        if self.message is None:
            return ("",)
        return self.message.origin.sender.id, self.message.origin.reply_to


def choice_rows(choices: Sequence[str]) -> list[Json]:
    """Build the rows below a question, empty without choices: a row of buttons, or a menu for more or longer
    choices.

    The menu has no placeholder: the client's own is in the language of the person who sees it.
    """
    offered = choices[:MAX_CHOICES]
    if len(offered) > ROW or any(cell_len(choice) > BUTTON_WIDTH for choice in offered):
        return [_action_row([_menu(offered)])]
    buttons = [_button(choice, f"{_PREFIX}{number}", _GREY) for number, choice in enumerate(offered)]
    return [_action_row(buttons)] if buttons else []


def stop_button() -> list[Json]:
    """Build the row below a growing message."""
    return [_action_row([_button(STOP_LABEL, STOP, _GREY)])]


def pressed_label(message: Json, pressed: str) -> str:
    """Return the label of a message's pressed button, or "" if unknown. Raises Malformed."""
    if pressed != STOP and not pressed.startswith(_PREFIX):
        return ""
    button = find_component(message, pressed)
    return get_string(button, "label") if button.get("type") == _BUTTON else ""


def find_component(message: Json, name: str) -> Json:
    """Return a message's usable component with this `custom_id`, or an empty object. Raises Malformed."""
    for row in get_objects(message, "components"):
        for one in get_objects(row, "components"):
            if get_string(one, "custom_id") == name and not one.get("disabled"):
                return one
    return {}


def list_button_ids(message: Json) -> list[str]:
    """List the ids of a message's buttons and menus, as sent or as received."""
    rows = message.get("components") or []
    return [str(button.get("custom_id")) for row in rows for button in row.get("components", [])]


class DiscordClickAnswers:
    """Answers clicks once they are stored or refused. A failure only affects the marker."""

    def __init__(self, rest: DiscordRest, signs: ChoiceMarkers) -> None:
        self._rest = rest
        self._signs = signs

    async def refuse(self, click: DiscordClick, reason: str) -> None:
        """Privately notify the person who clicked that the click does not count; the buttons stay."""
        answer: dict[str, Any] = {"type": _MESSAGE, "data": {"content": reason, "flags": _FOR_ONE}}
        try:
            await self._call_back(click, answer if reason else {"type": _LATER})
        except (TimeoutError, discord.DiscordException) as error:
            _log_unconfirmed(error)

    async def confirm(self, click: DiscordClick) -> None:
        """Replace the buttons or menu by the choice; Discord requires a response within three seconds.

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
            async with asyncio.timeout(CALLBACK_SECONDS):
                await self._rest.request(route, json=shown)
        except (TimeoutError, discord.DiscordException) as error:
            _log_unconfirmed(error)


def _log_unconfirmed(error: Exception) -> None:
    log.info("discord.click_not_confirmed", reason=type(error).__name__)


def _action_row(buttons: list[Json]) -> Json:
    return {"type": _ACTION_ROW, "components": buttons}


def _menu(choices: Sequence[str]) -> Json:
    options = [
        {"label": choice[:OPTION_LIMIT], "value": str(number)} for number, choice in enumerate(choices)
    ]
    return {"type": _STRING_MENU, "custom_id": MENU, "options": options}


def _button(label: str, name: str, style: int) -> Json:
    return {"type": _BUTTON, "style": style, "label": label[:LABEL_LIMIT], "custom_id": name}
