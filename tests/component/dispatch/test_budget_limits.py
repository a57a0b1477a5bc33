"""Budgets: messages an hour and tokens a day, for a person, a group, an account; who is over hears when."""

from __future__ import annotations

import re

import pytest

from bot.config.models import BudgetLimits, BudgetsConfig
from bot.domain import ChatKind
from bot.runtime.interface import TokenUsage, UsageReported
from bot.store.audit import Actor
from bot.store.people import RoleGrant, grant_role
from bot.store.read_models import list_turns
from bot.store.turns import save_turn
from bot.store.usage import TurnUsage
from roebot_testing.runtime import ScriptedRun, answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_digest_command import later, scheduled
from tests.component.dispatch.test_thread_commands import says

HOUR, DAY = 3600.0, 86_400.0


@pytest.fixture
def team(at: Bench) -> Bench:
    """Somebody is a member (7), somebody an admin (9)."""
    at.role, at.runtime.script = None, answer_with("ok")
    return at


async def told(at: Bench, text: str, person: str = "7", **more: object) -> str:
    """What somebody is answered in a chat of their own, or where else they write."""
    chat = str(more.pop("chat", f"private-{person}"))
    before = len(at.adapter.texts(chat))
    await at.adapter.hears(text, chat=chat, person=person, **more)
    await at.until(lambda: len(at.adapter.texts(chat)) > before)
    await at.rest(1.2)
    return at.adapter.texts(chat)[-1]


async def test_so_many_messages_an_hour(team: Bench) -> None:
    team.budgets = BudgetsConfig(person=BudgetLimits(messages_per_hour=2))
    async with team.running():
        assert [await told(team, "one"), await told(team, "two")] == ["ok", "ok"]
        refused = await told(team, "three")
        assert refused.startswith("You've reached your hourly message limit (2).")
        minutes = int(re.search(r"in (\d+) min", refused)[1])  # type: ignore[index]
        assert await told(team, "mine", "8") == "ok"
        assert "2 of 2 messages this hour (you)" in await told(team, "/usage")
        await team.clock.advance(minutes * 60.0)
        assert await told(team, "four") == "ok"
    assert len(team.runtime.runs) == 4


async def test_a_restart_forgets_nothing(team: Bench) -> None:
    team.budgets = BudgetsConfig(person=BudgetLimits(messages_per_hour=1))
    async with team.running():
        assert await told(team, "one") == "ok"
    async with team.running():
        assert "You've reached your hourly message limit" in await told(team, "two")


async def test_so_many_tokens_a_day(team: Bench) -> None:
    team.budgets = BudgetsConfig(person=BudgetLimits(tokens_per_day=150))
    async with team.running():
        for number in range(2):
            await team.adapter.hears(f"{number}", chat="private-7")
            await team.rest(1.5)
            turn = (await team.db.transact(list_turns, 1))[0]
            spent = TurnUsage("recording:7", 50, 50, 100)
            await team.db.transact(save_turn, turn.id, [], team.clock.now(), state=turn.state, spent=spent)
        refused = await told(team, "more")
        assert refused.startswith("Your daily token limit (150) is used up.")
        assert "200 of 150 tokens today (you)" in await told(team, "/usage")
        await team.clock.leap(DAY)
        assert await told(team, "tomorrow") == "ok"


async def test_a_group_has_its_own(team: Bench) -> None:
    team.budgets = BudgetsConfig(chat=BudgetLimits(messages_per_hour=2))
    group = {"chat": "group", "kind": ChatKind.GROUP}
    async with team.running():
        assert await told(team, "one", "7", **group) == "ok"
        assert await told(team, "two", "8", **group) == "ok"
        assert "This chat has reached its hourly message limit (2)" in await told(team, "three", "7", **group)
        assert await told(team, "in private", "7") == "ok"


async def test_the_whole_account_has_its_own(team: Bench) -> None:
    team.budgets = BudgetsConfig(account=BudgetLimits(messages_per_hour=1))
    async with team.running():
        assert await told(team, "one", "7") == "ok"
        assert "I've reached my hourly message limit" in await told(team, "two", "8")


