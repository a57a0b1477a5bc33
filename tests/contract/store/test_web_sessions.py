"""Codes by which people sign in at the page, sessions, and whose a conversation is; on both databases."""

from __future__ import annotations

from bot.domain import ChatKind, Sender
from bot.store import Database
from bot.store.admission_types import Verdict
from bot.store.audit import list_audit_entries
from bot.store.conversations import list_conversations
from bot.store.turns import load_turn
from bot.store.web_sessions import (
    SecretHash,
    create_sign_in_code,
    end_session,
    find_owned_conversations,
    load_session,
    redeem_sign_in_code,
)
from bot.turn import Turn
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, message

LASTS = 600.0


async def asked(db: Database, sender: Sender = ANN, chat: str = "c1") -> Turn:
    """Somebody's `/page`."""
    [taken] = await accept(db, admission(message("/page", sender=sender, chat=chat), Verdict.COMMAND))
    found = await db.transact(load_turn, taken.turn)
    assert found.turn is not None
    return found.turn


async def test_a_code_is_good_once(db: Database) -> None:
    await db.transact(create_sign_in_code, SecretHash("code", 100.0 + LASTS), await asked(db), 100.0)
    assert await db.transact(redeem_sign_in_code, "other", SecretHash("s0", 900.0), "k0", 101.0) is None
    ann = await db.transact(redeem_sign_in_code, "code", SecretHash("s1", 900.0), "k1", 101.0)
    assert ann == Sender("telegram:7", "Ann", "ann", account="tg")
    assert await db.transact(redeem_sign_in_code, "code", SecretHash("s2", 900.0), "k2", 101.0) is None
    assert await db.transact(load_session, "s1", 899.0) == ann
    assert [await db.transact(load_session, key, 101.0) for key in ("s0", "s2", "code")] == [None] * 3
    deeds = [(one.person, one.deed.action, one.chat) for one in await db.transact(list_audit_entries)]
    assert deeds == [("telegram:7", "signed in", "c1"), ("telegram:7", "page link", "c1")]


async def test_codes_and_sessions_expire_and_a_new_code_ends_the_former(db: Database) -> None:
    command = await asked(db)
    await db.transact(create_sign_in_code, SecretHash("late", 100.0 + LASTS), command, 100.0)
    assert await db.transact(redeem_sign_in_code, "late", SecretHash("s0", 9e9), "k0", 100.0 + LASTS) is None
    await db.transact(create_sign_in_code, SecretHash("first", 800.0 + LASTS), command, 800.0)
    await db.transact(create_sign_in_code, SecretHash("second", 800.0 + LASTS), command, 800.0)
    await db.transact(
        create_sign_in_code, SecretHash("bens", 800.0 + LASTS), await asked(db, BEN, "c2"), 800.0
    )
    assert await db.transact(redeem_sign_in_code, "first", SecretHash("s1", 2000.0), "k1", 801.0) is None
    assert await db.transact(redeem_sign_in_code, "second", SecretHash("s1", 2000.0), "k1", 801.0) is not None
    assert await db.transact(redeem_sign_in_code, "bens", SecretHash("s2", 2000.0), "k2", 801.0) is not None
    assert await db.transact(load_session, "s1", 2000.0) is None
    await db.transact(end_session, "s1")
    assert await db.transact(load_session, "s1", 900.0) is None
    assert await db.transact(load_session, "s2", 900.0) is not None


async def test_a_private_conversation_is_somebodys_a_groups_is_nobodys(db: Database) -> None:
    linked = Sender("slack:U1", "Eve", account="slack-eu")
    group = message(chat="g1", kind=ChatKind.GROUP, topic="t1")
    await accept(db, *(admission(one) for one in (message(), group, message(sender=linked, chat="c3"))))
    found = {one.key.chat: one.owner for one in await db.transact(list_conversations, "tg")}
    assert found == {"c1": "telegram:7", "g1": "", "c3": "slack:U1"}
    own = await db.transact(list_conversations, "tg", owners=["telegram:7"])
    assert [one.key.chat for one in own] == ["c1"]
    [threaded] = own
    assert await db.transact(find_owned_conversations, threaded.thread_id, ["telegram:7"]) == [
        ("tg", "telegram")
    ]
    assert await db.transact(find_owned_conversations, threaded.thread_id, ["slack:U1"]) == []
    await accept(db, admission(message("/new"), Verdict.COMMAND, new_thread=True))
    [now] = await db.transact(list_conversations, "tg", owners=["telegram:7"])
    assert now.thread_id != threaded.thread_id
    assert await db.transact(find_owned_conversations, threaded.thread_id, ["telegram:7"]) == [
        ("tg", "telegram")
    ]
