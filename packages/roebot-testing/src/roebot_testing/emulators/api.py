"""The path of an API call through an emulator, common to all platforms."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from starlette.requests import ClientDisconnect

from roebot_testing.emulators.faults import AFTER, BEFORE, Fault, FaultBook, FaultKind
from roebot_testing.emulators.http import Exchange, Headers
from roebot_testing.emulators.transcript import FrameKind, Transcript

_CUTS = frozenset({FaultKind.CLOSE, FaultKind.DROP})


class ApiRefusal(Exception):
    """A call that the platform refuses. `status` is the HTTP status, `headers` go with the answer."""

    status: int
    headers: Headers = ()

    def body(self) -> dict[str, Any]:
        """Return the JSON body of the answer."""
        raise NotImplementedError


class ConnectionCut(Exception):
    """The connection of a call is to be cut instead of answered."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """Result of a method: the `body` of its answer (or `raw` bytes), and the fields of its transcript frame.

    `committed` is false if the call changed nothing, such as a post that was repeated with its key.
    """

    body: Any = None
    chat: str = ""
    message_id: str = ""
    text: str = ""
    raw: bytes | None = None
    committed: bool = True


@dataclass(slots=True)
class ApiCall:
    """One call. `name` and `chat` are matched by faults, `headers` go with the answer."""

    name: str = ""
    kind: FrameKind = FrameKind.OTHER
    chat: str = ""
    token: str = ""
    headers: Headers = ()
    fault: Fault | None = None
    result: CallResult | None = None

    @property
    def target(self) -> str:
        """Id of the message that the call names, for the transcript of a refused call."""
        return ""

    @property
    def content(self) -> str:
        """Text that the call carries, for the transcript of a refused call."""
        return ""

    async def read(self, http: Exchange) -> None:
        """Read token, parameters and body of the request. Raises ApiRefusal if they cannot be read."""


CallT = TypeVar("CallT", bound=ApiCall)


class PlatformApi(ABC, Generic[CallT]):
    """The API of one bot: its methods with token, faults, rate limits and transcript around them.

    `FAULTS_FIRST` is set for platforms whose faults strike calls with a wrong token as well.
    """

    FAULTS_FIRST: ClassVar[bool] = False
    NOT_FOUND: ClassVar[dict[str, Any]]
    """Body of the 404 answer for paths outside the API."""

    def __init__(
        self, limits: Any, transcript: Transcript, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.faults = FaultBook()
        self.revoked = False
        self._limits = limits
        self._transcript = transcript
        self._monotonic = monotonic

    async def call(self, http: Exchange) -> None:
        """Handle one request."""
        call = self.open(http)
        if call is None:
            await http.answer(404, self.NOT_FOUND)
            return
        status, body = await self._perform(call, http)
        if call.fault is not None and call.fault.kind in _CUTS:
            status = 0
        self.record(call, status, body)
        if call.fault is not None and call.fault.kind is FaultKind.SLOW:
            await asyncio.sleep(call.fault.seconds)
        if status == 0:
            await http.cut()
        elif body is None:
            await http.answer_bytes(status, b"", b"text/html; charset=utf-8", call.headers)
        elif call.result is not None and call.result.raw is not None:
            await http.answer_bytes(status, call.result.raw, b"application/octet-stream")
        else:
            await http.answer(status, body, call.headers)

    async def _perform(self, call: CallT, http: Exchange) -> tuple[int, Any]:
        """Return status and body of the answer; status 0 cuts the connection, body None answers nothing."""
        try:
            await self.read(call, http)
            self._strike(call)
            if call.fault is None:
                self.limit(call)
                call.result = await self.do(call)
                call.fault = self.faults.strike(AFTER, call.name, call.chat)
            body = self.success(call)
        except ApiRefusal as refusal:
            call.headers = refusal.headers or call.headers
            return refusal.status, refusal.body()
        except (ConnectionCut, ClientDisconnect):
            return 0, {}
        return (204 if body is None else 200), body

    def _strike(self, call: CallT) -> None:
        if not self.FAULTS_FIRST:
            self.authorize(call)
        call.fault = self.faults.strike(BEFORE, call.name, call.chat)
        if self.FAULTS_FIRST:
            self.authorize(call)
        if call.fault is not None and call.fault.kind is FaultKind.ERROR:
            raise self.refusal(call.fault)

    @abstractmethod
    def open(self, http: Exchange) -> CallT | None:
        """Find the method of a request; None for a path outside the API."""

    async def read(self, call: CallT, http: Exchange) -> None:
        """Read the request. Raises ApiRefusal if it cannot be read."""
        await call.read(http)

    @abstractmethod
    def authorize(self, call: CallT) -> None:
        """Check the token. Raises ApiRefusal."""

    @abstractmethod
    def limit(self, call: CallT) -> None:
        """Count the call against the rate limits. Raises ApiRefusal."""

    @abstractmethod
    async def do(self, call: CallT) -> CallResult:
        """Perform the method. Raises ApiRefusal or ConnectionCut."""

    @abstractmethod
    def success(self, call: CallT) -> Any:
        """Return the body of an accepted call; its `result` is None if a fault closes the connection."""

    @abstractmethod
    def refusal(self, fault: Fault) -> ApiRefusal:
        """Return the error that a fault answers with."""

    @abstractmethod
    def detail(self, call: CallT, body: Any) -> str:
        """Return the reason of a refusal, for the transcript."""

    def record(self, call: CallT, status: int, body: Any) -> None:
        """Count the call and write its frame; `status` is 0 if the connection is cut."""
        result = call.result
        self._transcript.count(call.name, status)
        self._transcript.add(
            call.kind,
            call.name,
            chat=(result.chat if result else "") or call.chat,
            message_id=(result.message_id if result else "") or call.target,
            text=result.text if result else call.content,
            status=status,
            committed=result is not None and result.committed,
            detail=self.detail(call, body),
        )
