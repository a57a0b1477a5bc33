"""The emulator as a whole: state, API, long connection, callbacks, people, faults, transcript, server."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from bot.testing.emulators.control import PREFIX, Control
from bot.testing.emulators.faults import Fault, FaultKind
from bot.testing.emulators.feishu.api import Api
from bot.testing.emulators.feishu.contacts import Credentials
from bot.testing.emulators.feishu.events import Envelopes
from bot.testing.emulators.feishu.hooks import Hooks
from bot.testing.emulators.feishu.people import People
from bot.testing.emulators.feishu.pushes import Push, Pushes
from bot.testing.emulators.feishu.socket import ENDPOINT_PATH, SOCKET_PATH, LongConnection
from bot.testing.emulators.feishu.state import Message
from bot.testing.emulators.feishu.wire import seen, view
from bot.testing.emulators.feishu.world import DEFAULT_APP_ID, DEFAULT_APP_SECRET, World
from bot.testing.emulators.http import answer
from bot.testing.emulators.limits import RateLimits
from bot.testing.emulators.server import LoopbackServer, Receive, Scope, Send
from bot.testing.emulators.transcript import FrameKind, Transcript

_PEOPLE = (
    "says",
    "says_many",
    "other_bot_says",
    "clicks",
    "chooses",
    "enters",
    "edits",
    "recalls",
    "make_group",
    "private_chat",
    "removes_bot",
    "adds_bot",
)
_OWN = (
    "fault",
    "clear_faults",
    "penalize",
    "limits",
    "revoke_token",
    "restore_token",
    "expire_tokens",
    "expire_streams",
    "redeliver",
    "duplicate",
    "stall",
    "release",
    "close_sockets",
    "inject",
    "callbacks",
    "view",
    "views",
    "counters",
    "reset",
)


class FeishuEmulator:
    """One tenant with one app. `scale` shortens the limits' periods, life times and times of redelivery.

    `people` acts for persons; every action is also a POST below `/_emulator/` (see `Control`).
    """

    def __init__(
        self,
        *,
        port: int = 0,
        app_id: str = DEFAULT_APP_ID,
        app_secret: str = DEFAULT_APP_SECRET,
        scale: float = 1.0,
        limits: bool = True,
        verification_token: str = "",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.app_id = app_id
        self.app_secret = app_secret
        self.world = World(scale=scale, monotonic=monotonic)
        self.transcript = Transcript(monotonic)
        self.rate_limits = RateLimits(scale=scale, enabled=limits)
        self.credentials = Credentials(app_id, app_secret)
        self.pushes = Pushes(self.world)
        self.socket = LongConnection(self.credentials, self.pushes, lambda: self.url)
        self.envelopes = Envelopes(self.world, app_id, verification_token)
        self.people = People(self.world, self.envelopes, self.pushes.put, self._record)
        self.api = Api(self.world, self.credentials, self.rate_limits, self.transcript)
        self.hooks: Hooks | None = None
        self._monotonic = monotonic
        self._control = Control(self.transcript, self._actions(), self._present)
        self._server = LoopbackServer(self, port)

    @property
    def url(self) -> str:
        """What stands in for https://open.feishu.cn."""
        return self._server.url

    @classmethod
    @contextlib.asynccontextmanager
    async def serve(cls, **options: Any) -> AsyncIterator[FeishuEmulator]:
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
                await self.pushes.close()
                if self.hooks is not None:
                    await self.hooks.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI application."""
        path = scope["path"]
        if scope["type"] == "websocket" and path == SOCKET_PATH:
            await self.socket.connect(scope, receive, send)
        elif scope["type"] != "http":
            return
        elif path == ENDPOINT_PATH:
            await self.socket.endpoint(scope, receive, send)
        elif path.startswith("/open-apis/"):
            await self.api.call(scope, receive, send, self._server.abort)
        elif path.startswith(PREFIX):
            await self._control(scope, receive, send)
        else:
            await answer(send, 404, {"code": 404, "msg": "404 page not found"})

    def callbacks(self, url: str, *, encrypt_key: str = "") -> Hooks:
        """Push events to this address from now on, instead of over the long connection."""
        self.hooks = Hooks(url, encrypt_key, self.envelopes.token)
        self.pushes.line = self.hooks
        self.pushes.flush()
        return self.hooks

    def fault(
        self,
        kind: str,
        *,
        method: str = "",
        chat: str = "",
        times: int = 1,
        skip: int = 0,
        seconds: float = 0.0,
        status: int = 500,
        description: str = "Internal Server Error",
    ) -> None:
        """Arm a fault (see `faults.Fault`); `method` as the routes name it (message.create, element.content,
        token …), `description` of an error may begin with its code: "230020 too often"."""
        self.api.faults.add(Fault(FaultKind(kind), method, chat, times, skip, seconds, status, description))

    def clear_faults(self) -> None:
        """Disarm every fault."""
        self.api.faults.clear()

    def penalize(self, chat: str, seconds: float) -> None:
        """Refuse every post and edit in one chat for that long (not scaled)."""
        self.rate_limits.penalize(chat, self._monotonic() + seconds)

    def limits(self, enabled: bool, scale: float | None = None) -> None:
        """Switch the rate limits on or off, and set their scale."""
        self.rate_limits.enabled = enabled
        if scale is not None:
            self.rate_limits.scale = scale

    def revoke_token(self) -> None:
        """The app's secret and tokens are not known any more, and its connections are cut."""
        self.credentials.revoked = True
        self.socket.close_all()

    def restore_token(self) -> None:
        """They are known again."""
        self.credentials.revoked = False

    def expire_tokens(self) -> None:
        """Every tenant access token ends now; the secret stays good."""
        self.credentials.expire()

    def expire_streams(self) -> None:
        """Every card's streaming mode has been open for ten minutes."""
        for card in self.world.cards.values():
            if card.streaming_until:
                card.streaming_until = self._monotonic()

    def redeliver(self, count: int = 1) -> None:
        """Push the last events once more."""
        self.pushes.again(count)

    def duplicate(self, copies: int = 1) -> None:
        """Push every event that many times more, at once."""
        self.pushes.duplicates = copies

    def stall(self) -> None:
        """Push nothing until `release`."""
        self.pushes.stalled = True

    def release(self, backwards: bool = False) -> None:
        """End `stall`; `backwards` pushes what waits the wrong way round."""
        self.pushes.stalled = False
        self.pushes.flush(backwards=backwards)

    def close_sockets(self) -> int:
        """Close every long connection; how many there were."""
        return self.socket.close_all()

    def inject(self, event: dict[str, Any]) -> Push:
        """Push an event as it is."""
        return self.pushes.put(event)

    def view(self, chat: str) -> dict[str, Any]:
        """One chat as a person sees it now."""
        return view(self.world.chats[chat], self._monotonic())

    def views(self) -> list[dict[str, Any]]:
        """All chats as people see them now."""
        return [view(chat, self._monotonic()) for chat in self.world.chats.values()]

    def counters(self) -> dict[str, Any]:
        """Calls by method, answers by status (0: connection closed), connections, and what was not
        acknowledged yet."""
        return {
            "calls": dict(self.transcript.calls),
            "statuses": {str(status): count for status, count in self.transcript.statuses.items()},
            "limited": self.transcript.statuses[429],
            "connections": self.socket.count,
            "pings": self.socket.pings,
            "waiting_events": len(self.pushes.waiting),
            "unanswered_events": sum(not push.answer for push in self.pushes.sent),
            "redelivered": self.pushes.redelivered,
            "faults_struck": self.api.faults.struck,
        }

    def reset(self) -> None:
        """Forget chats, cards, events, faults, limits and transcript; app and connections stay."""
        self.world.reset()
        self.pushes.reset()
        self.rate_limits.reset()
        self.transcript.reset()
        self.clear_faults()
        self.restore_token()

    def _actions(self) -> dict[str, Callable[..., Any]]:
        actions = {name: getattr(self.people, name) for name in _PEOPLE}
        return actions | {name: getattr(self, name) for name in _OWN}

    def _record(self, message: Message, method: str) -> None:
        self.transcript.add(
            FrameKind.PERSON, method, chat=message.chat.id, message_id=message.id, text=message.text
        )

    def _present(self, result: Any) -> Any:
        if isinstance(result, Message):
            return {**seen(result, self._monotonic()), "chat": result.chat.id}
        if isinstance(result, Hooks):
            return {"url": result.url}
        if isinstance(result, Push):
            return {"event_id": result.id, "tries": result.tries, "answer": result.answer}
        if isinstance(result, list):
            return [self._present(item) for item in result]
        return result
