"""A group gets another id: everything that names it follows, on SQLite and on PostgreSQL."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain import ChatKind, Isolation, IsolationPolicy
from bot.features.record.record_store import list_recorded_chats, set_recording
from bot.features.schedules.schedule_store import add_schedule, load_schedule
from bot.features.usage.budget_checks import (
    BudgetScope,
    BudgetUnit,
    EntryBudget,
    SenderLimits,
    UsageLimit,
    list_budgets,
    measure_limits,
    set_budget,
)
from bot.store import Database
from bot.store.admission_types import Accepted
from bot.store.approval_rules import ApprovalRules
from bot.store.audit import Actor
from bot.store.chat_migration import migrate_chat
from bot.store.chats import load_time_zone, set_time_zone
from bot.store.languages import list_languages, set_language
from bot.store.people import RoleGrant, grant_role, list_role_grants
from bot.store.tool_grants import GrantOffer, list_tool_grants, record_tool_grant
from tests.contract.store.inbound_messages import accept, admission, message
from tests.contract.store.test_schedules import ONE

ACTOR = Actor("turn:1", "telegram:7", "Ann", "tg", "-1")
WHOLE = IsolationPolicy(Isolation.CHAT)
OLD, NEW = "-1", "-100"


async def hears(db: Database, chat: str = OLD, **more: object) -> Accepted:
    """Somebody writes in a group that is one conversation."""
    wanted = admission(message(chat=chat, kind=ChatKind.GROUP), policy=WHOLE, **more)
    [taken] = await accept(db, wanted)
    return taken


async def give(db: Database, entry: str, role: str) -> None:
    await db.transact(
        grant_role, RoleGrant(entry, role, "", "", 0.0), replace(ACTOR, key=f"give {entry}"), 0.0
    )


async def roles(db: Database) -> dict[str, str]:
    return {one.entry: one.role for one in await db.transact(list_role_grants)}


async def test_roles_follow_by_account_and_by_platform(db: Database) -> None:
    await hears(db)
    for entry, role in (("tg:-1", "member"), ("telegram:-1", "blocked")):
        await give(db, entry, role)
    for entry in ("tg:-10", "b:-1"):
        await give(db, entry, "member")
    await db.transact(migrate_chat, "tg", OLD, NEW)
    expected = {"tg:-100": "member", "telegram:-100": "blocked", "tg:-10": "member", "b:-1": "member"}
    assert await roles(db) == expected
    await db.transact(migrate_chat, "tg", OLD, NEW)
    assert await roles(db) == expected


@pytest.mark.parametrize(
    ("before", "there", "after"),
    [("blocked", "member", "blocked"), ("member", "blocked", "blocked"), ("member", "member", "member")],
)
async def test_who_is_shut_out_stays_so_where_the_new_chat_has_a_role(
    db: Database, before: str, there: str, after: str
) -> None:
    await hears(db)
    await give(db, "tg:-1", before)
    await give(db, "tg:-100", there)
    await db.transact(migrate_chat, "tg", OLD, NEW)
    assert await roles(db) == {"tg:-100": after}


async def test_budgets_follow_with_what_is_used_of_them(db: Database) -> None:
    limit = UsageLimit(BudgetScope.CHAT, BudgetUnit.MESSAGES, 5, "telegram:7", "tg", OLD, "full")
    moved = replace(limit, chat=NEW)
    for chat, held in ((OLD, limit), (OLD, limit), (NEW, moved)):
        await hears(db, chat, budgets=SenderLimits((held,)))
    await db.transact(set_budget, EntryBudget("tg:-1", 5, None), ACTOR, 0.0)
    await db.transact(set_language, "tg:-1", "zh")
    await db.transact(migrate_chat, "tg", OLD, NEW)
    assert [(one.entry, one.messages) for one in await db.transact(list_budgets)] == [("tg:-100", 5)]
    assert await db.transact(list_languages) == {"tg:-100": "zh"}
    [used] = await db.transact(measure_limits, [moved], 100.0)
    assert used.used == 3


async def test_what_the_new_chat_has_set_counts_and_the_rest_follows(db: Database) -> None:
    await db.transact(set_recording, "tg", OLD, 7, ACTOR, 50.0)
    await db.transact(set_time_zone, "tg", OLD, "Asia/Tokyo")
    await db.transact(set_time_zone, "tg", NEW, "Europe/Berlin")
    await db.transact(migrate_chat, "tg", OLD, NEW)
    assert await db.transact(load_time_zone, "tg", NEW) == "Europe/Berlin"
    assert await db.transact(load_time_zone, "tg", OLD) == ""
    [recorded] = await db.transact(list_recorded_chats)
    assert (recorded.chat, recorded.days, recorded.since) == (NEW, 7, 50.0)


async def test_what_hangs_on_a_conversation_goes_to_the_one_that_the_new_chat_has(db: Database) -> None:
    old, new = await hears(db), await hears(db, NEW)
    here, there = old.conversation, new.conversation
    for conversation, tool in ((here, "bash"), (here, "ls"), (there, "ls")):
        remembered = GrantOffer(tool, "here", "always")
        await db.transact(
            record_tool_grant,
            remembered,
            "here",
            conversation,
            ACTOR,
            0.0,
            ApprovalRules(),
            may_decide_own=True,
        )
    made = replace(ONE, chat=OLD, conversation=old.conversation, made_in=old.conversation)
    number = await db.transact(add_schedule, made, None, 0.0)
    await db.transact(migrate_chat, "tg", OLD, NEW)
    one = await db.transact(load_schedule, number)
    assert one is not None
    assert (one.chat, one.conversation, one.made_in) == (NEW, new.conversation, new.conversation)
    permitted = await db.transact(list_tool_grants, "tg", new.conversation, 1.0)
    assert sorted(found.tool for found in permitted) == ["bash", "ls"]
