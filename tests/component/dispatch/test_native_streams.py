"""Messages that are open streams: the final edit closes each, also where its text stands already."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.domain import OutboundMessage, ReplyAddress
from bot.store.read_models import list_turns
from bot.turn import TurnState
from roebot_testing.adapter import RecordingAdapter
from tests.component.dispatch.adapters import Lines
from tests.component.dispatch.bench import Bench

TEXT = "an answer that is long enough to be shown at once"


@dataclass
class Streaming(RecordingAdapter):
    """Keeps a message open from its first frame to its final edit."""

    open: set[str] = field(default_factory=set)

    async def send(self, message: OutboundMessage) -> str:
        identity = await super().send(message)
        if not message.final:
            self.open.add(identity)
        return identity

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        if message.final:
            self.open.discard(message_id)
        await super().edit(message, message_id)

    def streaming(self, address: ReplyAddress, message_id: str) -> bool:
        return message_id in self.open


async def answered(at: Bench) -> list[str]:
    """One answer whose text stands when its run ends; the calls made for it."""
    async with at.running():
        await at.adapter.hears("go")
        await at.until(lambda: at.runtime.runs)
        [run] = at.runtime.runs.values()
        run.say(TEXT)
        await at.until(at.adapter.texts)
        await at.rest(3.0)
        run.end()
        await at.rest(3.0)
        [view] = await at.db.transact(list_turns, 1)
    assert view.state is TurnState.DONE
    assert at.adapter.texts() == [TEXT]
    return [operation for operation, _, _ in at.adapter.calls if operation != "typing"]


async def test_a_text_that_stands_is_closed_once(at: Bench) -> None:
    adapter = at.adapter = Streaming()
    assert await answered(at) == ["post", "edit"]
    assert not adapter.open


async def test_where_nothing_is_open_a_text_that_stands_needs_no_call(at: Bench) -> None:
    assert await answered(at) == ["post"]


async def test_every_part_that_is_open_is_closed(at: Bench) -> None:
    adapter = at.adapter = Streaming(renderer=Lines())
    async with at.running():
        await at.adapter.hears("go")
        await at.until(lambda: at.runtime.runs)
        [run] = at.runtime.runs.values()
        run.say(f"{TEXT}\nand more of it")
        await at.until(lambda: len(at.adapter.texts()) == 2)
        assert len(adapter.open) == 2
        run.end()
        await at.until(lambda: not adapter.open)
    assert at.adapter.texts() == [TEXT, "and more of it"]
