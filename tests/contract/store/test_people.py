"""Roles that are given, strangers who wait, and what is written down; on SQLite and on PostgreSQL."""

from __future__ import annotations

from bot.domain import InboundMessage, PartState
from bot.store import Database
from bot.store.admission_types import Accepted, Verdict
from bot.store.audit import Actor, AuditEvent, count_audit_events, list_audit_entries, record_event
from bot.store.people import (
    MOST_WAITING,
    Pairing,
    RoleGrant,
    approve_pairing_by_command,
    grant_role,
    list_pairing_requests,
    list_role_grants,
    revoke_role,
)
from bot.store.turns import load_turn
from bot.texts import texts_for
from bot.turn import Turn, TurnKind, TurnState
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, message
from tests.harness.open_turns import list_open_control_turns

HOUR = 3600.0
BOSS = Actor("turn:1", "telegram:1", "Boss", "tg", "c1")


async def knock(
    db: Database, code: str, now: float, of: InboundMessage | None = None, chat: str = "c1"
) -> list[Accepted]:
    """A stranger writes, and may get this code."""
    asked = admission(
        of or message(chat=chat),
        Verdict.NOTICE,
        notice=f"your code: {code}",
        pairing=Pairing(code, HOUR),
    )
    return await accept(db, asked, now=now)


async def command(db: Database) -> Turn:
    """An admin's command."""
    [taken] = await accept(db, admission(message("/pair", sender=BEN, chat="c9"), Verdict.COMMAND))
    found = await db.transact(load_turn, taken.turn)
    assert found.turn is not None
    return found.turn


async def said(db: Database, turn: int) -> list[str]:
    return [part.content for part in (await db.transact(load_turn, turn)).parts]


async def test_a_code_is_told_once_and_let_in_once(db: Database) -> None:
    [told] = await knock(db, "AAAA-AAAA", 100.0)
    assert await said(db, told.turn) == ["your code: AAAA-AAAA"]
    assert await knock(db, "BBBB-BBBB", 100.0 + HOUR - 1) == []
    [waiting] = await db.transact(list_pairing_requests, 200.0)
    assert (waiting.code, waiting.account, waiting.person, waiting.name) == (
        "AAAA-AAAA",
        "tg",
        "telegram:7",
        "Ann",
    )
    pairing = await command(db)
    welcome = await db.transact(
        approve_pairing_by_command, "AAAA-AAAA", "member", texts_for("en"), pairing, "done", 200.0
    )
    assert welcome is not None
    opened = await db.transact(load_turn, welcome)
    assert opened.turn is not None
    assert (opened.turn.kind, opened.turn.state) == (TurnKind.NOTICE, TurnState.DELIVERING)
    assert (opened.turn.address.chat, opened.turn.platform) == ("c1", "telegram")
    assert [(part.content, part.state) for part in opened.parts] == [
        (texts_for("en")("pair_welcome"), PartState.PLANNED)
    ]
    assert welcome in await db.transact(list_open_control_turns)
    answered = await db.transact(load_turn, pairing.id)
    assert answered.turn is not None
    assert (answered.turn.state, answered.parts[0].content) == (TurnState.DELIVERING, "done")
    assert await db.transact(list_role_grants) == [RoleGrant("tg:7", "member", "Ann", "telegram:8", 200.0)]
    assert (
        await db.transact(
            approve_pairing_by_command,
            "AAAA-AAAA",
            "owner",
            texts_for("en"),
            await command(db),
            "done",
            201.0,
        )
        is None
    )
    assert [one.role for one in await db.transact(list_role_grants)] == ["member"]
    assert [one.deed for one in await db.transact(list_audit_entries)] == [
        AuditEvent("give", "tg:7", "member")
    ]


async def test_a_code_expires(db: Database) -> None:
    await knock(db, "AAAA-AAAA", 100.0)
    late = 100.0 + HOUR
    assert await db.transact(list_pairing_requests, late) == []
    assert (
        await db.transact(
            approve_pairing_by_command,
            "AAAA-AAAA",
            "member",
            texts_for("en"),
            await command(db),
            "done",
            late,
        )
        is None
    )
    assert len(await knock(db, "BBBB-BBBB", late)) == 1


