"""`/compact`: who may use it and when, what it says, and that it happens once."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bot.access import Role
from bot.app.features import installed_commands
from bot.commands.registry import Parsed
from bot.config.models import BudgetLimits, BudgetsConfig
from bot.runtime.interface import CompactionOutcome, CompactionRequest, CompactionState, TokenUsage
from bot.store.read_models import list_turns
from bot.store.usage import TurnUsage
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_thread_commands import says, thread_now

DONE = CompactionOutcome(CompactionState.DONE, 12, 24_300, 3_100, TokenUsage(900, 90, 990))
TOLD = (
    "I summarized 12 earlier messages of this agent thread: about 3,100 tokens instead of 24,300. "
    "The latest messages are unchanged."
)


def outcome(state: CompactionState, **more: object) -> CompactionOutcome:
    return CompactionOutcome(state, **more)  # type: ignore[arg-type]


@pytest.fixture
def at(at: Bench) -> Bench:
    """A bench whose runtime summarizes."""
    at.runtime.script = answer_with("ok")
    at.runtime.compacting = lambda _request: DONE
    return at


async def test_it_says_what_it_saved_and_names_what_to_keep(at: Bench) -> None:
    async with at.running():
        await says(at, "hello")
        assert await says(at, "/compact keep the `numbers` {x}") == TOLD
        [asked] = at.runtime.compaction_requests
        assert asked.focus == "keep the `numbers` {x}"
        assert asked.thread_id == await thread_now(at)
        assert asked.configurable["user_id"] == "recording:7"
        assert asked.configurable["chat"] == "c1"
        assert await says(at, "/compact") == TOLD
        assert at.runtime.compaction_requests[-1].focus == ""
    assert len({one.key for one in at.runtime.compaction_requests}) == 2


async def test_its_tokens_count_for_who_asked(at: Bench) -> None:
    async with at.running():
        await says(at, "/compact")
        turns = await at.db.transact(list_turns, 1)
        assert turns[0].spent == TurnUsage("recording:7", 900, 90, 990)
        assert "990" in await says(at, "/usage")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (
            outcome(CompactionState.SHORT, before=120, after=120),
            "There is nothing to compact: this agent thread takes about 120 tokens",
        ),
        (outcome(CompactionState.QUESTION), "I'm still waiting for an answer to my question."),
        (
            outcome(CompactionState.UNAVAILABLE),
            "This agent runtime can't summarize an agent thread on request.",
        ),
        (
            outcome(CompactionState.FAILED, problem="The model failed."),
            "⚠️ I couldn't summarize this agent thread, so it is unchanged. The model failed.",
        ),
    ],
)
async def test_it_says_why_nothing_changed(at: Bench, found: CompactionOutcome, told: str) -> None:
    at.runtime.compacting = lambda _request: found
    async with at.running():
        assert (await says(at, "/compact")).startswith(told)


async def test_in_chinese(at: Bench) -> None:
    at.locale = "zh"
    async with at.running():
        told = await says(at, "/compact 保留数字")
        assert (
            told == "已将本对话较早的 12 条消息压缩成摘要：约 24,300 Token 减至 3,100，最近的消息保持原样。"
        )


async def test_while_an_answer_is_in_progress_it_starts_nothing(at: Bench) -> None:
    at.runtime.script = None
    async with at.running():
        await at.adapter.hears("hello")
        await at.until(lambda: at.runtime.runs)
        assert (await says(at, "/compact")).startswith("An answer is still in progress.")
        assert at.runtime.compactions == {}
        [run] = at.runtime.runs.values()
        run.say("done")
        run.end()
        await at.until(lambda: "done" in at.adapter.texts())
        assert await says(at, "/compact") == TOLD


async def test_a_spent_limit_refuses_it(at: Bench) -> None:
    at.role = None
    at.budgets = BudgetsConfig(person=BudgetLimits(tokens_per_day=1_000))
    async with at.running():
        assert await says(at, "/compact") == TOLD
        assert await says(at, "/compact") == TOLD
        assert "limit" in await says(at, "/compact")
    assert len(at.runtime.compactions) == 2


async def test_it_counts_as_a_message(at: Bench) -> None:
    at.role = None
    at.budgets = BudgetsConfig(person=BudgetLimits(messages_per_hour=2))
    async with at.running():
        await says(at, "hello")
        assert await says(at, "/compact") == TOLD
        assert "limit" in await says(at, "/compact")
    assert len(at.runtime.compactions) == 1


async def test_a_single_message_is_told_as_one(at: Bench) -> None:
    at.runtime.compacting = lambda _request: replace(DONE, messages=1)
    async with at.running():
        assert (await says(at, "/compact")).startswith("I summarized 1 earlier message of this")


async def test_who_is_blocked_gets_no_summary(at: Bench) -> None:
    at.role = Role.BLOCKED
    async with at.running():
        await at.adapter.hears("/compact")
        await at.rest(1.0)
    assert at.runtime.compaction_requests == []


async def test_what_to_keep_is_bounded(at: Bench) -> None:
    async with at.running():
        assert "at most 500 characters" in await says(at, f"/compact {'x' * 501}")
    assert at.runtime.compaction_requests == []


def test_after_a_mention_a_sentence_is_not_the_command() -> None:
    commands = installed_commands()
    assert commands.parse("compact this table", mentioned=True) is None
    assert commands.parse("compact", mentioned=True) == Parsed("compact", ())
    assert commands.parse("/compact this", mentioned=False) == Parsed("compact", ("this",))


async def test_a_service_that_stops_meanwhile_reports_the_same_summary_later(at: Bench) -> None:
    at.runtime.compaction_gate = asyncio.Event()
    made: list[CompactionRequest] = []

    def compact(request: CompactionRequest) -> CompactionOutcome:
        made.append(request)
        return DONE

    at.runtime.compacting = compact
    async with at.running():
        await says(at, "hello")
        await at.adapter.hears("/compact")
        await at.until(lambda: made)
    assert at.adapter.texts() == ["ok"]
    at.runtime.compaction_gate.set()
    async with at.running():
        # Another answer is in progress by then, which does not make the summary undone.
        at.runtime.script = None
        await at.adapter.hears("more")
        await at.until(lambda: TOLD in at.adapter.texts())
        await at.rest()
    assert len(made) == 1
    assert at.adapter.texts().count(TOLD) == 1


async def test_a_runtime_that_is_away_for_a_while_is_waited_for(at: Bench) -> None:
    async with at.running():
        await says(at, "hello")
        at.runtime.down = True
        await at.adapter.hears("/compact")
        await at.rest(5.0)
        assert at.adapter.texts() == ["ok"]
        at.runtime.down = False
        await at.until(lambda: TOLD in at.adapter.texts())
        at.runtime.down = True
        await at.adapter.hears("/compact")
        await at.until(lambda: len(at.adapter.texts()) == 3, step=1.0, most=200.0)
    assert at.adapter.texts()[-1].startswith("`/compact` failed")


def typed(at: Bench) -> int:
    """How often typing was shown."""
    return sum(call[0] == "typing" for call in at.adapter.calls)


async def test_typing_is_shown_while_it_works(at: Bench) -> None:
    at.runtime.compaction_gate = asyncio.Event()
    async with at.running():
        await at.adapter.hears("/compact")
        await at.until(lambda: at.runtime.compaction_requests)
        before = typed(at)
        await at.rest(11.0)
        assert typed(at) >= before + 2
        at.runtime.compaction_gate.set()
        await at.until(lambda: TOLD in at.adapter.texts())
        after = typed(at)
        await at.rest(10.0)
        assert typed(at) == after
