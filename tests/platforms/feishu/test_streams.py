"""Streaming cards over their life time: rotation, rest, expiry, sequences, one call at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from bot.clock import SystemClock
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.feishu.adapter import FeishuAdapter
from bot.platforms.feishu.streams import ABANDONED_SECONDS, ROTATE_SECONDS, FeishuStreams
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.transcript import FrameKind

from .conftest import Running, account, eventually, says


class Steps(SystemClock):
    """A clock that stands still until `pass_by`; sleepers wake when their time has come."""

    def __init__(self) -> None:
        super().__init__()
        self.at = 1_800_000_000.0
        self._moved = asyncio.Condition()

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        until = self.at + seconds
        async with self._moved:
            await self._moved.wait_for(lambda: self.at >= until)

    async def pass_by(self, seconds: float) -> None:
        self.at += seconds
        async with self._moved:
            self._moved.notify_all()


@pytest.fixture
async def stepped(emulator: FeishuEmulator) -> AsyncIterator[Running]:
    """An adapter whose time moves when told."""
    running = Running(FeishuAdapter("fs", account(emulator)), emulator)
    running.clock = Steps()
    running.context = type(running.context)(running.shelf, running.states.append, running.clock)
    await running.start()
    await running.clock.pass_by(60.0)
    yield running
    await running.stop()


def streams(running: Running) -> FeishuStreams:
    return running.adapter.session.streams


async def test_a_stream_that_lives_long_is_opened_again(stepped: Running) -> None:
    address = stepped.private()
    message_id = await stepped.adapter.send(says("x", address, final=False))
    card = stepped.emulator.world.messages[message_id].card
    assert card is not None
    for number in range(int(ROTATE_SECONDS / 4) + 2):
        await stepped.clock.pass_by(4.0)
        await stepped.adapter.edit(says(f"x {number}", address, final=False), message_id)
        await asyncio.sleep(0)
    await eventually(lambda: streams(stepped).rotations == 1)
    await eventually(lambda: card.opened == 2)
    assert streams(stepped).abandoned == 0
    await stepped.adapter.edit(says("all of it", address), message_id)
    assert (stepped.shown()[0]["text"], stepped.shown()[0]["streaming"]) == ("all of it", False)


async def test_a_stream_that_nobody_ends_is_closed_with_its_text(stepped: Running) -> None:
    address = stepped.private()
    message_id = await stepped.adapter.send(says("x", address, final=False))
    await stepped.adapter.edit(says("x y", address, final=False), message_id)
    await stepped.clock.pass_by(ABANDONED_SECONDS + 1)
    await eventually(lambda: streams(stepped).abandoned == 1)
    [seen] = stepped.shown()
    assert (seen["text"], seen["streaming"], seen["buttons"]) == ("x y", False, [])
    assert seen["summary"] == "x y"
    await stepped.adapter.edit(says("x y z", address, final=False), message_id)
    [seen] = stepped.shown()
    assert (seen["text"], seen["streaming"], len(seen["buttons"])) == ("x y z", True, 1)
    await stepped.adapter.edit(says("x y z.", address), message_id)
    assert stepped.shown()[0]["streaming"] is False


async def test_a_stream_that_was_finished_is_left_alone(stepped: Running) -> None:
    address = stepped.private()
    message_id = await stepped.adapter.send(says("x", address, final=False))
    await stepped.adapter.edit(says("done", address), message_id)
    calls = stepped.emulator.counters()["calls"]
    await stepped.clock.pass_by(ROTATE_SECONDS * 2)
    for _ in range(20):
        await asyncio.sleep(0)
    assert stepped.emulator.counters()["calls"] == calls


async def test_trouble_while_closing_is_settled_by_the_final(
    stepped: Running, emulator: FeishuEmulator
) -> None:
    address = stepped.private()
    message_id = await stepped.adapter.send(says("x", address, final=False))
    emulator.fault("error", method="card.settings", status=503)
    await stepped.clock.pass_by(ABANDONED_SECONDS + 1)
    await eventually(lambda: emulator.counters()["faults_struck"] == 1)
    assert stepped.shown()[0]["streaming"]
    await stepped.adapter.edit(says("done", address), message_id)
    assert (stepped.shown()[0]["text"], stepped.shown()[0]["streaming"]) == ("done", False)


@pytest.mark.parametrize("final", [True, False])
async def test_a_stream_that_the_server_ended_goes_on(
    running: Running, emulator: FeishuEmulator, final: bool
) -> None:
    running.settled()
    address = running.private()
    message_id = await running.adapter.send(says("one", address, final=False))
    emulator.expire_streams()
    await running.adapter.edit(says("one two", address, final=final), message_id)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"]) == ("one two", not final)
    await running.adapter.edit(says("one two three", address), message_id)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"], seen["buttons"]) == ("one two three", False, [])


async def test_a_stream_closed_behind_our_back_goes_on(running: Running, emulator: FeishuEmulator) -> None:
    address = running.private()
    message_id = await running.adapter.send(says("one", address, final=False))
    card = emulator.world.messages[message_id].card
    assert card is not None
    card.streaming_until = 0.0
    await running.adapter.edit(says("one two", address, final=False), message_id)
    assert (running.shown()[0]["text"], running.shown()[0]["streaming"]) == ("one two", True)


@pytest.mark.parametrize("final", [True, False])
async def test_a_sequence_that_is_too_low_is_raised(
    running: Running, emulator: FeishuEmulator, final: bool
) -> None:
    address = running.private()
    message_id = await running.adapter.send(says("one", address, final=False))
    card = emulator.world.messages[message_id].card
    assert card is not None
    card.sequence = int(running.clock.now() * 10) % (2**31 - 1 - 2_000_000) + 500_000
    await running.adapter.edit(says("one two", address, final=final), message_id)
    assert running.shown()[0]["text"] == "one two"
    await running.adapter.edit(says("one two three", address), message_id)
    assert (running.shown()[0]["text"], running.shown()[0]["streaming"]) == ("one two three", False)


async def test_an_update_of_unknown_outcome_is_settled_by_the_next_text(
    running: Running, emulator: FeishuEmulator
) -> None:
    address = running.private()
    message_id = await running.adapter.send(says("one", address, final=False))
    for kind in ("drop", "close"):
        emulator.fault(kind, method="element.content")
        # aiohttp repeats a PUT whose connection broke; it may succeed, or find its sequence used.
        with contextlib.suppress(DeliveryError):
            await running.adapter.edit(says("one two", address, final=False), message_id)
    await running.adapter.edit(says("one two three", address, final=False), message_id)
    assert running.shown()[0]["text"] == "one two three"


@pytest.mark.parametrize("method", ["card.settings", "card.update"])
@pytest.mark.parametrize("kind", ["drop", "close"])
async def test_a_final_of_unknown_outcome_may_be_repeated(
    running: Running, emulator: FeishuEmulator, method: str, kind: str
) -> None:
    address = running.private()
    message_id = await running.adapter.send(says("one", address, final=False))
    emulator.fault(kind, method=method)
    with contextlib.suppress(DeliveryError):
        await running.adapter.edit(says("the end", address), message_id)
    assert running.emulator.counters()["faults_struck"] == 1
    await running.adapter.edit(says("the end", address), message_id)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"], seen["buttons"]) == ("the end", False, [])


async def test_a_card_that_is_refused_is_replaced_by_another(
    running: Running, emulator: FeishuEmulator
) -> None:
    address = running.private()
    message_id = await running.adapter.send(says("one", address, final=False))
    emulator.fault(
        "error", method="card.update", status=400, description="200740 The card entity does not exist"
    )
    await running.adapter.edit(says("the end", address), message_id)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"], seen["buttons"]) == ("the end", False, [])
    assert running.calls("message.patch") == 1


async def test_a_limit_on_a_card_is_no_reason_to_replace_it(
    running: Running, emulator: FeishuEmulator
) -> None:
    address = running.private()
    message_id = await running.adapter.send(says("one", address, final=False))
    emulator.penalize(address.chat, 3)
    for final in (False, True):
        with pytest.raises(RateLimited) as caught:
            await running.adapter.edit(says("the end", address, final=final), message_id)
        assert caught.value.retry_after == 3
    assert running.calls("message.patch") == 0


async def test_calls_of_one_card_happen_one_after_another(running: Running, emulator: FeishuEmulator) -> None:
    running.settled()
    address = running.private()
    message_id = await running.adapter.send(says("0", address, final=False))
    emulator.fault("slow", method="element.content", seconds=0.05, times=-1)
    texts = [str(number) for number in range(1, 9)]
    await asyncio.gather(
        *(running.adapter.edit(says(text, address, final=False), message_id) for text in texts)
    )
    frames = emulator.transcript.of(FrameKind.EDIT)
    assert [frame.text for frame in frames] == texts
    assert {frame.status for frame in frames} == {200}


async def test_each_reply_has_a_card_of_its_own(running: Running) -> None:
    running.settled()
    address = running.private()
    ids = [
        await running.adapter.send(says(f"{number}", address, key=f"{number}:0", final=False))
        for number in range(3)
    ]
    for message_id in ids:
        await running.adapter.edit(says(f"end of {message_id}", address), message_id)
    assert [seen["text"] for seen in running.shown()] == [f"end of {message_id}" for message_id in ids]


async def test_the_scale_of_an_account_shortens_the_rotation(emulator: FeishuEmulator) -> None:
    emulator.world.scale = 0.001
    running = Running(FeishuAdapter("fs", account(emulator, rate_scale=0.001)), emulator)
    await running.start()
    address = running.private()
    message_id = await running.adapter.send(says("x", address, final=False))
    await eventually(lambda: streams(running).rotations == 1)
    await running.adapter.edit(says("end", address), message_id)
    assert (running.shown()[0]["text"], running.shown()[0]["streaming"]) == ("end", False)
    await running.stop()


async def test_a_card_that_somebody_clicks_is_written_to_afterwards(
    running: Running, emulator: FeishuEmulator
) -> None:
    running.settled()
    address = running.private()
    message_id = await running.adapter.send(says("one", address, final=False))
    refusal = "200810 ErrMsg: The card is in an ongoing interaction and cannot be updated; "
    emulator.fault("error", method="element.content", status=400, description=refusal, times=4)
    await running.adapter.edit(says("one two", address, final=False), message_id)
    assert running.shown()[0]["text"] == "one two"
    emulator.fault("error", method="card.update", status=400, description=refusal, times=5)
    with pytest.raises(DeliveryError) as caught:
        await running.adapter.edit(says("one two three", address), message_id)
    assert caught.value.category is DeliveryCategory.TRANSIENT
    await running.adapter.edit(says("one two three", address), message_id)
    assert running.shown()[0]["text"] == "one two three"


async def test_a_message_of_an_earlier_connection_may_be_open(running: Running) -> None:
    address = running.private()
    posted = await running.adapter.send(says("one", address, final=False))
    await running.adapter.edit(says("one", address), posted)
    assert not running.adapter.streaming(address, posted)
    await running.stop()
    assert running.adapter.streaming(address, posted)
    await running.start()
    assert running.adapter.streaming(address, posted)
