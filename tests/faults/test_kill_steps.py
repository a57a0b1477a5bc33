"""kill -9 of the whole service at each named step of a turn, on every platform.

After the restart the answer stands once and complete, and nothing beside it. Only Telegram, which offers no
way to look, may show a part of unknown outcome once more, marked. What came with the question was read once:
the message that it replies to, an app's card, a forward, a recording, an edit that adds the mention.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from bot.faults import VARIABLE, Step
from tests.faults.chats import ALWAYS, SCALE, Chat, chat_on
from tests.harness.assertions import Standing, check_answered, whole
from tests.harness.machine import Deadline
from tests.harness.reading_model import MODEL, count_read
from tests.harness.service import ServiceProcess
from tests.harness.sqlite import open_turns, turns
from tests.harness.wires import WIRES
from tests.harness.wires.contents import Content, contents_of

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

PLACES = ("telegram", "slack", "slack-group", "feishu", "discord-group", "page")
# A reply of about two seconds, so that there is a middle.
WORDS, EVERY = 24, 0.08
ANSWER = " ".join(f"word{number}" for number in range(1, WORDS + 1))
ASK = f"[every={EVERY}] [reply={ANSWER}]"
# A frame holds back what may yet turn into markup, so that the final has something to bring.
AT_ONCE_ANSWER = f"{ANSWER}!"
AT_ONCE = f"[reply={AT_ONCE_ANSWER}]"
# A last frame that shows everything needs no final call: the faster the words come, the less it shows.
STREAMED = tuple(f"[every={every}] [reply={ANSWER}]" for every in (EVERY, 0.05, 0.03, 0.02) * 3)
# The answer of five seconds of which fifteen after a restart are promised.
LONG_ANSWER = " ".join(f"word{number}" for number in range(1, 51))
LONG = f"[every=0.1] [reply={LONG_ANSWER}]"
RESTART_SECONDS = 15.0
PATIENCE = 30.0
# After these the platform may have posted what we do not know of.
UNKNOWN = {Step.POST_INTENDED, Step.POSTED, Step.PART_SENT}
# The steps of a reply that never streamed, as far as they are other calls.
NEVER_STREAMED = (Step.POST_INTENDED, Step.PART_SENT, Step.RECORDED)

Serve = Callable[[Chat], ServiceProcess]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    started: list[ServiceProcess] = []

    def make(chat: Chat) -> ServiceProcess:
        config = f"""
