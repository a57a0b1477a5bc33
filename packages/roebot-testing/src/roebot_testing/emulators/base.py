"""An emulated platform: server, control surface, faults, limits and counters, common to all platforms."""

from __future__ import annotations

import contextlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cached_property
from typing import Any, ClassVar, Self

from starlette.requests import ClientDisconnect

from roebot_testing.emulators.api import PlatformApi
from roebot_testing.emulators.control import PREFIX, Control
from roebot_testing.emulators.faults import Fault, FaultKind
from roebot_testing.emulators.http import Exchange
from roebot_testing.emulators.server import LoopbackServer, Receive, Scope, Send
from roebot_testing.emulators.transcript import Transcript

COMMON = (
    "fault",
    "clear_faults",
    "penalize",
    "limits",
    "revoke_token",
    "restore_token",
    "view",
    "views",
    "counters",
    "reset",
)
"""Controls that every platform has."""

Handler = Callable[[Exchange], Awaitable[None]]


class Emulator(ABC):
    """One emulated platform. Its controls are COMMON, the public methods that a subclass adds, and those of
    `people`.

    Every control is also a POST below `/_emulator/` (see `Control`). `CREDENTIALS` are attributes printed by
    the command line, `OPTIONS` constructor arguments that it takes.
    """

    TITLE: ClassVar[str]
    PORT: ClassVar[int]
    """Default port of the command line."""
    CREDENTIALS: ClassVar[tuple[str, ...]] = ("token",)
    OPTIONS: ClassVar[tuple[str, ...]] = ("token",)
    NO_CONTROLS: ClassVar[tuple[str, ...]] = ()
    """Public methods of `people` that are no controls."""
    SERVER_ERROR: ClassVar[str] = "Internal Server Error"
    """Default description of an error that a fault answers with."""
    people: Any
    api: PlatformApi[Any]
    rate_limits: Any

    def __init__(self, port: int, monotonic: Callable[[], float]) -> None:
        self.transcript = Transcript(monotonic)
        self._monotonic = monotonic
        self._server = LoopbackServer(self, port)

    @property
    def origin(self) -> str:
        """Scheme, host and port, where the control surface is."""
        return self._server.url

    @classmethod
    @contextlib.asynccontextmanager
    async def serve(cls, **options: Any) -> AsyncIterator[Self]:
        """Run an emulator within the context, with the arguments of the class."""
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
                await self._close()

    @property
    @abstractmethod
    def url(self) -> str:
        """API root as the `base_url` of a configuration names it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as an ASGI application; a request cut off in its body does nothing."""
        if scope["type"] == "websocket":
            await self.connect(scope, receive, send)
        elif scope["type"] == "http":
            http = Exchange(scope, receive, send, self._server.abort)
            is_control = http.path.startswith(PREFIX)
            handler = self._control.handle if is_control else self.find_handler(http.path)
            with contextlib.suppress(ClientDisconnect):
                await (handler(http) if handler else http.answer(404, self.api.NOT_FOUND))

    @abstractmethod
    async def connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a WebSocket."""

    @abstractmethod
    def find_handler(self, path: str) -> Handler | None:
        """Return the handler of an HTTP path, or None for an unknown one."""

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
        description: str | None = None,
    ) -> None:
        """Arm a fault (see `faults.Fault`). `method` is a method of the platform's API, the name of a route
        or `download`; `description` is the text of an error.
        """
        said = self.SERVER_ERROR if description is None else description
        fault = Fault(FaultKind(kind), method, str(chat or ""), times, skip, seconds, status, said)
        self.api.faults.add(fault)

    def clear_faults(self) -> None:
        """Disarm every fault."""
        self.api.faults.clear()

    def penalize(self, chat: int | str, seconds: float) -> None:
        """Refuse every call that shows something in one chat for a number of seconds (not scaled)."""
        self.rate_limits.penalize(str(chat), self._monotonic() + seconds)

    def limits(self, enabled: bool, scale: float | None = None) -> None:
        """Switch the rate limits on or off, and set their scale."""
        self.rate_limits.enabled = enabled
        if scale is not None:
            self.rate_limits.scale = scale

    def revoke_token(self) -> None:
        """Revoke the token; open connections may stay."""
        self.api.revoked = True

    def restore_token(self) -> None:
        """Accept the token again."""
        self.api.revoked = False

    @abstractmethod
    def views(self) -> list[dict[str, Any]]:
        """Return all chats as people see them now."""

    def counters(self) -> dict[str, Any]:
        """Return calls by method, answers by status (0: connection closed) and the platform's own
        counters."""
        return {
            "calls": dict(self.transcript.calls),
            "statuses": {str(status): count for status, count in self.transcript.statuses.items()},
            "limited": self.transcript.statuses[429],
            "faults_struck": self.api.faults.struck,
            **self._own_counters(),
        }

    def reset(self) -> None:
        """Clear chats, people, events, faults, limits and transcript; tokens, sockets and server stay."""
        self._clear()
        self.rate_limits.reset()
        self.transcript.reset()
        self.clear_faults()
        self.restore_token()

    @abstractmethod
    def _clear(self) -> None:
        """Clear the state of the platform."""

    def _own_counters(self) -> dict[str, Any]:
        return {}

    @abstractmethod
    async def _close(self) -> None:
        """Close the platform's own tasks and connections when the server stops."""

    @abstractmethod
    def _to_json(self, result: Any) -> Any:
        """Convert the result of a control to JSON values; other values stay as they are."""

    @cached_property
    def _control(self) -> Control:
        people = [name for name in _public_methods(self.people) if name not in self.NO_CONTROLS]
        own = [name for name in _public_methods(self) if not hasattr(Emulator, name)]
        actions = {name: getattr(self.people, name) for name in people}
        actions |= {name: getattr(self, name) for name in (*COMMON, *own)}
        return Control(self.transcript, actions, self._present)

    def _present(self, result: Any) -> Any:
        if isinstance(result, list):
            return [self._present(item) for item in result]
        return self._to_json(result)


def _public_methods(owner: object) -> list[str]:
    methods = inspect.getmembers(type(owner), inspect.isfunction)
    return [name for name, _ in methods if not name.startswith("_")]
