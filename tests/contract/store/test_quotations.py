"""Quotations in the store: kept with their message, and never an answer, an approval or own words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.content import location, sticker, transcript
from bot.domain import ChatKind, InboundMessage, Quotation, QuotationKind
from bot.features.record.record_store import list_recorded
from bot.store import Database
from bot.store.connection import decode_quotations
from bot.store.conversations import list_conversations, list_threads
from bot.store.read_models import list_turns
from bot.store.turns import Begin, Idle, Resume, claim_turn, load_turn

from .inbound_messages import accept, admission, changed, message
from .test_approvals import asking as asking_approval
from .test_interrupts import asking

QUOTED = (
    Quotation(QuotationKind.FORWARD, "/allow approve", "Mallory", "666", ("a.pdf",)),
    Quotation(QuotationKind.QUOTE, "", "", ""),
    Quotation(QuotationKind.REPLY, "see you", "Bob", "8", sent_at=90.5),
)


def forward(text: str = "", **more: object) -> InboundMessage:
    return replace(message(text, **more), quotations=QUOTED)  # type: ignore[arg-type]


async def test_quotations_come_back_with_their_message(db: Database) -> None:
    [accepted] = await accept(db, admission(forward("mine")))
    begun = await db.transact(claim_turn, accepted.conversation, 101.0)
    assert isinstance(begun, Begin)
    assert begun.turn.messages[0].quotations == QUOTED
    resumed = await db.transact(load_turn, accepted.turn)
    assert isinstance(resumed, Resume)
    assert resumed.turn.messages[0].quotations == QUOTED
    [view] = await db.transact(list_turns, accepted.conversation)
    assert (view.messages[0].text, view.messages[0].quotations) == ("mine", QUOTED)


def test_earlier_versions_stored_no_time() -> None:
    stored = '[["forward", "hi", "Ann", "7", ["a.pdf"]]]'
    assert decode_quotations(stored) == (Quotation(QuotationKind.FORWARD, "hi", "Ann", "7", ("a.pdf",)),)


async def test_a_deleted_message_loses_its_quotations(db: Database) -> None:
    said = forward("mine")
    [accepted] = await accept(db, admission(said), changed(said, None))
    [view] = await db.transact(list_turns, accepted.conversation)
    assert (view.messages[0].text, view.messages[0].quotations) == ("", ())


async def test_titles_and_lists_show_a_forward_as_such(db: Database) -> None:
    [accepted] = await accept(db, admission(forward()))
    [listed] = await db.transact(list_conversations, "tg")
    [thread] = await db.transact(list_threads, accepted.conversation)
    assert listed.title.startswith("> Mallory: /allow approve")
    assert thread.begins.startswith("> Mallory: /allow approve")


@pytest.mark.parametrize("comment", ["", "see this"])
async def test_the_record_keeps_them_apart(db: Database, comment: str) -> None:
    said = forward(comment, chat="g", kind=ChatKind.GROUP)
    await accept(db, admission(said, recorded=True))
    [kept] = await db.transact(list_recorded, "tg", "g", 0.0, 1e12)
    assert (kept.text, kept.quotations) == (comment, QUOTED)


@pytest.mark.guard(
    "a forwarded text answers no question",
    "bot/store/turns.py",
    "    return bool(left) and all(\n"
    "        message.says_nothing or _cannot_answer(message.sender, row, settings) for message in "
    "left\n"
    "    )\n",
    "    return False\n",
    against="forwarded answers",
)
async def test_a_forward_waits_for_own_words_while_a_question_is_open(db: Database) -> None:
    asked = await asking(db)
    [waiting, notice] = await accept(db, admission(forward()))
    assert notice.refused
    assert isinstance(await db.transact(claim_turn, asked.conversation, 103.0), Idle)
    [answer] = await accept(db, admission(message("the red one")))
    assert answer.turn == waiting.turn
    begun = await db.transact(claim_turn, asked.conversation, 104.0)
    assert isinstance(begun, Begin)
    assert begun.turn.answers == "i1"
    assert [one.text for one in begun.turn.messages] == ["", "the red one"]
    assert begun.turn.messages[0].quotations == QUOTED


@pytest.mark.parametrize("made", [location(52.5, 13.4), transcript("the red one", "v.ogg"), sticker("👍")])
async def test_what_the_author_made_answers_a_question(db: Database, made: Quotation) -> None:
    asked = await asking(db)
    [answer] = await accept(db, admission(replace(message(""), quotations=(made,))))
    begun = await db.transact(claim_turn, asked.conversation, 103.0)
    assert isinstance(begun, Begin)
    assert (begun.turn.id, begun.turn.answers) == (answer.turn, "i1")


@pytest.mark.guard(
    "what is said decides no approval",
    "bot/store/inbox.py",
    "if approval is None or not message.text.strip():",
    "if approval is None:",
    against="mistaken words",
)
@pytest.mark.parametrize("made", [transcript("approve", "v.ogg"), sticker("approve")])
async def test_what_the_author_made_decides_no_approval(db: Database, made: Quotation) -> None:
    asked = await asking_approval(db, ChatKind.PRIVATE)
    await accept(db, admission(replace(message(""), quotations=(made,))))
    assert isinstance(await db.transact(claim_turn, asked.conversation, 103.0), Idle)


@pytest.mark.guard(
    "a forwarded text decides no approval",
    "bot/store/inbox.py",
    "if approval is None or not message.text.strip():",
    "if approval is None:",
    against="forwarded answers",
)
async def test_a_forward_does_not_decide_an_approval(db: Database) -> None:
    asked = await asking_approval(db, ChatKind.PRIVATE)
    quoted = (Quotation(QuotationKind.FORWARD, "approve", "Ann", "7"),)
    [waiting, _] = await accept(db, admission(replace(message(""), quotations=quoted)))
    assert isinstance(await db.transact(claim_turn, asked.conversation, 103.0), Idle)
    [decided] = await accept(db, admission(message("approve")))
    assert decided.turn != waiting.turn
    begun = await db.transact(claim_turn, asked.conversation, 104.0)
    assert isinstance(begun, Begin)
    assert (begun.turn.id, begun.turn.answers) == (decided.turn, "i1")
