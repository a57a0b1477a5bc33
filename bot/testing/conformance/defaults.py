"""A driver to begin with: it declines everything that a platform need not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.clock import Clock
from bot.domain import OutboundMessage
from bot.platforms.base import Adapter, WebhookRequest
from bot.testing.clock import QuickClock
from bot.testing.conformance.driver import ANN, Ability, Seen, Where

LACKS = "this driver does not act it"


class Driver:
    """See PlatformDriver. What is overridden here has to be taken out of `cannot`.

    `adapter`, `writes` and `seen` are the least that a driver has.
    """

    account = "acc"
    secrets: Sequence[str] = ()
    cannot: Mapping[Ability, str] = dict.fromkeys(Ability, LACKS)

    def __init__(self) -> None:
        self.clock: Clock = QuickClock()

    def adapter(self) -> Adapter:
        """See PlatformDriver."""
        raise NotImplementedError

    def refused_adapter(self) -> Adapter:
        """See PlatformDriver."""
        raise NotImplementedError

    def lost_adapter(self) -> Adapter:
        """See PlatformDriver."""
        raise NotImplementedError

    async def writes(self, text: str, at: Where = ANN, *, addressed: bool = True) -> str:
        """See PlatformDriver."""
        raise NotImplementedError

    async def sends_file(self, data: bytes, filename: str, mime: str, at: Where = ANN) -> str:
        """See PlatformDriver."""
        raise NotImplementedError

    async def clicks(self, message_id: str, choice: str, at: Where = ANN) -> None:
        """See PlatformDriver."""
        raise NotImplementedError

    async def removes(self, message_id: str, at: Where = ANN) -> None:
        """See PlatformDriver."""
        raise NotImplementedError

    async def expels(self) -> None:
        """See PlatformDriver."""
        raise NotImplementedError

    def repeats(self) -> None:
        """See PlatformDriver."""
        raise NotImplementedError

    def unconfirmed(self) -> int:
        """See PlatformDriver."""
        raise NotImplementedError

    async def breaks(self) -> None:
        """See PlatformDriver."""
        raise NotImplementedError

    async def falls_silent(self) -> None:
        """See PlatformDriver."""
        raise NotImplementedError

    async def speaks(self) -> None:
        """See PlatformDriver."""
        raise NotImplementedError

    async def revokes(self) -> None:
        """See PlatformDriver."""
        raise NotImplementedError

    def limits(self, at: Where, seconds: float) -> None:
        """See PlatformDriver."""
        raise NotImplementedError

    def lifts(self, at: Where) -> None:
        """See PlatformDriver."""
        raise NotImplementedError

    def loses_answer(self, operation: str) -> None:
        """See PlatformDriver."""
        raise NotImplementedError

    def fails(self, operation: str) -> None:
        """See PlatformDriver."""
        raise NotImplementedError

    def expires(self) -> None:
        """See PlatformDriver."""
        raise NotImplementedError

    async def forged(self) -> Sequence[WebhookRequest]:
        """See PlatformDriver."""
        raise NotImplementedError

    async def genuine(self, text: str) -> WebhookRequest:
        """See PlatformDriver."""
        raise NotImplementedError

    def recorded(self, message: OutboundMessage, message_id: str) -> None:
        """See PlatformDriver."""

    def seen(self, at: Where = ANN) -> Sequence[Seen]:
        """See PlatformDriver."""
        raise NotImplementedError

    def typing(self, at: Where = ANN) -> bool:
        """See PlatformDriver."""
        raise NotImplementedError

    def menu(self) -> Sequence[str]:
        """See PlatformDriver."""
        raise NotImplementedError

    def connections(self) -> int:
        """See PlatformDriver."""
        return 0
