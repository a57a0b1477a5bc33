"""A base for drivers that lacks every optional ability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.clock import Clock
from bot.domain import OutboundMessage
from bot.platforms.base import Adapter, WebhookRequest
from bot.testing.clock import QuickClock
from bot.testing.conformance.driver import ANN, Ability, Seen, Where

LACKS = "this driver does not support it"


class Driver:
    """A PlatformDriver to subclass; remove from `cannot` the abilities whose methods you override.

    Every driver overrides at least `adapter`, `writes` and `seen`.
    """

    account = "acc"
    secrets: Sequence[str] = ()
    cannot: Mapping[Ability, str] = dict.fromkeys(Ability, LACKS)

    def __init__(self) -> None:
        self.clock: Clock = QuickClock()

    def adapter(self) -> Adapter:
        raise NotImplementedError

    def refused_adapter(self) -> Adapter:
        raise NotImplementedError

    def lost_adapter(self) -> Adapter:
        raise NotImplementedError

    async def writes(self, text: str, at: Where = ANN, *, addressed: bool = True) -> str:
        raise NotImplementedError

    async def sends_file(self, data: bytes, filename: str, mime: str, at: Where = ANN) -> str:
        raise NotImplementedError

    async def clicks(self, message_id: str, choice: str, at: Where = ANN) -> None:
        raise NotImplementedError

    async def removes(self, message_id: str, at: Where = ANN) -> None:
        raise NotImplementedError

    async def expels(self) -> None:
        raise NotImplementedError

    def repeats(self) -> None:
        raise NotImplementedError

    def unconfirmed(self) -> int:
        raise NotImplementedError

    async def breaks(self) -> None:
        raise NotImplementedError

    async def falls_silent(self) -> None:
        raise NotImplementedError

    async def speaks(self) -> None:
        raise NotImplementedError

    async def revokes(self) -> None:
        raise NotImplementedError

    def limits(self, at: Where, seconds: float) -> None:
        raise NotImplementedError

    def lifts(self, at: Where) -> None:
        raise NotImplementedError

    def loses_answer(self, operation: str) -> None:
        raise NotImplementedError

    def fails(self, operation: str) -> None:
        raise NotImplementedError

    def expires(self) -> None:
        raise NotImplementedError

    async def forged(self) -> Sequence[WebhookRequest]:
        raise NotImplementedError

    async def genuine(self, text: str) -> WebhookRequest:
        raise NotImplementedError

    def recorded(self, message: OutboundMessage, message_id: str) -> None:
        """Ignore the record."""

    def seen(self, at: Where = ANN) -> Sequence[Seen]:
        raise NotImplementedError

    def typing(self, at: Where = ANN) -> bool:
        raise NotImplementedError

    def menu(self) -> Sequence[str]:
        raise NotImplementedError

    def connections(self) -> int:
        return 0
