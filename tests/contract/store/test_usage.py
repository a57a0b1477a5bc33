"""What turns cost in tokens, as every database keeps it and sums it up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain import ChatKind, Part, PartKind, Sender
from bot.features.usage import usage_store as usage
from bot.features.usage.usage_store import (
    PersonTotals,
    UsageKey,
    break_down_usage,
    list_person_usage,
    list_top_usage,
    load_last_usage,
    load_person_usage,
    sum_usage,
)
from bot.store import Database
from bot.store.admission_types import Verdict
from bot.store.connection import Connection, Statement, on_accounts
from bot.store.names import NEWEST_SENDER, sender_patterns
from bot.store.read_models import list_turns
from bot.store.retries import find_last_answered, open_retry
from bot.store.turns import PartChange, claim_turn, load_turn, save_turn
from bot.store.usage import TurnUsage, UsageSum
from bot.turn import TurnState
from tests.harness.store_templates import open_store

from .inbound_messages import ANN, BEN, accept, admission, message

NOTHING = UsageSum(0, 0, 0, 0)
ANNS, BENS = "telegram:7", "telegram:8"


async def answered(
    db: Database, tokens: int, *, sender: Sender = ANN, chat: str = "c1", now: float = 100.0
) -> tuple[int, int]:
    """A turn that cost so many tokens in and a tenth of it out; (conversation, turn)."""
    [accepted] = await accept(db, admission(message(chat=chat, sender=sender)), now=now)
    await db.transact(claim_turn, accepted.conversation, now + 1)
    spent = TurnUsage(f"telegram:{sender.id}", tokens, tokens // 10, tokens + tokens // 10)
    change = PartChange(Part(0, PartKind.TEXT, "So."))
    await db.transact(save_turn, accepted.turn, [change], now + 2, state=TurnState.DELIVERING, spent=spent)
    await db.transact(save_turn, accepted.turn, [], now + 3, state=TurnState.DONE)
    return accepted.conversation, accepted.turn


def sums(turns: int, tokens: int) -> UsageSum:
    return UsageSum(turns, tokens, tokens // 10, tokens + tokens // 10)


async def test_a_turn_tells_what_it_cost(db: Database) -> None:
    conversation, _ = await answered(db, 100)
    [asked] = await accept(db, admission(message("/status"), Verdict.COMMAND))
    assert asked.conversation == conversation
    command, chat = await db.transact(list_turns, conversation)
    assert chat.spent == TurnUsage(ANNS, 100, 10, 110)
    assert command.spent is None


async def test_cached_tokens_and_costs_are_summed(db: Database) -> None:
    for cost in (0.25, 0.5):
        conversation, turn = await answered(db, 100)
        spent = TurnUsage(ANNS, 100, 10, 110, 80, cost, "EUR")
        await db.transact(save_turn, turn, [], 105.0, spent=spent)
    assert await db.transact(load_last_usage, conversation) == spent
    assert await db.transact(sum_usage, 0.0) == UsageSum(2, 200, 20, 220, 160, 0.75, "EUR")
    assert await db.transact(sum_usage, 0.0, person=ANNS) == UsageSum(2, 200, 20, 220, 160, 0.75, "EUR")
    [day] = await db.transact(break_down_usage, UsageKey.DAY, 0.0, 0.0)
    assert (day.spending.cached_tokens, day.spending.cost) == (160, 0.75)


async def test_costs_in_two_currencies_have_no_sum(db: Database) -> None:
    for currency in ("EUR", "USD", ""):
        _, turn = await answered(db, 100)
        cost = 0.25 if currency else 0.0
        await db.transact(save_turn, turn, [], 105.0, spent=TurnUsage(ANNS, 100, 10, 110, 80, cost, currency))
    assert await db.transact(sum_usage, 0.0) == UsageSum(3, 300, 30, 330, 240)
    assert [one.spending for one in await db.transact(list_top_usage, 0.0, 5)] == [
        UsageSum(3, 300, 30, 330, 240)
    ]


async def test_tokens_of_a_command_are_no_last_answer(db: Database) -> None:
    conversation, _ = await answered(db, 100)
    [command] = await accept(db, admission(message("/compact"), Verdict.COMMAND))
    spent = TurnUsage(ANNS, 900, 90, 990)
    await db.transact(save_turn, command.turn, [], 105.0, state=TurnState.DONE, spent=spent)
    assert await db.transact(load_last_usage, conversation) == TurnUsage(ANNS, 100, 10, 110)
    assert (await db.transact(sum_usage, 0.0)).total_tokens == 1_100


async def test_what_is_known_of_a_turn_stays_until_it_is_told_anew(db: Database) -> None:
    conversation, turn = await answered(db, 100)
    await db.transact(save_turn, turn, [], 104.0, state=TurnState.DONE)
    [view] = await db.transact(list_turns, conversation)
    assert view.spent == TurnUsage(ANNS, 100, 10, 110)
    await db.transact(save_turn, turn, [], 105.0, spent=TurnUsage(ANNS, 5, 1, 6))
    [view] = await db.transact(list_turns, conversation)
    assert view.spent == TurnUsage(ANNS, 5, 1, 6)
    assert view.state is TurnState.DONE


async def test_sums_of_a_person_of_a_conversation_and_of_all(db: Database) -> None:
    here, _ = await answered(db, 100)
    await answered(db, 200)
    there, _ = await answered(db, 1000, chat="c2")
    assert (await answered(db, 30, sender=BEN, chat="c2"))[0] == there
    assert await db.transact(sum_usage, 0.0) == sums(4, 1330)
    assert await db.transact(sum_usage, 0.0, person=ANNS) == sums(3, 1300)
    assert await db.transact(sum_usage, 0.0, person=BENS) == sums(1, 30)
    assert await db.transact(sum_usage, 0.0, person="telegram:9") == NOTHING
    assert await db.transact(sum_usage, 0.0, conversation=here) == sums(2, 300)
    assert await db.transact(sum_usage, 0.0, conversation=there) == sums(2, 1030)
    assert await db.transact(sum_usage, 0.0, conversation=99) == NOTHING


async def test_sums_begin_when_they_are_told_to(db: Database) -> None:
    conversation, _ = await answered(db, 100, now=1000.0)
    await answered(db, 200, now=2000.0)
    for since, expected in ((999.0, sums(2, 300)), (1000.0, sums(2, 300)), (1000.1, sums(1, 200))):
        assert await db.transact(sum_usage, since) == expected
        assert await db.transact(sum_usage, since, person=ANNS) == expected
        assert await db.transact(sum_usage, since, conversation=conversation) == expected
    assert await db.transact(sum_usage, 2001.0) == NOTHING
    assert await db.transact(list_person_usage, 2001.0) == []
    assert await db.transact(list_top_usage, 2001.0, 10) == []


async def test_turns_that_cost_nothing_are_not_counted(db: Database) -> None:
    conversation, turn = await answered(db, 0)
    assert await db.transact(sum_usage, 0.0) == NOTHING
    assert await db.transact(load_last_usage, conversation) is None
    [view] = await db.transact(list_turns, conversation)
    assert (view.id, view.spent) == (turn, None)


async def test_the_last_one_that_cost_anything(db: Database) -> None:
    conversation, _ = await answered(db, 100)
    await answered(db, 40, sender=BEN)
    await accept(db, admission(message("/usage"), Verdict.COMMAND))
    assert await db.transact(load_last_usage, conversation) == TurnUsage(BENS, 40, 4, 44)
    assert await db.transact(load_last_usage, 99) is None


async def test_people_by_their_ids_page_by_page(db: Database) -> None:
    for number in (3, 1, 2):
        await answered(db, 10 * number, sender=Sender(f"{number}", f"P{number}"))
    await answered(db, 70, sender=Sender("1", "P1"))
    expected = [
        PersonTotals("telegram:1", "P1", sums(2, 80)),
        PersonTotals("telegram:2", "P2", sums(1, 20)),
        PersonTotals("telegram:3", "P3", sums(1, 30)),
    ]
    assert await db.transact(list_person_usage, 0.0) == expected
    assert await db.transact(list_person_usage, 0.0, limit=2) == expected[:2]
    assert await db.transact(list_person_usage, 0.0, "telegram:2", limit=2) == expected[2:]
    assert await db.transact(list_person_usage, 0.0, "telegram:3") == []


async def test_those_who_used_most_come_first(db: Database) -> None:
    for number in (1, 2, 3, 4):
        await answered(db, 100 * (number % 3 + 1), sender=Sender(f"{number}", ""))
    found = await db.transact(list_top_usage, 0.0, 3)
    assert [one.person for one in found] == ["telegram:2", "telegram:1", "telegram:4"]
    assert found[0] == PersonTotals("telegram:2", "", sums(1, 300))


async def test_a_name_is_the_one_of_the_newest_message(db: Database) -> None:
    await answered(db, 10, now=100.0)
    await answered(db, 10, sender=replace(ANN, name="Anna"), now=200.0)
    await answered(db, 10, sender=BEN, now=300.0)
    [ann, ben] = await db.transact(list_person_usage, 0.0)
    assert (ann.name, ben.name) == ("Anna", BEN.name)
    assert await db.transact(load_person_usage, 0.0, ANNS) == PersonTotals(ANNS, "Anna", sums(2, 20))
    assert await db.transact(load_person_usage, 250.0, ANNS) == PersonTotals(ANNS, "Anna", NOTHING)
    assert await db.transact(load_person_usage, 0.0, "telegram:9") == PersonTotals("telegram:9", "", NOTHING)


async def test_a_turn_that_is_nobodys_counts_for_all_but_for_no_person(db: Database) -> None:
    conversation, turn = await answered(db, 100)
    await db.transact(save_turn, turn, [], 104.0, spent=TurnUsage("", 100, 10, 110))
    assert await db.transact(sum_usage, 0.0) == sums(1, 100)
    assert await db.transact(sum_usage, 0.0, conversation=conversation) == sums(1, 100)
    assert await db.transact(list_person_usage, 0.0) == []
    assert await db.transact(list_top_usage, 0.0, 10) == []


async def test_an_answer_that_was_asked_for_again_cost_twice(db: Database) -> None:
    conversation, _ = await answered(db, 100)
    [command] = await accept(db, admission(message("/retry"), Verdict.COMMAND))
    last = await db.transact(find_last_answered, conversation)
    commanding = (await db.transact(load_turn, command.turn)).turn
    assert last is not None
    assert commanding is not None
    again = await db.transact(
        open_retry, commanding, last, checkpoint="", thread_id=last.thread_id, text="ok", now=105.0
    )
    await db.transact(save_turn, again, [], 106.0, state=TurnState.DONE, spent=TurnUsage(ANNS, 50, 5, 55))
    assert await db.transact(sum_usage, 0.0, person=ANNS) == sums(2, 150)
    # The turn of a retry has no messages of its own.
    assert await db.transact(list_person_usage, 0.0) == [PersonTotals(ANNS, ANN.name, sums(2, 150))]


async def test_large_sums_are_exact(db: Database) -> None:
    for _ in range(3):
        await answered(db, 10 * 2**40)
    assert await db.transact(sum_usage, 0.0, person=ANNS) == sums(3, 30 * 2**40)


async def test_a_group_counts_for_each_who_asked(db: Database) -> None:
    made = []
    for sender in (ANN, BEN):
        [accepted] = await accept(
            db, admission(message(chat="-1", kind=ChatKind.GROUP, topic="5", sender=sender))
        )
        await db.transact(claim_turn, accepted.conversation, 101.0)
        spent = TurnUsage(f"telegram:{sender.id}", 10, 1, 11)
        await db.transact(save_turn, accepted.turn, [], 102.0, state=TurnState.DONE, spent=spent)
        made.append(accepted.conversation)
    assert made[0] == made[1]
    assert await db.transact(sum_usage, 0.0, conversation=made[0]) == sums(2, 20)
    assert [one.spending for one in await db.transact(list_person_usage, 0.0)] == [sums(1, 10), sums(1, 10)]


@pytest.mark.parametrize(
    ("statement", "given", "index"),
    [
        (usage.USAGE_OF_ALL, {}, "COVERING INDEX turns_spent"),
        (usage.USAGE_OF_PERSON, {"person": ANNS}, "INDEX turns_of_person"),
        (usage.USAGE_OF_CONVERSATION, {"conversation": 1}, "INDEX turns_of_conversation"),
        (usage.LAST_USAGE, {"conversation": 1}, "INDEX turns_of_conversation"),
        (usage.USAGE_BY_PERSON, {"after": "", "limit": 10}, "COVERING INDEX turns_spent"),
        (usage.TOP_USAGE, {"limit": 10}, "COVERING INDEX turns_spent"),
        (NEWEST_SENDER, {"person": ANNS, **sender_patterns(ANNS)}, "INDEX turns_of_person"),
        (
            usage.BREAKDOWNS[UsageKey.DAY],
            {"ahead": 0.0, "person": "", **on_accounts(None)},
            "INDEX turns_spent",
        ),
    ],
)
async def test_no_sum_reads_every_turn(
    tmp_path: Path, statement: Statement, given: dict[str, object], index: str
) -> None:
    def plan(connection: Connection) -> str:
        explained = Statement(f"EXPLAIN QUERY PLAN {statement.text}", statement.lists)
        return "\n".join(row.detail for row in connection.execute(explained, {"since": 0.0, **given}).all())

    database = await open_store(tmp_path)
    try:
        found = await database.transact(plan)
    finally:
        await database.close()
    assert index in found
    assert "SCAN turns" not in found
    assert "SCAN t\n" not in f"{found}\n"


async def test_days_as_the_clocks_of_a_place_show_them(db: Database) -> None:
    day = 86_400.0
    await answered(db, 100, now=20 * day + 5)
    await answered(db, 200, now=21 * day - 5, chat="c2")
    await answered(db, 30, now=21 * day + 5, sender=BEN, chat="c3")

    async def days(since: float, ahead: float, person: str = "") -> list[tuple[str, UsageSum]]:
        found = await db.transact(break_down_usage, UsageKey.DAY, since, ahead, person)
        return [(one.key, one.spending) for one in found]

    assert await days(0.0, 0.0) == [
        ("20", sums(2, 300)),
        ("21", sums(1, 30)),
    ]
    assert await days(0.0, 3600.0) == [
        ("20", sums(1, 100)),
        ("21", sums(2, 230)),
    ]
    assert await days(0.0, -3600.0) == [
        ("19", sums(1, 100)),
        ("20", sums(2, 230)),
    ]
    assert await days(0.0, 0.0, BENS) == [("21", sums(1, 30))]
    assert await days(20 * day + 6, 0.0) == [
        ("20", sums(1, 200)),
        ("21", sums(1, 30)),
    ]
