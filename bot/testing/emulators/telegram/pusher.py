"""Delivery of updates to a webhook, one after another, each until it is answered with 200."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import aiohttp

from bot.testing.emulators.telegram.updates import TelegramUpdates

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - a header's name
# Seconds before a refused update is sent again, and time limit of an answer.
AGAIN = 0.05
TIMEOUT = 10.0


class Pusher:
    """Sends updates to the webhook. `last_error` is (epoch seconds, text) of the last failed delivery."""

    def __init__(self, queue: TelegramUpdates) -> None:
        self._queue = queue
        self._task: asyncio.Task[None] | None = None
        self.url = ""
        self.attempts = 0
        self.last_error: tuple[int, str] | None = None

    async def register(self, url: str, secret: str) -> None:
        """Deliver to a URL from now on; "" stops the delivery."""
        await self.close()
        self.url = url
        if url:
            self._task = asyncio.create_task(self._deliver(url, secret), name="webhook")

    async def close(self) -> None:
        """Stop the delivery."""
        self.url, self.last_error = "", None
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _deliver(self, url: str, secret: str) -> None:
        headers = {SECRET_HEADER: secret} if secret else {}
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timeout = aiohttp.ClientTimeout(total=TIMEOUT)
        async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
            while True:
                for update in await self._queue.poll(0, 1, 3600.0, gone):
                    if await self._push(session, url, update):
                        self._queue.confirm(update["update_id"] + 1)
                    else:
                        await asyncio.sleep(AGAIN)

    async def _push(self, session: aiohttp.ClientSession, url: str, update: dict[str, object]) -> bool:
        self.attempts += 1
        try:
            async with session.post(url, json=update) as response:
                problem = (
                    "" if response.status == 200 else f"Wrong response from the webhook: {response.status}"
                )
        except (aiohttp.ClientError, TimeoutError) as error:
            problem = f"Connection failed: {type(error).__name__}"
        if problem:
            self.last_error = (int(time.time()), problem)
        return not problem