config_version: 1
{MODEL}
server: {{port: 0}}
channels: {{{chat.channels}}}
access: {{default: allow}}
"""
        started.append(ServiceProcess(tmp_path / "home", config))
        return started[-1]

    yield make
    for service in started:
        if service.process is not None and service.process.poll() is None:
            service.kill()


async def ready(service: ServiceProcess, chat: Chat) -> None:
    """Wait for the service and lead the person to it."""
    await chat.meets((await service.ready()).url)


async def restarted(
    service: ServiceProcess, chat: Chat, answer: str = ANSWER, seconds: float = PATIENCE
) -> None:
    """Start again, and wait until the answer stands and every turn is closed."""
    service.start()
    deadline = service.deadline(seconds)
    await ready(service, chat)
    await settled(service, chat, answer, deadline)


async def settled(
    service: ServiceProcess, chat: Chat, answer: str = ANSWER, deadline: Deadline | None = None
) -> None:
    """Wait until the answer stands and every turn is closed."""

    async def done() -> bool:
        # Looking sends again what a person at the page wrote and the service did not take.
        standing = await chat.standing()
        closed = turns(service.home) > 0 and open_turns(service.home) == 0
        return closed and bool(whole(standing, answer))

    await eventually(done, service, chat, deadline)


async def eventually(
    done: Callable[[], Awaitable[bool]], service: ServiceProcess, chat: Chat, deadline: Deadline | None = None
) -> None:
    """Wait for something to be so."""
    deadline = deadline or service.deadline(PATIENCE)
    while not await done():
        assert not deadline.passed, f"{await chat.standing()}\n{service.log()}"
        await asyncio.sleep(0.05)


async def dies(service: ServiceProcess, chat: Chat, asks: Sequence[str]) -> None:
    """Ask one after the other until the step was reached."""
    assert service.process is not None
    for asked, ask in enumerate(asks, start=1):
        await chat.asks(ask)
        closed = turns(service.home) >= asked and open_turns(service.home) == 0
        deadline = service.deadline(PATIENCE)
        while service.process.poll() is None and not closed:
            assert not deadline.passed, service.log()
            await asyncio.sleep(0.02)
            closed = turns(service.home) >= asked and open_turns(service.home) == 0
        # The last step comes after the turn is closed.
        with suppress(TimeoutError):
            assert await service.died(1.0) == -9, service.log()
            return
    raise AssertionError(f"the step was not reached {len(asks)} times: {service.log()}")


async def killed_and_restarted(
    service: ServiceProcess, chat: Chat, asks: Sequence[str], step: Step, answer: str = ANSWER
) -> None:
    """Ask, die at the step, start again, and judge when the service has ended: then nothing can follow."""
    service.start(**{VARIABLE: step.value})
    await ready(service, chat)
    await dies(service, chat, asks)
    await restarted(service, chat, answer)
    assert service.stop() == 0
    check_answered(await chat.standing(), [answer], repeated=int(chat.repeats and step in UNKNOWN))
    assert chat.limited() == 0
    assert [fact for fact in chat.facts() if count_read(service.home, fact) != [1]] == []


def _list_streams() -> Iterator[tuple[str, Step, Content]]:
    """Each step at each place, where the questions come with one content after the other.

    On the page every frame is free, so the last one shows everything: only a reply that never streamed has
    its final sent.
    """
    for place in PLACES:
        platform, _, group = place.partition("-")
        contents = contents_of(platform, group=bool(group)) or (Content.TEXT,)
        if platform not in ("slack", "page") and not group:
            contents += contents_of(platform, group=True)
        for number, step in enumerate(ALWAYS):
            content = contents[number % len(contents)]
            if (place, step) != ("page", Step.PART_SENT):
                yield place, step, content


STREAMS = [*_list_streams()]


@pytest.mark.parametrize(("place", "step", "content"), STREAMS)
async def test_kill_at_each_step(place: str, step: Step, content: Content, serve: Serve) -> None:
    async with chat_on(place, content) as chat:
        await killed_and_restarted(serve(chat), chat, STREAMED, step)


@pytest.mark.parametrize("step", NEVER_STREAMED)
@pytest.mark.parametrize("place", [place for place in PLACES if place != "slack-group"])
async def test_kill_at_each_step_of_a_reply_that_never_streamed(place: str, step: Step, serve: Serve) -> None:
    async with chat_on(place) as chat:
        await killed_and_restarted(serve(chat), chat, [AT_ONCE] * 3, step, AT_ONCE_ANSWER)


@pytest.mark.alone
@pytest.mark.parametrize("place", PLACES)
async def test_a_reply_of_five_seconds_stands_soon_after_a_restart(place: str, serve: Serve) -> None:
    async with chat_on(place) as chat:
        service = serve(chat)
        service.start()
        await ready(service, chat)
        await chat.asks(LONG)
        await eventually(lambda: _shown(chat), service, chat)
        first = await chat.standing()
        # What has changed was posted for certain: its receipt is on disk.
        await eventually(lambda: _other_than(chat, first), service, chat)
        service.kill()
        await restarted(service, chat, LONG_ANSWER, RESTART_SECONDS)
        assert service.stop() == 0
        check_answered(await chat.standing(), [LONG_ANSWER])


@pytest.mark.parametrize("place", ["telegram", "slack", "feishu", "discord-group"])
async def test_kill_of_the_agent_alone(place: str, serve: Serve) -> None:
    async with chat_on(place) as chat:
        service = serve(chat)
        service.start()
        await ready(service, chat)
        await chat.asks(ASK)
        await eventually(lambda: _shown(chat), service, chat)
        agent = service.agent()
        assert agent is not None
        agent.kill()
        await settled(service, chat)
        assert service.stop() == 0
        check_answered(await chat.standing(), [ANSWER])


@pytest.mark.parametrize("place", ["telegram", "slack", "feishu", "discord-group"])
async def test_terminate_in_mid_stream_publishes_nothing_partial(place: str, serve: Serve) -> None:
    async with chat_on(place) as chat:
        service = serve(chat)
        service.start()
        await ready(service, chat)
        await chat.asks(ASK)
        await eventually(lambda: _shown(chat), service, chat)
        in_time = service.deadline(5.0)
        assert service.stop() == 0
        assert not in_time.passed
        await restarted(service, chat)
        assert service.stop() == 0
        check_answered(await chat.standing(), [ANSWER])


async def _shown(chat: Chat) -> bool:
    return bool(await chat.standing())


async def _other_than(chat: Chat, first: Sequence[Standing]) -> bool:
    return [*await chat.standing()] != [*first]


def test_every_platform_with_an_emulator_is_killed() -> None:
    assert {place.partition("-")[0] for place in PLACES} == {*WIRES, "page"}
    assert 0 < SCALE <= 1
