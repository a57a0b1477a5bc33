"""A group gets another id: everything that names it follows, on SQLite and on PostgreSQL."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain import ChatKind, Isolation, IsolationPolicy
from bot.store import BotStore, tool_grants
from bot.store.admission_types import Accepted
from bot.store.audit import Actor
from bot.store.budgets import Budget, Limit, Of, What
from bot.store.people import Given
from bot.store.tool_grants import Remembered
from tests.contract.store.inbound_messages import accept, admission, message
from tests.contract.store.test_schedules import ONE

ACTOR = Actor("turn:1", "telegram:7", "Ann", "tg", "-1")
WHOLE = IsolationPolicy(Isolation.CHAT)
OLD, NEW = "-1", "-100"


async def hears(store: BotStore, chat: str = OLD, **more: object) -> Accepted:
    """Somebody writes in a group that is one conversation."""
    wanted = admission(message(chat=chat, kind=ChatKind.GROUP), policy=WHOLE, **more)
    [taken] = await accept(store, wanted)
    return taken


async def give(store: BotStore, entry: str, role: str) -> None:
    await store.give(Given(entry, role, "", "", 0.0), replace(ACTOR, key=f"give {entry}"), 0.0)


async def roles(store: BotStore) -> dict[str, str]:
    return {one.entry: one.role for one in await store.given()}


async def test_roles_follow_by_account_and_by_platform(store: BotStore) -> None:
    await hears(store)
    for entry, role in (("tg:-1", "member"), ("telegram:-1", "blocked")):
        await give(store, entry, role)
    for entry in ("tg:-10", "b:-1"):
        await give(store, entry, "member")
    await store.migrate_chat("tg", OLD, NEW)
    expected = {"tg:-100": "member", "telegram:-100": "blocked", "tg:-10": "member", "b:-1": "member"}
    assert await roles(store) == expected
    await store.migrate_chat("tg", OLD, NEW)
    assert await roles(store) == expected


@pytest.mark.parametrize(
    ("before", "there", "after"),
    [("blocked", "member", "blocked"), ("member", "blocked", "blocked"), ("member", "member", "member")],
)
async def test_who_is_shut_out_stays_so_where_the_new_chat_has_a_role(
    store: BotStore, before: str, there: str, after: str
) -> None:
    await hears(store)
    await give(store, "tg:-1", before)
    await give(store, "tg:-100", there)
    await store.migrate_chat("tg", OLD, NEW)
    assert await roles(store) == {"tg:-100": after}


async def test_budgets_follow_with_what_is_used_of_them(store: BotStore) -> None:
    limit = Limit(Of.CHAT, What.MESSAGES, 5, "telegram:7", "tg", OLD, "full")
    moved = replace(limit, chat=NEW)
    for chat, held in ((OLD, limit), (OLD, limit), (NEW, moved)):
        await hears(store, chat, budgets=(held,))
    await store.budgets.give(Budget("tg:-1", 5, None), ACTOR, 0.0)
    await store.migrate_chat("tg", OLD, NEW)
    assert [(one.entry, one.messages) for one in await store.budgets.listed()] == [("tg:-100", 5)]
    [used] = await store.budgets.used([moved], 100.0)
    assert used.used == 3


async def test_what_the_new_chat_has_set_counts_and_the_rest_follows(store: BotStore) -> None:
    await store.record.switch("tg", OLD, 7, ACTOR, 50.0)
    await store.schedules.set_zone("tg", OLD, "Asia/Tokyo")
    await store.schedules.set_zone("tg", NEW, "Europe/Berlin")
    await store.migrate_chat("tg", OLD, NEW)
    assert await store.schedules.zone("tg", NEW) == "Europe/Berlin"
    assert await store.schedules.zone("tg", OLD) == ""
    [recorded] = await store.record.chats()
    assert (recorded.chat, recorded.days, recorded.since) == (NEW, 7, 50.0)


async def test_what_hangs_on_a_conversation_goes_to_the_one_that_the_new_chat_has(store: BotStore) -> None:
    old, new = await hears(store), await hears(store, NEW)
    here, there = old.conversation, new.conversation
    for conversation, tool in ((here, "bash"), (here, "ls"), (there, "ls")):
        remembered = Remembered(tool, "here", "always")
        await store.database.run(tool_grants.given, remembered, "here", conversation, ACTOR, 0.0)
    made = replace(ONE, chat=OLD, conversation=old.conversation, made_in=old.conversation)
    number = await store.schedules.add(made, None, 0.0)
    await store.migrate_chat("tg", OLD, NEW)
    one = await store.schedules.get(number)
    assert one is not None
    assert (one.chat, one.conversation, one.made_in) == (NEW, new.conversation, new.conversation)
    permitted = await store.permissions.listed("tg", new.conversation)
    assert sorted(found.tool for found in permitted) == ["bash", "ls"]
