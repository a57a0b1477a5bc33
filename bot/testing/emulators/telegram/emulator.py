"""The emulator as a whole: state, Bot API, people, faults, transcript, and the server around them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from bot.testing.emulators.control import PREFIX, Control
from bot.testing.emulators.faults import Fault, FaultKind
from bot.testing.emulators.http import answer
from bot.testing.emulators.limits import RateLimits
from bot.testing.emulators.server import LoopbackServer, Receive, Scope, Send
from bot.testing.emulators.telegram.api import BotApi
from bot.testing.emulators.telegram.people import People
from bot.testing.emulators.telegram.state import Message
from bot.testing.emulators.telegram.updates import UpdateQueue
from bot.testing.emulators.telegram.wire import seen, view
from bot.testing.emulators.telegram.world import DEFAULT_TOKEN, World
from bot.testing.emulators.transcript import FrameKind, Transcript

_PEOPLE = (
    "says",
    "says_many",
    "sends_album",
    "edits",
    "presses",
    "stops",
    "make_group",
    "make_topic",
    "migrates",
    "joins",
    "blocks",
    "unblocks",
)
_OWN = (
    "fault",
    "clear_faults",
    "penalize",
    "revoke_token",
    "restore_token",
    "redeliver",
    "repeat",
    "duplicate",
    "hold",
    "let_go",
    "cut_poll",
    "stall",
    "release",
    "inject",
    "view",
    "views",
    "counters",
    "limits",
    "reset",
)


class TelegramEmulator:
    """One emulated bot account. `scale` shortens the limits' periods, `rich` adds Bot API 10.1's methods.

    `people` acts for persons; every action is also a POST below `/_emulator/` (see `Control`).
    """

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
        self.token = token
        self.world = World()
        self.transcript = Transcript(monotonic)
        self.queue = UpdateQueue()
        self.rate_limits = RateLimits(scale=scale, enabled=limits)
        self.people = People(self.world, self.queue.put, self._record)
        self.api = BotApi(
            self.world,
            self.queue,
            self.rate_limits,
            self.transcript,
            token=token,
            rich=rich,
            monotonic=monotonic,
        )
        self._monotonic = monotonic
        self._control = Control(self.transcript, self._actions(), _present)
        self._server = LoopbackServer(self, port)

    @property
    def url(self) -> str:
        """The API root as a configuration's `base_url` names it."""
        return self._server.url

    @classmethod
    @contextlib.asynccontextmanager
    async def serve(cls, **options: Any) -> AsyncIterator[TelegramEmulator]:
        """An emulator that listens while the block runs; takes the arguments of the class."""
        emulator = cls(**options)
        async with emulator.running():
            yield emulator

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen while the block runs."""
        async with self._server.running():
            try:
                yield
            finally:
                await self.api.pusher.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI application."""
        if scope["type"] != "http":
            return
        path = scope["path"]
        if path.startswith("/bot"):
            await self.api.call(scope, receive, send, self._server.abort)
        elif path.startswith("/file/"):
            await self.api.download(scope, receive, send, self._server.abort)
        elif path.startswith(PREFIX):
            await self._control(scope, receive, send)
        else:
            await answer(send, 404, {"ok": False, "error_code": 404, "description": "Not Found"})

    def fault(
        self,
        kind: str,
        *,
        method: str = "",
        chat: int | str = "",
        times: int = 1,
        skip: int = 0,
        seconds: float = 0.0,
        status: int = 500,
        description: str = "Internal Server Error",
    ) -> None:
        """Arm a fault (see `faults.Fault`); `method` as the Bot API writes it, or `download`."""
        self.api.faults.add(
            Fault(FaultKind(kind), method, str(chat or ""), times, skip, seconds, status, description)
        )

    def clear_faults(self) -> None:
        """Disarm every fault."""
        self.api.faults.clear()

    def penalize(self, chat: int, seconds: float) -> None:
        """Refuse every post, edit, action and draft to one chat for that long (not scaled)."""
        self.rate_limits.penalize(str(chat), self._monotonic() + seconds)

    def limits(self, enabled: bool, scale: float | None = None) -> None:
        """Switch the rate limits on or off, and set their scale."""
        self.rate_limits.enabled = enabled
        if scale is not None:
            self.rate_limits.scale = scale

    def revoke_token(self) -> None:
        """Answer 401 from now on."""
        self.api.revoked = True

    def restore_token(self) -> None:
        """Know the token again."""
        self.api.revoked = False

    def redeliver(self, polls: int = 1) -> None:
        """Ignore the confirmation of that many polls: the same updates come again."""
        self.queue.ignore_confirmations = polls

    def repeat(self, count: int = 1) -> None:
        """Deliver the last updates once more, under their own numbers, confirmed or not."""
        self.queue.again(count)

    def duplicate(self, on: bool = True) -> None:
        """Deliver every update twice from now on."""
        self.queue.twice = on

    def hold(self) -> None:
        """Collect updates until `let_go`."""
        self.queue.hold()

    def let_go(self, reverse: bool = False) -> None:
        """Deliver what was collected, in reverse order where wanted."""
        self.queue.let_go(reverse=reverse)

    def cut_poll(self) -> None:
        """Cut the connection of the long poll that waits now."""
        self.queue.cut()

    def stall(self) -> None:
        """Leave polls without an answer until `release`."""
        self.queue.stalled = True

    def release(self) -> None:
        """End `stall`."""
        self.queue.release()

    def inject(self, update: dict[str, Any]) -> int:
        """Queue an update as it is; returns its id."""
        return self.queue.put_raw(update)

    def view(self, chat: int) -> dict[str, Any]:
        """One chat as a person sees it now."""
        return view(self.world.chats[chat], time.time())

    def views(self) -> list[dict[str, Any]]:
        """All chats as people see them now."""
        now = time.time()
        return [view(chat, now) for chat in self.world.chats.values()]

    def counters(self) -> dict[str, Any]:
        """Calls by method, answers by status (0: connection closed), and what waits for the bot."""
        return {
            "calls": dict(self.transcript.calls),
            "statuses": {str(status): count for status, count in self.transcript.statuses.items()},
            "limited": self.transcript.statuses[429],
            "pending_updates": self.queue.pending,
            "confirmed_updates": self.queue.confirmed,
            "faults_struck": self.api.faults.struck,
        }

    def reset(self) -> None:
        """Forget chats, updates, faults, limits and transcript; token and server stay."""
        self.world.chats.clear()
        self.world.users.clear()
        self.world.files.clear()
        self.world.files_by_path.clear()
        self.queue.reset()
        self.rate_limits.reset()
        self.transcript.reset()
        self.clear_faults()
        self.restore_token()

    def _actions(self) -> dict[str, Callable[..., Any]]:
        actions = {name: getattr(self.people, name) for name in _PEOPLE}
        return actions | {name: getattr(self, name) for name in _OWN}

    def _record(self, message: Message, method: str) -> None:
        self.transcript.add(
            FrameKind.PERSON, method, chat=str(message.chat.id), message_id=str(message.id), text=message.text
        )


def _present(result: Any) -> Any:
    if isinstance(result, Message):
        return {**seen(result), "chat": result.chat.id}
    if isinstance(result, list):
        return [_present(item) for item in result]
    return result
