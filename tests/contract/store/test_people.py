"""Roles that are given, strangers who wait, and what is written down; on SQLite and on PostgreSQL."""

from __future__ import annotations

from bot.domain import InboundMessage, PartState, Turn, TurnKind, TurnState
from bot.store import BotStore
from bot.store.admission_types import Accepted, Verdict
from bot.store.audit import Actor, Deed
from bot.store.people import MOST_WAITING, Given, Pairing
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, message

HOUR = 3600.0
BOSS = Actor("turn:1", "telegram:1", "Boss", "tg", "c1")


async def knock(
    store: BotStore, code: str, now: float, of: InboundMessage | None = None, chat: str = "c1"
) -> list[Accepted]:
    """A stranger writes, and may get this code."""
    asked = admission(
        of or message(chat=chat),
        Verdict.NOTICE,
        notice=f"your code: {code}",
        pairing=Pairing(code, HOUR),
        crowded_notice="too many",
    )
    return await accept(store, asked, now=now)


async def command(store: BotStore) -> Turn:
    """An admin's command."""
    [taken] = await accept(store, admission(message("/pair", sender=BEN, chat="c9"), Verdict.COMMAND))
    found = await store.load(taken.turn)
    assert found.turn is not None
    return found.turn


async def said(store: BotStore, turn: int) -> list[str]:
    return [part.content for part in (await store.load(turn)).parts]


async def test_a_code_is_told_once_and_let_in_once(store: BotStore) -> None:
    [told] = await knock(store, "AAAA-AAAA", 100.0)
    assert await said(store, told.turn) == ["your code: AAAA-AAAA"]
    assert await knock(store, "BBBB-BBBB", 100.0 + HOUR - 1) == []
    [waiting] = await store.waiting(200.0)
    assert (waiting.code, waiting.account, waiting.person, waiting.name) == (
        "AAAA-AAAA",
        "tg",
        "telegram:7",
        "Ann",
    )
    pairing = await command(store)
    welcome = await store.admit("AAAA-AAAA", "member", "welcome", pairing, "done", 200.0)
    assert welcome is not None
    opened = await store.load(welcome)
    assert opened.turn is not None
    assert (opened.turn.kind, opened.turn.state) == (TurnKind.NOTICE, TurnState.DELIVERING)
    assert (opened.turn.address.chat, opened.turn.platform) == ("c1", "telegram")
    assert [(part.content, part.state) for part in opened.parts] == [("welcome", PartState.PLANNED)]
    assert welcome in await store.open_control()
    answered = await store.load(pairing.id)
    assert answered.turn is not None
    assert (answered.turn.state, answered.parts[0].content) == (TurnState.DELIVERING, "done")
    assert await store.given() == [Given("tg:7", "member", "Ann", "telegram:8", 200.0)]
    assert await store.admit("AAAA-AAAA", "owner", "again", await command(store), "done", 201.0) is None
    assert [one.role for one in await store.given()] == ["member"]
    assert [one.deed for one in await store.audit()] == [Deed("give", "tg:7", "member")]


async def test_a_code_expires(store: BotStore) -> None:
    await knock(store, "AAAA-AAAA", 100.0)
    late = 100.0 + HOUR
    assert await store.waiting(late) == []
    assert await store.admit("AAAA-AAAA", "member", "welcome", await command(store), "done", late) is None
    assert len(await knock(store, "BBBB-BBBB", late)) == 1


async def test_an_event_that_comes_again_opens_no_new_code(store: BotStore) -> None:
    wrote = message()
    await knock(store, "AAAA-AAAA", 100.0, wrote)
    assert await knock(store, "BBBB-BBBB", 100.0 + 2 * HOUR, wrote) == []
    assert await store.waiting(100.0 + 2 * HOUR) == []


async def test_few_wait_on_an_account(store: BotStore) -> None:
    for number in range(MOST_WAITING):
        who = message(sender=type(ANN)(f"{100 + number}"), chat=f"p{number}")
        assert len(await knock(store, f"CODE-{number}", 100.0, who)) == 1
    [told] = await knock(store, "MORE-MORE", 101.0)
    assert await said(store, told.turn) == ["too many"]
    assert await knock(store, "MORE-MORE", 102.0) == []
    assert len(await store.waiting(103.0)) == MOST_WAITING
    assert len(await knock(store, "LATE-LATE", 101.0 + HOUR)) == 1


async def test_a_role_takes_the_place_of_another_and_keeps_the_name(store: BotStore) -> None:
    await store.give(Given("telegram:7", "member", "Ann", "", 0.0), BOSS, 100.0)
    other = Actor("turn:2", "web:owner", "", "web", "")
    await store.give(Given("telegram:7", "admin", "", "", 0.0), other, 101.0)
    assert await store.given() == [Given("telegram:7", "admin", "Ann", "web:owner", 101.0)]
    third = Actor("turn:3", "web:owner", "", "web", "")
    assert await store.take("telegram:7", third, 102.0)
    assert not await store.take("telegram:7", third, 103.0)
    assert await store.given() == []
    assert [(one.person, one.deed) for one in await store.audit()] == [
        ("web:owner", Deed("take", "telegram:7")),
        ("web:owner", Deed("give", "telegram:7", "admin")),
        ("telegram:1", Deed("give", "telegram:7", "member")),
    ]


async def test_a_deed_is_written_down_once(store: BotStore) -> None:
    for detail in ("first", "again"):
        await store.note(BOSS, Deed("command", "/mcp", detail), 100.0)
    [found] = await store.audit()
    assert (found.at, found.person, found.name, found.account, found.chat) == (
        100.0,
        "telegram:1",
        "Boss",
        "tg",
        "c1",
    )
    assert found.deed == Deed("command", "/mcp", "first")


async def test_deeds_by_and_to_somebody_page_by_page(store: BotStore) -> None:
    for number in range(6):
        person = f"telegram:{number % 2}"
        actor = Actor(f"k{number}", person, "", "tg", "c1")
        await store.note(actor, Deed("give", f"telegram:{number}"), 100.0 + number)
    assert [one.deed.subject[-1] for one in await store.audit(limit=4)] == ["5", "4", "3", "2"]
    rest = await store.audit(before=(await store.audit(limit=4))[-1].id)
    assert [one.deed.subject[-1] for one in rest] == ["1", "0"]
    assert [one.deed.subject[-1] for one in await store.audit(person="telegram:1")] == ["5", "3", "1"]
    assert [one.deed.subject[-1] for one in await store.audit(person="telegram:4")] == ["4"]
    assert await store.deeds("telegram:1", "give", 102.0) == 2
    assert await store.deeds("telegram:1", "take", 0.0) == 0


async def test_old_deeds_are_forgotten(store: BotStore) -> None:
    await store.note(BOSS, Deed("command"), 100.0)
    await store.forget_known(100.0 + 399 * 24 * HOUR)
    assert len(await store.audit()) == 1
    await store.forget_known(100.0 + 401 * 24 * HOUR)
    assert await store.audit() == []


async def test_what_people_belong_to_is_kept_with_their_message(store: BotStore) -> None:
    who = type(ANN)("7", "Ann", "ann", belongs=("team:T1", "role:5"), guest=True)
    [taken] = await accept(store, admission(message(sender=who)))
    found = await store.load(taken.turn)
    assert found.turn is not None
    assert found.turn.messages[0].sender == who