async def test_admins_give_budgets_in_the_chat(team: Bench) -> None:
    async with team.running():
        assert "No custom limits are set" in await told(team, "/budget", "9")
        assert await told(team, "/budget 7 1/hour", "9") == (
            "`recording:7`: message limit 1/hour, default token limit"
        )
        assert await told(team, "one") == "ok"
        assert "You've reached your hourly message limit" in await told(team, "two")
        assert await told(team, "/budget recording:7 off", "9") == (
            "`recording:7`: no message limit, no token limit"
        )
        assert await told(team, "three") == "ok"
        assert "token limit 100,000/day" in await told(team, "/budget 7 100k tokens", "9")
        assert (
            "`recording:7`: no message limit, token limit 100,000/day (set by `recording:9`)"
            in await told(team, "/budget", "9")
        )
        assert "default message limit, default token limit" in await told(team, "/budget 7 default", "9")
        assert "No custom limits are set" in await told(team, "/budget", "9")
        assert "`lots` is not a valid limit" in await told(team, "/budget 7 lots", "9")
        assert await told(team, "/budget 7 1/hour") == "Only admins can use `/budget`."


@pytest.mark.parametrize("who", ["recording:team:T1", "rec:role:5"])
async def test_many_people_have_no_budget_together(team: Bench, who: str) -> None:
    async with team.running():
        told_ = f"You can only set a limit for one person or one group, but `{who}` matches several people."
        assert await told(team, f"/budget {who} 1/hour", "9") == told_
        assert "No custom limits are set" in await told(team, "/budget", "9")


@pytest.mark.parametrize("entry", ["rec:1", "recording:1"])
@pytest.mark.parametrize("who", ["1", "rec:1", "recording:1"])
async def test_who_was_made_an_owner_gets_none(team: Bench, entry: str, who: str) -> None:
    one = RoleGrant(entry, "owner", "", "web:owner", 0.0)
    await team.db.transact(grant_role, one, Actor("test", "web:owner", "", "web", ""), 0.0)
    async with team.running():
        assert "is an owner, and limits don't apply to owners" in await told(
            team, f"/budget {who} 1/hour", "9"
        )
        assert "No custom limits are set" in await told(team, "/budget", "9")


async def test_the_longest_wait_is_told(team: Bench) -> None:
    team.budgets = BudgetsConfig(person=BudgetLimits(messages_per_hour=1, tokens_per_day=100))
    async with team.running():
        assert await told(team, "one") == "ok"
        turn = (await team.db.transact(list_turns, 1))[0]
        spent = TurnUsage("recording:7", 50, 50, 100)
        await team.db.transact(save_turn, turn.id, [], team.clock.now(), state=turn.state, spent=spent)
        assert (await told(team, "two")).startswith("Your daily token limit (100) is used up.")


async def test_commands_clicks_and_decisions_cost_nothing(team: Bench) -> None:
    team.budgets = BudgetsConfig(person=BudgetLimits(messages_per_hour=1))
    async with team.running():
        for _ in range(3):
            assert "nothing" in (await told(team, "/stop")).lower()
        assert await told(team, "one") == "ok"


async def test_owners_are_held_to_nothing(team: Bench) -> None:
    team.budgets = BudgetsConfig(person=BudgetLimits(messages_per_hour=1))
    one = RoleGrant("recording:1", "owner", "", "web:owner", 0.0)
    await team.db.transact(grant_role, one, Actor("test", "web:owner", "", "web", ""), 0.0)
    async with team.running():
        assert [await told(team, f"{number}", "1") for number in range(3)] == ["ok"] * 3
        assert "Limits:" not in await told(team, "/usage", "1")


def costly(run: ScriptedRun) -> None:
    """A script whose answer costs more than is left."""
    run.say("nothing new")
    run.emit(UsageReported(TokenUsage(100, 60, 160)))
    run.end()


async def test_what_is_scheduled_keeps_to_budgets_too(team: Bench) -> None:
    team.budgets, team.scheduling = BudgetsConfig(person=BudgetLimits(tokens_per_day=150)), True
    team.runtime.script = costly
    async with team.running():
        await scheduled(team, "every 2 hours What is new?")
        await scheduled(team, "every 2 hours say tick")
        await later(team, 7 * HOUR, step=60.0)
        assert len(team.runtime.runs) == 1
        said = team.adapter.texts()
        assert said.count("tick") == 4
        [told] = [text for text in said if "was skipped" in text]
        assert told.startswith(
            "⏰ Schedule 1 (`every 2 hours`) was skipped: its creator's daily token limit (150)"
        )
        assert "was skipped: its creator's daily token limit" in await says(team, "/digest now 1")
        assert (await says(team, "/digest show 1")).count("skipped: a limit was reached") == 3
        await later(team, DAY, step=600.0)
        assert len(team.runtime.runs) == 2
