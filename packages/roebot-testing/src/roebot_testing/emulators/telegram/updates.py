"""Updates: numbered, stored until confirmed by the one poller, or delivered to a webhook."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress
from typing import Any

import aiohttp

from roebot_testing.emulators.api import ConnectionCut
from roebot_testing.emulators.telegram import rules

NOT_BY_DEFAULT = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
FIRST_UPDATE = 700_000_001
KEPT = 100
"""Number of past updates that can be delivered again."""


class TelegramUpdates:
    """Updates in order; a delivered one with an id below a poll's offset is confirmed and dropped.

    `stalled` keeps polls open without an answer; the next `ignore_confirmations` polls confirm nothing, so
    that the same updates are delivered again; `twice` queues each update twice.
    """

    def __init__(self) -> None:
        self._pending: deque[dict[str, Any]] = deque()
        self._delivered = 0
        """Number of pending updates, from the left, that a poll delivered; others can't be confirmed yet."""
        self._next_id = FIRST_UPDATE
        self._poller: asyncio.Future[str] | None = None
        self._kinds: frozenset[str] | None = None
        self.confirmed = 0
        self.stalled = False
        self.twice = False
        self.ignore_confirmations = 0
        self._held: list[dict[str, Any]] | None = None
        self._past: deque[dict[str, Any]] = deque(maxlen=KEPT)

    @property
    def pending(self) -> int:
        """Number of updates that are not confirmed yet."""
        return len(self._pending)

    @property
    def polled(self) -> bool:
        """True while a poll waits."""
        return self._poller is not None and not self._poller.done()

    def put(self, kind: str, payload: Any) -> int:
        """Queue an update of a kind; return its id, or 0 if the bot did not ask for the kind."""
        if not self._is_allowed(kind):
            return 0
        return self.put_raw({kind: payload})

    def put_raw(self, update: dict[str, Any]) -> int:
        """Queue an update as it is; `update_id` is added if missing."""
        update_id: int = self._next_id
        self._next_id += 1
        whole = {"update_id": update_id, **update}
        self._past.append(whole)
        if self._held is not None:
            self._held.append(whole)
            return update_id
        self._pending.extend([whole] * (2 if self.twice else 1))
        self._wake("update")
        return update_id

    def hold(self) -> None:
        """Hold back new updates until `let_go`."""
        self._held = []

    def let_go(self, *, reverse: bool) -> None:
        """Queue the held updates, optionally in reverse order."""
        held, self._held = self._held or [], None
        self._pending.extend(reversed(held) if reverse else held)
        self._wake("update")

    def redeliver(self, count: int) -> None:
        """Queue the last updates again, with their own numbers."""
        self._pending.extend(list(self._past)[-count:])
        self._wake("update")

    def cut(self) -> None:
        """Cut the connection of the waiting poll."""
        self._wake("cut")

    def end_poll(self) -> None:
        """End the waiting poll because a webhook is set."""
        self._wake("webhook")

    def allow(self, kinds: Any) -> None:
        """Set `allowed_updates` of a poll or webhook; None keeps the current ones."""
        if kinds is not None:
            self._kinds = frozenset(str(kind) for kind in kinds) or None

    def confirm(self, offset: int) -> None:
        """Drop the updates that `offset` confirms; a negative one keeps that many from the end."""
        if self.ignore_confirmations > 0 and offset > 0:
            self.ignore_confirmations -= 1
            return
        while self._pending and (
            len(self._pending) > -offset
            if offset < 0
            else self._delivered > 0 and _is_before(self._pending[0], offset)
        ):
            self._pending.popleft()
            self._delivered = max(self._delivered - 1, 0)
            self.confirmed += 1

    async def poll(
        self, offset: int, limit: int, seconds: float, gone: asyncio.Future[Any]
    ) -> list[dict[str, Any]]:
        """Answer a `getUpdates`: at once if updates are pending, else after at most `seconds`.

        `gone` is done when the client hangs up. Raises ApiRefusal 409 when another poll takes over and
        ConnectionCut when the connection of this one is to be cut.
        """
        self._wake("taken over")
        self.confirm(offset)
        deadline = asyncio.get_running_loop().time() + seconds
        while self.stalled or not self._pending:
            left = deadline - asyncio.get_running_loop().time()
            if (left <= 0 and not self.stalled) or gone.done():
                return []
            await self._wait(None if self.stalled else left, gone)
        count = min(limit, len(self._pending))
        self._delivered = max(self._delivered, count)
        return [self._pending[index] for index in range(count)]

    def release(self) -> None:
        """End `stalled` and answer the waiting poll."""
        self.stalled = False
        self._wake("update")

    def reset(self) -> None:
        """Clear all pending updates and faults; numbering continues."""
        self._pending.clear()
        self._delivered = 0
        self._past.clear()
        self.confirmed = 0
        self.ignore_confirmations = 0
        self.twice, self._held = False, None
        self.release()

    async def _wait(self, seconds: float | None, gone: asyncio.Future[Any]) -> None:
        self._poller = asyncio.get_running_loop().create_future()
        mine = self._poller
        await asyncio.wait({mine, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if self._poller is mine:
            self._poller = None
        if mine.done() and mine.result() == "taken over":
            raise rules.OTHER_POLLER.refusal()
        if mine.done() and mine.result() == "webhook":
            raise rules.WEBHOOK_SET.refusal()
        if mine.done() and mine.result() == "cut":
            raise ConnectionCut

    def _wake(self, why: str) -> None:
        if self._poller is not None and not self._poller.done():
            self._poller.set_result(why)

    def _is_allowed(self, kind: str) -> bool:
        if self._kinds is None:
            return kind not in NOT_BY_DEFAULT
        return kind in self._kinds


def _is_before(update: dict[str, Any], offset: int) -> bool:
    """Return whether `offset` confirms an update; an injected one may have any value as its number."""
    number = update["update_id"]
    return isinstance(number, int) and number < offset


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