async def test_an_event_that_comes_again_opens_no_new_code(db: Database) -> None:
    wrote = message()
    await knock(db, "AAAA-AAAA", 100.0, wrote)
    assert await knock(db, "BBBB-BBBB", 100.0 + 2 * HOUR, wrote) == []
    assert await db.transact(list_pairing_requests, 100.0 + 2 * HOUR) == []


async def test_few_wait_on_an_account(db: Database) -> None:
    for number in range(MOST_WAITING):
        who = message(sender=type(ANN)(f"{100 + number}"), chat=f"p{number}")
        assert len(await knock(db, f"CODE-{number}", 100.0, who)) == 1
    [told] = await knock(db, "MORE-MORE", 101.0)
    assert await said(db, told.turn) == ["too many"]
    assert await knock(db, "MORE-MORE", 102.0) == []
    assert len(await db.transact(list_pairing_requests, 103.0)) == MOST_WAITING
    assert len(await knock(db, "LATE-LATE", 101.0 + HOUR)) == 1


async def test_a_role_takes_the_place_of_another_and_keeps_the_name(db: Database) -> None:
    await db.transact(grant_role, RoleGrant("telegram:7", "member", "Ann", "", 0.0), BOSS, 100.0)
    other = Actor("turn:2", "web:owner", "", "web", "")
    await db.transact(grant_role, RoleGrant("telegram:7", "admin", "", "", 0.0), other, 101.0)
    assert await db.transact(list_role_grants) == [
        RoleGrant("telegram:7", "admin", "Ann", "web:owner", 101.0)
    ]
    third = Actor("turn:3", "web:owner", "", "web", "")
    assert await db.transact(revoke_role, "telegram:7", third, 102.0)
    assert not await db.transact(revoke_role, "telegram:7", third, 103.0)
    assert await db.transact(list_role_grants) == []
    assert [(one.person, one.deed) for one in await db.transact(list_audit_entries)] == [
        ("web:owner", AuditEvent("take", "telegram:7")),
        ("web:owner", AuditEvent("give", "telegram:7", "admin")),
        ("telegram:1", AuditEvent("give", "telegram:7", "member")),
    ]


async def test_a_deed_is_written_down_once(db: Database) -> None:
    for detail in ("first", "again"):
        await db.transact(record_event, BOSS, AuditEvent("command", "/mcp", detail), 100.0)
    [found] = await db.transact(list_audit_entries)
    assert (found.at, found.person, found.name, found.account, found.chat) == (
        100.0,
        "telegram:1",
        "Boss",
        "tg",
        "c1",
    )
    assert found.deed == AuditEvent("command", "/mcp", "first")


async def test_deeds_by_and_to_somebody_page_by_page(db: Database) -> None:
    for number in range(6):
        person = f"telegram:{number % 2}"
        actor = Actor(f"k{number}", person, "", "tg", "c1")
        await db.transact(record_event, actor, AuditEvent("give", f"telegram:{number}"), 100.0 + number)
    assert [one.deed.subject[-1] for one in await db.transact(list_audit_entries, limit=4)] == [
        "5",
        "4",
        "3",
        "2",
    ]
    rest = await db.transact(
        list_audit_entries, before=(await db.transact(list_audit_entries, limit=4))[-1].id
    )
    assert [one.deed.subject[-1] for one in rest] == ["1", "0"]
    assert [one.deed.subject[-1] for one in await db.transact(list_audit_entries, person="telegram:1")] == [
        "5",
        "3",
        "1",
    ]
    assert [one.deed.subject[-1] for one in await db.transact(list_audit_entries, person="telegram:4")] == [
        "4"
    ]
    assert await db.transact(count_audit_events, "telegram:1", "give", 102.0) == 2
    assert await db.transact(count_audit_events, "telegram:1", "take", 0.0) == 0


async def test_what_people_belong_to_is_kept_with_their_message(db: Database) -> None:
    who = type(ANN)("7", "Ann", "ann", belongs=("team:T1", "role:5"), guest=True)
    [taken] = await accept(db, admission(message(sender=who)))
    found = await db.transact(load_turn, taken.turn)
    assert found.turn is not None
    assert found.turn.messages[0].sender == who
