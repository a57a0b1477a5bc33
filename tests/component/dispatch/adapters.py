"""Recording adapters and renderers for what single tests of the dispatcher need."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.domain import OutboundMessage, ReplyAddress
from roebot_testing.adapter import RecordingAdapter


@dataclass(slots=True)
class Asking(RecordingAdapter):
    """A platform with buttons."""

    most_choices: int = 3


@dataclass(slots=True)
class Slow(RecordingAdapter):
    """A platform whose answer to a post comes when it is `free`; `posted` says that one stands."""

    posted: asyncio.Event = field(default_factory=asyncio.Event)
    free: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, message: OutboundMessage) -> str:
        """See Adapter."""
        identity = await RecordingAdapter.send(self, message)
        self.posted.set()
        await self.free.wait()
        return identity


@dataclass(slots=True)
class EndingTyping(RecordingAdapter):
    """A platform whose typing indicator lasts until a message ends it; `ended` are the turns without any."""

    ended: list[int] = field(default_factory=list)

    def end_typing(self, _address: ReplyAddress, turn: int) -> None:
        """See EndsTyping."""
        self.ended.append(turn)


@dataclass(slots=True)
class SlowEdits(RecordingAdapter):
    """A platform that takes `seconds` to answer an edit."""

    seconds: float = 0.0

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        """See EditsMessages."""
        assert self.context is not None
        await self.context.clock.sleep(self.seconds)
        await RecordingAdapter.edit(self, message, message_id)


@dataclass(slots=True)
class AskingSlowly(Slow):
    """A platform with buttons, which can be pressed before the answer to their post comes."""

    most_choices: int = 5


@dataclass(slots=True)
class Whispering(RecordingAdapter):
    """A platform that finds what it has posted, except for messages to one person."""

    repeats_safely: bool = True

    def is_untraceable(self, message: OutboundMessage) -> bool:
        """See ShowsAlone."""
        return bool(message.alone)


class Lines:
    """A renderer for which each line is a part."""

    name = "lines"

    def split(self, markdown: str) -> list[str]:
        return [line for line in markdown.split("\n") if line.strip()]

    def frame(self, markdown: str) -> str:
        return markdown

    def framing(self) -> Callable[[str], str]:
        return self.frame

    def growing(self) -> Lines:
        return self
