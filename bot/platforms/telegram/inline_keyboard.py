"""Choices as inline buttons: build them, identify the pressed one, and answer the press.

The answer to a press and the marker of what was chosen are signs alone: a failure loses nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from telegram.error import TelegramError

from bot.domain import InboundMessage
from bot.platforms.choice_markers import ChoiceMarkers
from bot.platforms.payload import Json, get_object, get_objects, get_string
from bot.platforms.telegram.http import TelegramClient

log = structlog.get_logger(__name__)

MAX_CHOICES = 20
"""Buttons of one question. Telegram allows 100 in a keyboard; nobody reads that many in a column."""
LABEL_LIMIT = 64
"""Characters of a label; clients cut off longer ones."""
ANSWER_LIMIT = 200
"""Characters of an answer to a click (core.telegram.org/bots/api#answercallbackquery)."""
STALE = "This question is too old. Please write your answer."
_PREFIX = "choice:"


@dataclass(frozen=True, slots=True)
class TelegramClick:
    """A pressed button; `message` is the message as described with the press, None if no longer available."""

    query: str
    chat: str
    message_id: str
    message: InboundMessage | None


def inline_keyboard(choices: Sequence[str]) -> dict[str, Any]:
    """Build a question's `reply_markup`; `callback_data` is limited to 64 bytes, so it is a number."""
    rows = [
        [{"text": choice[:LABEL_LIMIT], "callback_data": f"{_PREFIX}{number}"}]
        for number, choice in enumerate(choices)
    ]
    return {"inline_keyboard": rows}


def pressed_label(message: Json, data: str) -> str:
    """Return the label of a message's pressed button, or "" if unknown. Raises Malformed."""
    if not data.startswith(_PREFIX):
        return ""
    rows = get_object(message, "reply_markup").get("inline_keyboard")
    for row in rows if isinstance(rows, list) else ():
        for button in get_objects({"row": row}, "row"):
            if get_string(button, "callback_data") == data:
                return get_string(button, "text")
    return ""


class TelegramClickAnswers:
    """Answers clicks once they are stored or refused."""

    def __init__(self, client: TelegramClient, markers: ChoiceMarkers) -> None:
        self._client = client
        self._markers = markers

    async def refuse(self, click: TelegramClick, reason: str) -> None:
        """Privately notify the person who clicked that the click does not count; the buttons stay."""
        try:
            await self._client.call(
                "answerCallbackQuery",
                callback_query_id=click.query,
                text=reason[:ANSWER_LIMIT] or None,
                show_alert=bool(reason) or None,
            )
        except TelegramError as error:
            log.info("telegram.click_not_refused", reason=type(error).__name__)

    async def confirm(self, click: TelegramClick) -> None:
        """Answer the button, then remove the others."""
        choice = click.message.text if click.message is not None else ""
        try:
            await self._client.call(
                "answerCallbackQuery", callback_query_id=click.query, text=choice[:ANSWER_LIMIT] or STALE
            )
            if click.message is not None:
                await self._show_choice(click, choice)
        except TelegramError as error:
            log.info("telegram.click_not_confirmed", reason=type(error).__name__)

    async def _show_choice(self, click: TelegramClick, choice: str) -> None:
        async with self._markers.claim_marker(f"{click.chat}:{click.message_id}") as due:
            if due:
                await self._client.call(
                    "editMessageReplyMarkup",
                    chat_id=int(click.chat),
                    message_id=int(click.message_id),
                    reply_markup={"inline_keyboard": [[{"text": f"✓ {choice}", "callback_data": "chosen"}]]},
                )
