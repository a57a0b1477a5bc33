"""Telegram emulator: state, Bot API, people and their controls."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

from roebot_testing.emulators.base import Emulator, Handler
from roebot_testing.emulators.limits import RateLimits
from roebot_testing.emulators.server import Receive, Scope, Send
from roebot_testing.emulators.telegram.api import BotApi
from roebot_testing.emulators.telegram.members import TelegramMembers
from roebot_testing.emulators.telegram.state import TelegramMessage
from roebot_testing.emulators.telegram.updates import TelegramUpdates
from roebot_testing.emulators.telegram.wire import seen, view
from roebot_testing.emulators.telegram.workspace import DEFAULT_TOKEN, TelegramWorkspace
from roebot_testing.emulators.transcript import FrameKind


class TelegramEmulator(Emulator):
    """One emulated bot account. `scale` shortens the periods of limits, `rich` adds methods of Bot API 10.1.

    `people` performs the actions of people and apps.
    """

    TITLE: ClassVar[str] = "Telegram"
    PORT: ClassVar[int] = 8081
    OPTIONS: ClassVar[tuple[str, ...]] = ("token", "rich")
    people: TelegramMembers
    api: BotApi
    rate_limits: RateLimits

    def __init__(
        self,
        *,
        port: int = 0,
        token: str = DEFAULT_TOKEN,
        scale: float = 1.0,
        limits: bool = True,
        rich: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(port, monotonic)
        self.token = token
        self.world = TelegramWorkspace()
        self.queue = TelegramUpdates()
        self.rate_limits = RateLimits(scale=scale, enabled=limits)
        self.people = TelegramMembers(self.world, self.queue.put, self._record)
        self.api = BotApi(
            self.world,
            self.queue,
            self.rate_limits,
            self.transcript,
            token=token,
            rich=rich,
            monotonic=monotonic,
        )

    @property
    def url(self) -> str:
        return self._server.url

    def find_handler(self, path: str) -> Handler | None:
        if path.startswith("/bot"):
            return self.api.call
        return self.api.download if path.startswith("/file/") else None

    async def connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ignore a WebSocket: the Bot API has none."""

    def redeliver(self, polls: int = 1) -> None:
        """Ignore the confirmation of the next polls, so that they get the same updates again."""
        self.queue.ignore_confirmations = polls

    def repeat(self, count: int = 1) -> None:
        """Deliver the last updates again under their own numbers, confirmed or not."""
        self.queue.redeliver(count)

    def duplicate(self, on: bool = True) -> None:
        """Deliver every update twice from now on."""
        self.queue.twice = on

    def hold(self) -> None:
        """Collect updates until `let_go`."""
        self.queue.hold()

    def let_go(self, reverse: bool = False) -> None:
        """Deliver the collected updates, optionally in reverse order."""
        self.queue.let_go(reverse=reverse)

    def cut_poll(self) -> None:
        """Cut the connection of the long poll that waits now."""
        self.queue.cut()

    def stall(self) -> None:
        """Keep polls without an answer until `release`."""
        self.queue.stalled = True

    def release(self) -> None:
        """End `stall`."""
        self.queue.release()

    def inject(self, update: dict[str, Any]) -> int:
        """Queue an update as it is; return its id."""
        return self.queue.put_raw(update)

    def view(self, chat: int) -> dict[str, Any]:
        """Return one chat as a person sees it now."""
        return view(self.world.chats[chat], time.time())

    def views(self) -> list[dict[str, Any]]:
        now = time.time()
        return [view(chat, now) for chat in self.world.chats.values()]

    def _own_counters(self) -> dict[str, Any]:
        return {
            "pending_updates": self.queue.pending,
            "confirmed_updates": self.queue.confirmed,
            "previews": list(self.world.previews.fetched),
        }

    async def _close(self) -> None:
        await self.api.pusher.close()

    def _clear(self) -> None:
        self.world.chats.clear()
        self.world.users.clear()
        self.world.files.clear()
        self.world.files_by_path.clear()
        self.world.previews.fetched.clear()
        self.queue.reset()

    def _record(self, message: TelegramMessage, method: str) -> None:
        self.transcript.add(
            FrameKind.PERSON, method, chat=str(message.chat.id), message_id=str(message.id), text=message.text
        )

    def _to_json(self, result: Any) -> Any:
        return {**seen(result), "chat": result.chat.id} if isinstance(result, TelegramMessage) else result
