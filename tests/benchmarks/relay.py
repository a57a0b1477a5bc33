"""The peers: a bare relay and a bare echo, as one would write them with the public packages.

`python -m tests.benchmarks.relay TELEGRAM_URL TOKEN MODEL_URL`. Nothing is stored, one process, no pacing: a
command is echoed, any other text goes to the model and comes back as one message.
"""

from __future__ import annotations

import sys
from typing import Any

from openai import AsyncOpenAI
from telegram import Update
from telegram.ext import Application, ApplicationBuilder, ContextTypes, MessageHandler, filters


class Relay:
    """Answers with what the model says."""

    def __init__(self, model_url: str) -> None:
        self._model = AsyncOpenAI(base_url=model_url, api_key="x", max_retries=0)

    async def echo(self, update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
        """Say the same."""
        message = update.effective_message
        if message is not None and message.text:
            await message.reply_text(message.text)

    async def ask(self, update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
        """Ask the model and post its whole answer."""
        message = update.effective_message
        if message is None or not message.text:
            return
        stream = await self._model.chat.completions.create(
            model="scripted", stream=True, messages=[{"role": "user", "content": message.text}]
        )
        text = ""
        async for chunk in stream:
            if chunk.choices:
                text += chunk.choices[0].delta.content or ""
        await message.reply_text(text.strip())


def build(telegram_url: str, token: str, model_url: str) -> Application[Any, Any, Any, Any, Any, Any]:
    """The application, ready to poll."""
    relay = Relay(model_url)
    application = (
        ApplicationBuilder().token(token).base_url(f"{telegram_url}/bot").concurrent_updates(True).build()
    )
    application.add_handler(MessageHandler(filters.COMMAND, relay.echo))
    application.add_handler(MessageHandler(filters.TEXT, relay.ask))
    return application


if __name__ == "__main__":
    build(*sys.argv[1:4]).run_polling(drop_pending_updates=False)
