"""How long a final answer waits for its platform's limits, and what waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from bot.core.rate_limits import MARGIN
from bot.dispatch.pacing import Applicant, RateGovernor
from bot.domain import ChatKind, ReplyAddress
from bot.platforms.discord.manifest import MANIFEST as DISCORD
from bot.platforms.feishu.manifest import MANIFEST as FEISHU
from bot.platforms.local.manifest import WEB
from bot.platforms.manifest import Manifest, Operation
from bot.platforms.slack.manifest import MANIFEST as SLACK
from bot.platforms.telegram.manifest import MANIFEST as TELEGRAM
from roebot_testing.clock import ManualClock

PRIVATE, GROUP = ChatKind.PRIVATE, ChatKind.GROUP
LONGEST = {PRIVATE: 0.1, GROUP: 0.3}
PLACES = [(one, kind) for one in (TELEGRAM, SLACK, FEISHU, DISCORD, WEB) for kind in (PRIVATE, GROUP)]
PLATFORMS = pytest.mark.parametrize(
    ("manifest", "kind"), PLACES, ids=[f"{one.platform}-{kind}" for one, kind in PLACES]
)
DISCORD_EDITS = 5


@dataclass
class Chat:
    """One reply within a platform's limits: typing, frames as often as they are granted, then the final."""

    manifest: Manifest
    kind: ChatKind
    clock: ManualClock = field(default_factory=ManualClock)
    calls: list[tuple[float, Operation]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.governor = RateGovernor(self.manifest.budgets, self.clock)
        self.address = ReplyAddress("a", "c", self.kind)
        self.applicant = Applicant()

    async def show(self, operation: Operation) -> None:
        """Make one optional call as soon as it is granted."""
        if await self.governor.wait_for_chance(self.applicant, self.address, operation):
            async with self.governor.optional_call(self.address, operation) as wait:
                if not wait:
                    self.calls.append((self.clock.now(), operation))

    async def stream(self) -> None:
        """Show frames until closed."""
        await self.show(Operation.POST)
        while not self.applicant.closed:
            await self.clock.sleep(self.manifest.frame_interval)
            await self.show(Operation.EDIT)

    @property
    def is_used_up(self) -> bool:
        """Whether Discord's own window has no edit left."""
        resets_at, used = 0.0, 0
        for at in [at for at, operation in self.calls if operation is Operation.EDIT]:
            used = used + 1 if at < resets_at else 1
            resets_at = resets_at if at < resets_at else at + 5.0
        return (
            self.manifest is DISCORD
            and used == DISCORD_EDITS
            and self.clock.now() < resets_at + 5.0 * (MARGIN - 1)
        )

    async def finish(self, operation: Operation) -> float:
        """Return how long a call that has to be made waits."""
        asked = self.clock.now()
        async with self.governor.required_call(self.address, operation):
            return self.clock.now() - asked

    async def lag(self, operation: Operation) -> float:
        """Return how long the final of this kind waits."""
        final = asyncio.create_task(self.finish(operation))
        await self.clock.advance(30.0)
        return final.result()


@PLATFORMS
async def test_typing_never_delays_the_final(manifest: Manifest, kind: ChatKind) -> None:
    for number in range(20):
        chat = Chat(manifest, kind)
        await chat.show(Operation.TYPING)
        again = asyncio.create_task(chat.show(Operation.TYPING))
        await chat.clock.advance(number * 0.1)
        assert await chat.lag(Operation.POST) == 0.0
        await again


@PLATFORMS
async def test_a_typing_call_that_takes_long_delays_neither_frame_nor_final(
    manifest: Manifest, kind: ChatKind
) -> None:
    chat = Chat(manifest, kind)
    async with chat.governor.optional_call(chat.address, Operation.TYPING) as wait:
        assert not wait
        await chat.clock.advance(0.5)
        await asyncio.wait_for(chat.show(Operation.POST), 1)
        assert [operation for _, operation in chat.calls] == [Operation.POST]
        assert await chat.lag(Operation.FINAL) == 0.0


@pytest.mark.parametrize("kind", [PRIVATE, GROUP])
async def test_a_frame_goes_before_typing_that_has_waited_longer(kind: ChatKind) -> None:
    for _ in range(5):
        typing, frame = Chat(TELEGRAM, kind), Chat(TELEGRAM, kind)
        frame.governor, frame.clock = typing.governor, typing.clock
        async with typing.governor.required_call(typing.address, Operation.POST):
            signs = asyncio.create_task(typing.show(Operation.TYPING))
            await typing.clock.run_ready()
            frames = asyncio.create_task(frame.show(Operation.POST))
            await typing.clock.advance(3.0)
        free_at = typing.clock.now()
        await typing.clock.advance(10.0)
        await asyncio.gather(signs, frames)
        assert frame.calls == [(free_at, Operation.POST)]


@PLATFORMS
async def test_a_final_after_frames_waits_only_if_the_budget_is_used_up(
    manifest: Manifest, kind: ChatKind
) -> None:
    for lasted in (0.0, 0.3, 0.95, 1.05, 2.5, 3.33, 7.77, 20.0, 61.0):
        chat = Chat(manifest, kind)
        await chat.show(Operation.TYPING)
        stream = asyncio.create_task(chat.stream())
        await chat.clock.advance(lasted)
        chat.applicant.close()
        stream.cancel()
        most = 1.1 if chat.is_used_up else LONGEST[kind]
        waited = await chat.lag(Operation.FINAL)
        assert waited <= most, (lasted, waited)


@pytest.mark.parametrize(
    ("manifest", "at_once"),
    [(TELEGRAM, 3), (DISCORD, 5), (FEISHU, 5), (SLACK, 1)],
    ids=lambda one: str(one)[:9],
)
async def test_as_many_posts_come_at_once_as_the_platform_allows(manifest: Manifest, at_once: int) -> None:
    chat = Chat(manifest, PRIVATE)
    made: list[float] = []

    async def post() -> None:
        await chat.finish(Operation.POST)
        made.append(chat.clock.now())

    began = chat.clock.now()
    async with asyncio.TaskGroup() as group:
        for _ in range(at_once + 1):
            group.create_task(post())
        await chat.clock.advance(6.0)
    assert made[:at_once] == [began] * at_once
    assert made[at_once] > began + 0.9


async def test_a_burst_takes_nothing_from_what_a_group_may_get_in_a_minute() -> None:
    chat = Chat(TELEGRAM, GROUP)
    waits = []
    for _ in range(21):
        task = asyncio.create_task(chat.finish(Operation.POST))
        await chat.clock.advance(2.0)
        waits.append(task.done())
    assert waits == [True] * 20 + [False]
    await chat.clock.advance(60.0)
    assert task.done()


def counting(created: list[object]) -> Callable[..., asyncio.Task[object]]:
    """A task factory that writes down what it creates."""

    def create(loop: asyncio.AbstractEventLoop, coroutine: object, **more: object) -> asyncio.Task[object]:
        created.append(coroutine)
        return asyncio.Task(coroutine, loop=loop, **more)  # type: ignore[arg-type]

    return create


async def test_chats_that_wait_take_turns_and_create_no_tasks(clock: ManualClock) -> None:
    governor = RateGovernor(TELEGRAM.budgets, clock)
    shown: dict[str, list[float]] = {f"c{number}": [] for number in range(200)}
    applicants = {chat: Applicant() for chat in shown}
    created: list[object] = []

    async def stream(chat: str) -> None:
        address = ReplyAddress("a", chat, PRIVATE)
        while await governor.wait_for_chance(applicants[chat], address, Operation.EDIT):
            async with governor.optional_call(address, Operation.EDIT) as wait:
                assert not wait, "who is chosen is granted the call"
                shown[chat].append(clock.now())

    async with asyncio.TaskGroup() as group:
        for chat in shown:
            group.create_task(stream(chat))
        await clock.run_ready()
        asyncio.get_running_loop().set_task_factory(counting(created))
        await clock.advance(40.0)
        asyncio.get_running_loop().set_task_factory(None)
        for applicant in applicants.values():
            applicant.close()
        await clock.run_ready()
    calls = sorted(at for times in shown.values() for at in times)
    assert len(created) <= 40, "the timer of all, now and then anew; not one for each chat or wait"
    assert 24 * 40 <= len(calls) <= 26 * 41
    assert {len(times) for times in shown.values()} <= {4, 5, 6}, "all get the same"


async def test_who_waits_for_a_call_of_its_chat_is_woken_by_its_end(clock: ManualClock) -> None:
    governor = RateGovernor(WEB.budgets, clock)
    address, applicant = ReplyAddress("a", "c", PRIVATE), Applicant()
    async with governor.required_call(address, Operation.POST):
        waiting = asyncio.create_task(governor.wait_for_chance(applicant, address, Operation.EDIT))
        await clock.advance(10.0)
        assert not waiting.done()
    await clock.run_ready()
    assert waiting.result() is True
    applicant.close()
    assert await governor.wait_for_chance(applicant, address, Operation.EDIT) is False


async def test_one_that_gives_up_lets_the_next_one_go(clock: ManualClock) -> None:
    governor = RateGovernor(TELEGRAM.budgets, clock)
    governor.add_penalty(ReplyAddress("a", "any", PRIVATE), 5.0, account_wide=True)
    applicants = [Applicant() for _ in range(3)]
    waiting = [
        asyncio.create_task(
            governor.wait_for_chance(one, ReplyAddress("a", f"c{number}", PRIVATE), Operation.EDIT)
        )
        for number, one in enumerate(applicants)
    ]
    await clock.advance(1.0)
    applicants[0].close()
    waiting[1].cancel()
    await clock.advance(5.0)
    assert waiting[0].result() is False and waiting[1].cancelled() and waiting[2].result() is True
    assert governor._chosen is None and not any(governor._queues.values())
