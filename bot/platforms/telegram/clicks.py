"""What a person sees after a click: the button answers, and the question shows what was chosen."""

from __future__ import annotations

import structlog
from telegram.error import TelegramError

from bot.platforms.telegram.client import Client
from bot.platforms.telegram.inbound import Click

log = structlog.get_logger(__name__)

STALE = "This question is too old. Please write your answer."


class Clicks:
    """Confirms clicks that are stored. A failure costs nothing but the sign: the answer is on its way."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def confirm(self, click: Click) -> None:
        """Answer the button, then take the others away."""
        chosen = click.message.text if click.message is not None else ""
        try:
            await self._client.call(
                "answerCallbackQuery", callback_query_id=click.query, text=chosen[:200] or STALE
            )
            if click.message is not None:
                await self._client.call(
                    "editMessageReplyMarkup",
                    chat_id=int(click.chat),
                    message_id=int(click.message_id),
                    reply_markup={"inline_keyboard": [[{"text": f"✓ {chosen}", "callback_data": "chosen"}]]},
                )
        except TelegramError as error:
            log.info("telegram.click_not_confirmed", reason=type(error).__name__)
