"""What a person sees after a click: the button answers, and the question shows what was chosen.

Both are signs alone: where one fails, nothing is lost but that.
"""

from __future__ import annotations

import structlog
from telegram.error import TelegramError

from bot.platforms.choice_markers import ChoiceMarkers
from bot.platforms.telegram.client import TelegramClient
from bot.platforms.telegram.inbound import TelegramClick

log = structlog.get_logger(__name__)

STALE = "This question is too old. Please write your answer."


MOST = 200
"""Characters of an answer to a click (core.telegram.org/bots/api#answercallbackquery)."""


class TelegramClickAnswers:
    """Answers clicks, once it is known what they count for."""

    def __init__(self, client: TelegramClient, signs: ChoiceMarkers) -> None:
        self._client = client
        self._signs = signs

    async def refuse(self, click: TelegramClick, reason: str) -> None:
        """Tell who clicked, and nobody else, that it counts for nothing; the buttons stay."""
        try:
            await self._client.call(
                "answerCallbackQuery",
                callback_query_id=click.query,
                text=reason[:MOST] or None,
                show_alert=bool(reason) or None,
            )
        except TelegramError as error:
            log.info("telegram.click_not_refused", reason=type(error).__name__)

    async def confirm(self, click: TelegramClick) -> None:
        """Answer the button, then take the others away."""
        chosen = click.message.text if click.message is not None else ""
        try:
            await self._client.call(
                "answerCallbackQuery", callback_query_id=click.query, text=chosen[:MOST] or STALE
            )
            if click.message is not None:
                await self._show_choice(click, chosen)
        except TelegramError as error:
            log.info("telegram.click_not_confirmed", reason=type(error).__name__)

    async def _show_choice(self, click: TelegramClick, chosen: str) -> None:
        async with self._signs.claim_marker(f"{click.chat}:{click.message_id}") as due:
            if due:
                await self._client.call(
                    "editMessageReplyMarkup",
                    chat_id=int(click.chat),
                    message_id=int(click.message_id),
                    reply_markup={"inline_keyboard": [[{"text": f"✓ {chosen}", "callback_data": "chosen"}]]},
                )
