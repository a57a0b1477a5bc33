"""One chat on each platform, as the suite of kills sees it: ask, restart, look."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from bot.faults import Step
from tests.harness.page import PageUser
from tests.harness.waiters import until
from tests.harness.wires import WIRES, Standing, Wire
from tests.harness.wires.contents import IN_GROUPS, Content, ask_with

SCALE = 0.2
"""Periods of the platforms' limits and of their redelivery are so much shorter."""
SOMETIMES = (Step.TRANSCRIBED, Step.OFFERED, Step.JOINED, Step.SERVICE_ANSWERED)
ALWAYS = [step for step in Step if step not in SOMETIMES]
"""The steps of every turn; the others have suites of their own."""


class Chat(Protocol):
    """Somebody who asks, and what they see."""

    @property
    def repeats(self) -> bool:
        """Whether a post of unknown outcome may stand twice, the second one marked."""
        ...

    @property
    def channels(self) -> str:
        """The entry under `channels`, "" for none."""
        ...

    async def meets(self, url: str) -> None:
        """The service is there (again)."""
        ...

    async def asks(self, text: str) -> None:
        """Write."""
        ...

    def facts(self) -> list[str]:
        """What others wrote that comes with the questions so far, one fact each."""
        ...

    async def standing(self) -> list[Standing]:
        """The answers to what was asked last, as they stand."""
        ...

    def limited(self) -> int:
        """How many calls were refused for their rate."""
        ...


class WireChat:
    """A chat on a platform that has an emulator."""

    def __init__(self, wire: Wire, *, group: bool, content: Content = Content.TEXT) -> None:
        self._wire = wire
        self._content = content
        self._group = wire.group() if group else ""
        self._place = ""
        self._before = 0
        self._facts: list[str] = []
        self.repeats = wire.repeats

    @property
    def channels(self) -> str:
        """See Chat."""
        return f"{self._wire.platform}: {{{self._wire.entry}}}"

    async def meets(self, url: str) -> None:
        """See Chat: what was not acknowledged is the platform's own business."""

    async def asks(self, text: str) -> None:
        """See Chat. Discord keeps nothing for a bot that was never there, so that is waited for."""
        await connection(self._wire)
        self._before = len(self._wire.standing(self._place)) if self._place else 0
        if self._content is Content.TEXT:
            self._place = self._wire.asks(text, group=self._group)
            return
        self._facts.append(f"kestrel{len(self._facts):02}")
        self._place = ask_with(self._wire, self._content, text, self._facts[-1], self._group)

    def facts(self) -> list[str]:
        """See Chat."""
        return [*self._facts]

    async def standing(self) -> list[Standing]:
        """See Chat."""
        return self._wire.standing(self._place)[self._before :] if self._place else []

    def limited(self) -> int:
        """See Chat."""
        return self._wire.limited()


class PageChat(PageUser):
    """The page."""

    repeats = False
    channels = ""

    def facts(self) -> list[str]:
        """See Chat."""
        return []

    def limited(self) -> int:
        """See Chat."""
        return 0


@asynccontextmanager
async def chat_on(place: str, content: Content = Content.TEXT) -> AsyncIterator[Chat]:
    """A chat at `platform` or `platform-group`, where people ask with this content."""
    platform, _, group = place.partition("-")
    if platform == "page":
        yield PageChat()
        return
    async with WIRES[platform].serve(SCALE) as wire:
        yield WireChat(wire, group=bool(group) or content in IN_GROUPS, content=content)


async def connection(wire: Wire, seconds: float = 20.0) -> None:
    """Wait until the bot receives."""
    await until(wire.connected, seconds, lambda: f"{wire.platform}: not connected")
