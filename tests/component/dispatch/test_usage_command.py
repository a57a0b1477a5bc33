"""Tokens: from what a run tells of them to `/usage`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bot.access import Role
from bot.domain import ChatKind, Isolation, IsolationPolicy, Origin, Sender
from bot.runtime.interface import (
    AttemptStarted,
    EventsMissing,
    RunEnded,
    RunFailed,
    ThreadAnswer,
    TokenUsage,
    UsageReported,
)
from bot.store.read_models import list_turns
from bot.store.usage import TurnUsage
from bot.turn import TurnState
from roebot_testing.runtime import ScriptedRun, answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed
from tests.component.dispatch.test_turn_edge_cases import first_run

DAY = 24 * 3600.0
STEP = UsageReported(TokenUsage(100, 20, 120))


def costing(*steps: int) -> Callable[[ScriptedRun], None]:
    """A script whose run takes so many tokens in each step and gives a tenth of it."""

    def script(run: ScriptedRun) -> None:
        run.say("done")
        run.emit(*(UsageReported(TokenUsage(step, step // 10, step + step // 10)) for step in steps))
        run.end()

    return script


async def spent(at: Bench, turn: int = -1) -> TurnUsage | None:
    """What a turn of the first conversation cost, the newest unless another is named."""
    views = await at.db.transact(list_turns, 1)
    return views[0].spent if turn < 0 else next(view.spent for view in views if view.id == turn)


async def usage(at: Bench, chat: str = "c1", **more: Any) -> str:
    """What `/usage` says there."""
    before = len(at.adapter.texts(chat))
    await at.adapter.hears("/usage", chat=chat, **more)
    await at.until(lambda: len(at.adapter.texts(chat)) > before)
    await at.quiet()
    return at.adapter.texts(chat)[-1]


async def asks(at: Bench, *, chat: str = "c1", person: str = "7", **more: Any) -> None:
    """Somebody asks and is answered."""
    before = len(at.adapter.texts(chat))
    await at.adapter.hears("hi", chat=chat, person=person, **more)
    await at.until(lambda: len(at.adapter.texts(chat)) > before)
    await at.rest(0.2)


class TestCounting:
    """What is written down with a turn."""

    async def test_cached_tokens_and_the_cost_are_shown(self, at: Bench) -> None:
        steps = [
            TokenUsage(1_000, 20, 1_020, 900, 0.25, "EUR"),
            TokenUsage(2_000, 20, 2_020, 1_900, 1.5, "EUR"),
        ]

        def script(run: ScriptedRun) -> None:
            run.say("done")
            run.emit(*map(UsageReported, steps))
            run.end()

        at.runtime.script = script
        async with at.running():
            await asks(at)
            assert await spent(at) == TurnUsage("recording:7", 3_000, 40, 3_040, 2_800, 1.75, "EUR")
            shown = await usage(at)
        last = "3,040 (3,000 in, 2,800 of them cached, 40 out), cost: 1.75 EUR"
        assert f"Last answer here: {last}" in shown
        assert "30 days: 3,040 (3,000 in, 2,800 of them cached, 40 out), answers: 1, cost: 1.75 EUR" in shown

    async def test_every_step_of_a_run_counts_for_its_author(self, at: Bench) -> None:
        at.runtime.script = costing(100, 50)
        async with at.running():
            await at.adapter.hears("hi")
            assert await closed(at) == [TurnState.DONE]
        assert await spent(at) == TurnUsage("recording:7", 150, 15, 165)

    async def test_a_run_that_tells_nothing_is_not_counted(self, at: Bench) -> None:
        at.runtime.script = answer_with("done")
        async with at.running():
            await at.adapter.hears("hi")
            await closed(at)
        assert await spent(at) is None

    async def test_an_attempt_that_was_cut_off_cost_something_too(self, at: Bench) -> None:
        def script(run: ScriptedRun) -> None:
            at.runtime.answers[run.request.thread_id] = ThreadAnswer(("whole",))
            run.emit(STEP, AttemptStarted(2), STEP)
            run.end()

        at.runtime.script = script
        async with at.running():
            await at.adapter.hears("hi")
            await closed(at)
        assert at.adapter.texts() == ["whole"]
        assert await spent(at) == TurnUsage("recording:7", 200, 40, 240)

    async def test_a_connection_that_breaks_counts_nothing_twice(self, at: Bench) -> None:
        def script(run: ScriptedRun) -> None:
            run.emit(STEP)
            run.say("done")
            run.emit(STEP)
            run.end()

        at.runtime.script, at.runtime.cut_after = script, 3
        async with at.running():
            await at.adapter.hears("hi")
            await closed(at)
        assert at.runtime.cut_after is None
        assert await spent(at) == TurnUsage("recording:7", 200, 40, 240)

    @pytest.mark.parametrize(
        ("told", "expected"),
        [
            (TokenUsage(900, 90, 990), TurnUsage("recording:7", 900, 90, 990)),
            (None, TurnUsage("recording:7", 100, 20, 120)),
        ],
    )
    async def test_after_a_gap_the_run_is_asked(
        self, at: Bench, told: TokenUsage | None, expected: TurnUsage
    ) -> None:
        def script(run: ScriptedRun) -> None:
            at.runtime.answers[run.request.thread_id] = ThreadAnswer(("whole",))
            if told is not None:
                at.runtime.used[run.id] = told
            run.emit(EventsMissing(), STEP)
            run.end()

        at.runtime.script = script
        async with at.running():
            await at.adapter.hears("hi")
            await closed(at)
        assert await spent(at) == expected

    async def test_a_runtime_that_cannot_tell_costs_no_answer(
        self, at: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def script(run: ScriptedRun) -> None:
            at.runtime.answers[run.request.thread_id] = ThreadAnswer(("whole",))
            run.emit(STEP, EventsMissing())
            run.end()

        real = type(at.runtime).read_answer

        async def answer(runtime: object, thread_id: str, message_ids: list[str]) -> ThreadAnswer:
            found = await real(at.runtime, thread_id, message_ids)
            at.runtime.down = True
            return found

        monkeypatch.setattr(type(at.runtime), "read_answer", answer)
        at.runtime.script = script
        async with at.running():
            await at.adapter.hears("hi")
            assert await closed(at) == [TurnState.DONE]
        assert at.adapter.texts() == ["whole"]
        assert await spent(at) == TurnUsage("recording:7", 100, 20, 120)

    async def test_what_was_stopped_or_failed_counts_as_far_as_it_came(self, at: Bench) -> None:
        async with at.running():
            run = await first_run(at)
            run.emit(STEP)
            run.say("working")
            await at.rest(1.0)
            await at.adapter.hears("/stop")
            assert TurnState.CANCELLED in await closed(at, 2)
            at.runtime.script = lambda run: run.emit(STEP, STEP, RunFailed("Error", "no"), RunEnded("error"))
            await at.adapter.hears("again")
            assert TurnState.FAILED in await closed(at, 3)
        assert await spent(at, 1) == TurnUsage("recording:7", 100, 20, 120)
        assert await spent(at) == TurnUsage("recording:7", 200, 40, 240)

    async def test_a_run_that_the_runtime_lost_cost_something_too(self, at: Bench) -> None:
        async with at.running():
            run = await first_run(at)
            run.emit(STEP)
            run.say("a")
            await at.rest(0.5)
            at.runtime.script = costing(50)
            del at.runtime.runs[run.id]
            at.runtime.cut_after = 0
            run.say("b")
            assert await closed(at) == [TurnState.DONE]
        assert at.adapter.texts() == ["done"]
        assert await spent(at) == TurnUsage("recording:7", 150, 25, 175)

    async def test_a_restart_in_the_middle_counts_once(self, at: Bench) -> None:
        async with at.running():
            run = await first_run(at)
            run.emit(STEP)
            run.say("a long enough piece of the answer")
            await at.rest(2.0)
        async with at.running():
            run.emit(STEP)
            run.end()
            assert await closed(at) == [TurnState.DONE]
        assert await spent(at) == TurnUsage("recording:7", 200, 40, 240)

    async def test_what_several_asked_together_counts_for_the_last(self, at: Bench) -> None:
        group: dict[str, Any] = {"chat": "g1", "kind": ChatKind.GROUP}
        at.policy = IsolationPolicy(Isolation.CHAT)
        async with at.running():
            await at.adapter.hears("one", person="7", **group)
            await at.until(lambda: at.runtime.runs)
            await at.adapter.hears("two", person="7", **group)
            await at.adapter.hears("three", person="8", **group)
            at.runtime.script = costing(100)
            at.runtime.runs["run-1"].end("error")
            await closed(at, 2)
        assert await spent(at) == TurnUsage("recording:8", 100, 10, 110)
        assert list(at.runtime.runs.values())[-1].request.configurable["user_id"] == "recording:8"


class TestCommand:
    """What `/usage` tells to whom."""

    async def test_nothing_was_counted(self, at: Bench) -> None:
        at.role = Role.MEMBER
        async with at.running():
            text = await usage(at)
        none = "No tokens were used in the last 30 days."
        assert text == f"**Tokens**\n\n**You**\n\n{none}\n\n**This conversation**\n\n{none}"

    async def test_a_person_sees_the_own_and_this_conversations(self, at: Bench) -> None:
        at.role = Role.MEMBER
        at.runtime.script = costing(1000)
        async with at.running():
            await asks(at, chat="c2")
            await asks(at, chat="c3", person="8")
            at.runtime.script = costing(200)
            await asks(at)
            text = await usage(at)
        mine, here = "1,320 (1,200 in, 120 out), answers: 2", "220 (200 in, 20 out), answers: 1"
        assert text == "\n\n".join(
            [
                "**Tokens**",
                "Last answer here: 220 (200 in, 20 out)",
                "**You**",
                "\n".join(f"- {period}: {mine}" for period in ("24 hours", "7 days", "30 days")),
                "**This conversation**",
                "\n".join(f"- {period}: {here}" for period in ("24 hours", "7 days", "30 days")),
            ]
        )

    async def test_periods_go_back_from_now(self, at: Bench) -> None:
        at.role = Role.MEMBER
        async with at.running():
            for number, days in ((1000, 5.0), (200, 2.0), (30, 0.0)):
                at.runtime.script = costing(number)
                await asks(at)
                await at.clock.leap(days * DAY)
            text = await usage(at)
            assert (
                "- 24 hours: 33 (30 in, 3 out), answers: 1\n- 7 days: 253 (230 in, 23 out), answers: 2"
                in text
            )
            assert "- 30 days: 1,353 (1,230 in, 123 out), answers: 3" in text
            await at.clock.leap(29 * DAY)
            text = await usage(at)
            assert "- 24 hours: 0 (0 in, 0 out), answers: 0" in text
            assert "- 30 days: 33 (30 in, 3 out), answers: 1" in text

    @pytest.mark.parametrize("role", [Role.ADMIN, Role.OWNER])
    async def test_admins_see_everybodys_in_private(self, at: Bench, role: Role) -> None:
        at.role = role
        at.runtime.script = costing(1000)
        async with at.running():
            await asks(at, chat="c2", person="8")
            at.runtime.script = costing(200)
            await asks(at)
            text = await usage(at)
        title = "**Everyone**" if role is Role.OWNER else "**Everyone on the accounts you administer**"
        everybody = text.partition(title)[2]
        assert "- 30 days: 1,320 (1,200 in, 120 out), answers: 2" in everybody
        listed = everybody.partition("**Top users of the last 30 days**\n\n")[2]
        assert listed.splitlines() == [
            "- `recording:8 (P8)`: 1,100 (1,000 in, 100 out), answers: 1",
            "- `recording:7 (P7)`: 220 (200 in, 20 out), answers: 1",
        ]

    async def test_a_name_is_nobodys_markdown(self, at: Bench) -> None:
        at.runtime.script = costing(1000)
        name = "`[win](http://x.example)\n@all" + "!" * 60
        async with at.running():
            await asks(at, chat="c2", person="8")
            sender = Sender("8", name)
            origin = Origin("rec", "recording", "c2", ChatKind.PRIVATE, "u99", sender)
            await asks(at, chat="c2", origin=origin)
            text = await usage(at)
        assert f"- `recording:8 ('[win](http://x.example) @all{'!' * 11})`: 2,200" in text

    async def test_an_admin_is_told_when_nobody_used_anything(self, at: Bench) -> None:
        async with at.running():
            text = await usage(at)
        assert text.endswith("**Everyone**\n\nNo tokens were used in the last 30 days.")

    async def test_a_group_reads_nobody_elses(self, at: Bench) -> None:
        at.runtime.script = costing(1000)
        group: dict[str, Any] = {"chat": "g1", "kind": ChatKind.GROUP}
        async with at.running():
            await asks(at, chat="c2", person="8")
            await asks(at, **group)
            text = await usage(at, **group)
            assert "Ask me in a private chat to see everyone's usage." in text
            assert "recording:" not in text
            assert "turns: 2" not in text
            at.role = Role.MEMBER
            text = await usage(at, **group)
            assert "in a private chat" not in text

    async def test_help_explains_it(self, at: Bench) -> None:
        async with at.running():
            await at.adapter.hears("/help usage")
            await closed(at)
        assert "24 hours, 7 days and 30 days" in at.adapter.texts()[0]
