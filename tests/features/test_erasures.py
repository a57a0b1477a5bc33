"""Requests to erase a person, and what others stored of their words, on SQLite and on PostgreSQL."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.content import PollOption, poll, transcript
from bot.domain import ChatKind, InboundMessage, Part, PartKind, PartState, Quotation, QuotationKind, Sender
from bot.features.privacy import erasures
from bot.features.privacy.quotation_masking import mask_audit, mask_edits, mask_messages, mask_turns
from bot.features.privacy.text_masking import TextMask
from bot.features.privacy.thread_replacement import collect_chats
from bot.features.privacy.written_messages import erase_person
from bot.features.record.record_store import list_recorded
from bot.features.schedules.run_store import OpenedTurn
from bot.features.schedules.schedule_store import ScheduleKind, delete_schedule
from bot.store import Database
from bot.store.admission_types import Accepted, RecordOnly
from bot.store.approval_rules import ApprovalRules
from bot.store.audit import Actor, AuditEvent, list_audit_entries, record_event
from bot.store.connection import Connection, decode_senders, sql
from bot.store.interrupts import open_interrupt
from bot.store.languages import list_languages, set_language
from bot.store.people import RoleGrant, grant_role, list_role_grants
from bot.store.person_data import MASK, ChatKey, PersonKey
from bot.store.read_models import list_turns
from bot.store.stopped_answers import mark_stopped
from bot.store.tool_grants import GrantOffer, list_tool_grants, record_tool_grant
from bot.store.turns import Begin, PartChange, claim_turn, load_turn, save_turn
from bot.turn import Stopped, TurnState
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, changed, message
from tests.contract.store.test_schedules import ONE, end, fire, made, opened
from tests.harness.person_data import erase_features, list_person_data

ANN_HERE = PersonKey("telegram", ANN.id)
DATA = list_person_data()
BY_ANN = Actor("k1", f"telegram:{ANN.id}", "Ann", "tg", "c")
SECRET = "the harbour code is 4711zebra"


def in_group(text: str, sender: Sender) -> InboundMessage:
    """A message in the group."""
    return message(text, sender=sender, chat="g", kind=ChatKind.GROUP)


async def answered(db: Database, accepted: Accepted, text: str) -> None:
    """The turn of a message is answered with this text."""
    await db.transact(claim_turn, accepted.conversation, 101.0)
    part = Part(0, PartKind.TEXT, text, PartState.FINAL, platform_id="m")
    await db.transact(save_turn, accepted.turn, [PartChange(part)], 101.0, state=TurnState.DONE)


async def test_a_request_is_open_until_it_is_finished(db: Database) -> None:
    number = await db.transact(erasures.record_erasure, ANN_HERE, ["person:tg:x"], BY_ANN, 5.0)
    await accept(db, admission(message("one")))
    again = await db.transact(erasures.record_erasure, ANN_HERE, ["person:tg:x"], BY_ANN, 6.0)
    assert again == number
    [request] = await db.transact(erasures.list_open_erasures)
    assert (request.person, request.requested_at, request.upto) == (ANN_HERE, 5.0, 1)
    assert request.scopes == ("person:tg:x",)
    await db.transact(erasures.add_scopes, number, ["group:tg:g", "person:tg:x"])
    assert (await db.transact(erasures.load_erasure, number)).scopes == ("person:tg:x", "group:tg:g")
    await db.transact(erasures.finish_erasure, number, {"messages": 2}, 9.0)
    assert await db.transact(erasures.list_open_erasures) == []
    last = await db.transact(erasures.find_last_erasure, ANN_HERE)
    assert last is not None
    assert (last.counts, last.finished_at) == ({"messages": 2}, 9.0)
    assert await db.transact(erasures.find_last_erasure, PersonKey("telegram", "99")) is None


async def chats_of(db: Database, *conversations: int) -> list[str]:
    """The chats whose agent threads an erasure of Ann replaces."""
    number = await db.transact(erasures.record_erasure, ANN_HERE, (), BY_ANN, 5.0)
    return [one.chat for one in await db.transact(collect_chats, number, conversations, DATA)]


async def test_their_words_and_chats_are_listed(db: Database) -> None:
    [first] = await accept(db, admission(in_group(SECRET, ANN)))
    await accept(db, admission(in_group("bens", BEN)))
    await accept(db, RecordOnly(message("heard", sender=ANN, chat="other", kind=ChatKind.GROUP)))
    said = await db.transact(erasures.list_said, ANN_HERE, 0, 100)
    assert [(one.turn, one.texts, one.files) for one in said] == [(first.turn, (SECRET,), ())]
    assert await chats_of(db, first.conversation) == ["g", "other"]
    found = await db.transact(erasures.list_texts_in, ANN_HERE, ChatKey("tg", "other"), DATA)
    assert [text for text, _ in found] == ["heard"]
    turns = await db.transact(erasures.list_open_turns, ANN_HERE, 100)
    assert [(conversation, state) for conversation, state, _ in turns] == [
        (first.conversation, TurnState.ACCEPTED)
    ]


async def test_what_they_said_or_made_is_among_their_words(db: Database) -> None:
    """Its text is a quotation, but their own: copies of it elsewhere must go as well."""
    spoken = transcript(SECRET, "voice.ogg")
    other = Quotation(QuotationKind.FORWARD, "bens", "Ben", BEN.id)
    said = replace(in_group("", ANN), quotations=(spoken, poll("Lunch?", [PollOption("Fish")]), other))
    heard = replace(message("", sender=ANN, chat="other", kind=ChatKind.GROUP), quotations=(spoken, other))
    await accept(db, admission(said), RecordOnly(heard))
    [one] = await db.transact(erasures.list_said, ANN_HERE, 0, 100)
    assert one.texts == (SECRET, "Lunch?\n- Fish")
    found = await db.transact(erasures.list_texts_in, ANN_HERE, ChatKey("tg", "other"), DATA)
    assert [text for text, _ in found if text] == [SECRET]


async def test_chats_in_which_they_are_only_quoted_are_listed(db: Database) -> None:
    theirs, others = (Quotation(QuotationKind.REPLY, "hm", "Ann", one) for one in (ANN.id, f"{ANN.id}0"))
    group, private = in_group("see", BEN), message("see", sender=BEN, chat="bens")
    recorded = message("see", sender=BEN, chat="other", kind=ChatKind.GROUP)
    elsewhere = message(f"see {ANN.id}", sender=BEN, chat="elsewhere", kind=ChatKind.GROUP)
    await accept(db, RecordOnly(replace(recorded, quotations=(theirs,))))
    for one, quotation in ((group, theirs), (private, theirs), (elsewhere, others)):
        await accept(db, admission(replace(one, quotations=(quotation,))))
    assert await chats_of(db) == ["bens", "g", "other"]


async def test_a_chat_in_which_they_stopped_an_answer_is_listed(db: Database) -> None:
    [bens] = await accept(db, admission(in_group("one", BEN)))
    await db.transact(claim_turn, bens.conversation, 101.0)
    assert await db.transact(mark_stopped, bens.conversation, Stopped.ASKED, BY_ANN) == bens.turn
    assert await chats_of(db) == ["g"]


async def test_chats_are_collected_once_for_a_request(db: Database) -> None:
    [first] = await accept(db, admission(in_group(SECRET, ANN)))
    assert await chats_of(db, first.conversation) == ["g"]
    await erase_person(db, ANN_HERE, DATA, 200.0)
    assert await chats_of(db) == ["g"], "a new request extends the open one"


async def test_quotations_of_them_are_masked_and_other_words_stay(db: Database) -> None:
    quotation = Quotation(QuotationKind.QUOTE, "short", "Ann", ANN.id)
    said = in_group(f"as she said: {SECRET}, on sunday", BEN)
    [bens] = await accept(db, admission(replace(said, quotations=(quotation,))))
    await answered(db, bens, f"You say {SECRET}? Fine.")
    here = ChatKey("tg", "g")
    assert await db.transact(erasures.list_texts_in, ANN_HERE, here, DATA) == [("short", "Ann")]
    assert await db.transact(erasures.list_texts_in, PersonKey("telegram", BEN.id), here, DATA) == []
    mask = TextMask([SECRET])
    await db.transact(mask_edits, bens.conversation, mask, ANN_HERE)
    last = await db.transact(mask_turns, bens.conversation, 0, mask, ANN_HERE)
    assert last == bens.turn
    assert await db.transact(mask_turns, bens.conversation, last, mask, ANN_HERE) is None
    [turn] = await db.transact(list_turns, bens.conversation)
    assert [one.text for one in turn.messages] == [f"as she said: {MASK}, on sunday"]
    assert [(one.text, one.author) for one in turn.messages[0].quotations] == [(MASK, "")]
    assert [one.content for one in turn.parts] == [f"You say {MASK}? Fine."]


async def test_the_record_of_a_chat_is_masked(db: Database) -> None:
    hidden = [Quotation(QuotationKind.FORWARD, "hi", name) for name in ("Ann", "Anne")]
    said = replace(in_group(f"he said {SECRET}", BEN), quotations=tuple(hidden))
    await accept(db, RecordOnly(said))
    await db.transact(mask_messages, ChatKey("tg", "g"), TextMask([SECRET], names=["Ann"]), ANN_HERE, DATA)
    found = await db.transact(list_recorded, "tg", "g", 0.0, 1e12, 10)
    assert [one.text for one in found] == [f"he said {MASK}"]
    assert [one.author for one in found[0].quotations] == [MASK, "Anne"]


async def test_an_edit_does_not_undo_a_masked_reply(db: Database) -> None:
    hers = in_group("hi", ANN)
    reply = Quotation(QuotationKind.REPLY, "hi", "Ann", ANN.id, message_id=hers.origin.message_id)
    await accept(db, RecordOnly(replace(in_group("no", BEN), quotations=(reply,))))
    await db.transact(mask_messages, ChatKey("tg", "g"), TextMask([]), ANN_HERE, DATA)
    await accept(db, RecordOnly(changed(hers, "hello")))
    [found] = await db.transact(list_recorded, "tg", "g", 0.0, 1e12, 10)
    assert [one.text for one in found.quotations] == [MASK]


async def test_audit_events_that_quote_them_are_masked(db: Database) -> None:
    by_ben = Actor("k2", f"telegram:{BEN.id}", "Ben", "tg", "c")
    await db.transact(record_event, BY_ANN, AuditEvent("command", "/allow", SECRET), 1.0)
    await db.transact(record_event, by_ben, AuditEvent("command", "/allow", "bash"), 1.0)
    masked = await db.transact(mask_audit, ANN_HERE, 0, TextMask([SECRET]))
    assert masked is not None
    assert masked[1] == 1
    entries = await db.transact(list_audit_entries)
    assert [(one.name, one.deed.detail) for one in reversed(entries)] == [("[erased]", MASK), ("Ben", "bash")]
    assert await db.transact(mask_audit, ANN_HERE, masked[0], TextMask([SECRET])) is None
    assert (await db.transact(mask_audit, ANN_HERE, 0, TextMask([SECRET]))) == (masked[0], 0)


async def test_their_grants_end_and_those_of_an_account_lose_their_author(db: Database) -> None:
    by_ben = Actor("k2", f"telegram:{BEN.id}", "Ben", "tg", "c")
    for words, conversation, actor in (("here", 1, BY_ANN), ("always", 1, BY_ANN), ("here", 1, by_ben)):
        offer = GrantOffer("bash", "here", "always")
        await db.transact(
            record_tool_grant, offer, words, conversation, actor, 1.0, ApprovalRules(), may_decide_own=True
        )
    await erase_features(db, ANN_HERE)
    found = await db.transact(list_tool_grants, "tg", 1, 2.0)
    left = [(one.conversation, one.person, one.name) for one in found]
    assert sorted(left) == [(0, MASK, ""), (1, by_ben.person, "Ben")]
    await db.transact(
        record_tool_grant,
        GrantOffer("bash", "here", "always"),
        "always",
        1,
        BY_ANN,
        3.0,
        ApprovalRules(),
        may_decide_own=True,
    )
    await erase_features(db, ANN_HERE)
    again = await db.transact(list_tool_grants, "tg", 1, 4.0)
    assert [one.id for one in again] == [one.id for one in found]


async def test_a_role_is_kept_without_a_name(db: Database) -> None:
    for entry in ("telegram:7", "tg:7", "telegram:8"):
        await db.transact(grant_role, RoleGrant(entry, "admin", "Somebody", "", 1.0), BY_ANN, 1.0)
    await accept(db, admission(message("hello")))
    await erase_features(db, ANN_HERE)
    kept = {one.entry: (one.role, one.name) for one in await db.transact(list_role_grants)}
    assert kept == {
        "telegram:7": ("admin", ""),
        "tg:7": ("admin", ""),
        "telegram:8": ("admin", "Somebody"),
    }


async def test_a_chosen_language_is_forgotten(db: Database) -> None:
    for entry in ("telegram:7", "telegram:8", "tg:-1"):
        await db.transact(set_language, entry, "zh")
    await db.transact(erasures.erase_names, ANN_HERE)
    assert await db.transact(list_languages) == {"telegram:8": "zh", "tg:-1": "zh"}


def askers_of(connection: Connection, conversation: int) -> list[str]:
    """Who asked for what an open question is about."""
    found = connection.execute(sql("SELECT askers FROM conversations WHERE id = :id"), {"id": conversation})
    return [one.id for one in decode_senders(found.scalar_one())]


async def test_they_no_longer_count_as_asking_and_others_do(db: Database) -> None:
    [both] = await accept(db, admission(in_group("go", ANN)))
    begun = await db.transact(claim_turn, both.conversation, 101.0)
    assert isinstance(begun, Begin)
    await db.transact(open_interrupt, replace(begun.turn, askers=(ANN, BEN)), "i1")
    assert await db.transact(askers_of, both.conversation) == [ANN.id, BEN.id]
    await db.transact(erasures.erase_names, PersonKey("slack", ANN.id))
    assert await db.transact(askers_of, both.conversation) == [ANN.id, BEN.id]
    await db.transact(erasures.erase_names, ANN_HERE)
    assert await db.transact(askers_of, both.conversation) == [BEN.id]


async def parts_of(db: Database, opened_turn: OpenedTurn) -> int:
    """How many parts are stored of a turn's text."""
    turn = await db.transact(load_turn, opened_turn.turn)
    assert turn is not None
    return len(turn.parts)


@pytest.mark.parametrize("kind", [ChatKind.GROUP, ChatKind.PRIVATE])
async def test_reminders_that_were_sent_are_erased(db: Database, kind: ChatKind) -> None:
    one = await made(db, replace(ONE, kind=ScheduleKind.MESSAGE, chat_kind=kind))
    sent = await opened(db, fire(one, text=SECRET))
    await end(db, sent.turn)
    if kind is ChatKind.PRIVATE:
        await db.transact(delete_schedule, one.id, BY_ANN, 5.0)
    await erase_person(db, PersonKey("telegram", BEN.id), DATA, 200.0)
    assert await parts_of(db, sent) == 1
    await erase_person(db, ANN_HERE, DATA, 200.0)
    assert await parts_of(db, sent) == 0
