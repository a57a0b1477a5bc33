"""Mentions in the store: kept with their message and in the record, until the person is erased."""

from __future__ import annotations

from dataclasses import replace

from bot.domain import ChatKind, InboundMessage, Mention, MentionKind, Quotation, QuotationKind, Sender
from bot.features.record.record_store import list_recorded
from bot.store import Database
from bot.store.admission_types import RecordOnly
from bot.store.connection import MAX_MENTIONS
from bot.store.known_names import list_known_names
from bot.store.read_models import list_turns
from bot.store.turns import Begin, Resume, claim_turn, load_turn

from .inbound_messages import ANN, BEN, accept, admission, changed, message

NAMED = (
    Mention(MentionKind.PERSON, "Ann", ANN.id),
    Mention(MentionKind.PERSON, "Anna", f"{ANN.id}0"),
    Mention(MentionKind.CHANNEL, "deploys", ANN.id),
    Mention(MentionKind.ROLE, "ops", "9"),
)


def naming(text: str = "ask @Ann", **more: object) -> InboundMessage:
    return replace(message(text, sender=BEN, **more), mentions=NAMED)  # type: ignore[arg-type]


async def test_mentions_come_back_with_their_message(db: Database) -> None:
    [accepted] = await accept(db, admission(naming()))
    begun = await db.transact(claim_turn, accepted.conversation, 101.0)
    assert isinstance(begun, Begin)
    assert begun.turn.messages[0].mentions == NAMED
    resumed = await db.transact(load_turn, accepted.turn)
    assert isinstance(resumed, Resume)
    assert resumed.turn.messages[0].mentions == NAMED
    [view] = await db.transact(list_turns, accepted.conversation)
    assert view.messages[0].mentions == NAMED


async def test_the_record_keeps_them(db: Database) -> None:
    said = naming(chat="g", kind=ChatKind.GROUP)
    await accept(db, RecordOnly(said))
    [kept] = await db.transact(list_recorded, "tg", "g", 0.0, 1e12)
    assert kept.mentions == NAMED


async def test_a_message_keeps_a_limited_number(db: Database) -> None:
    many = tuple(Mention(MentionKind.PERSON, f"n{number}", str(number)) for number in range(MAX_MENTIONS + 9))
    [accepted] = await accept(db, admission(replace(message(), mentions=many)))
    [view] = await db.transact(list_turns, accepted.conversation)
    assert view.messages[0].mentions == many[:MAX_MENTIONS]


async def test_a_deleted_message_loses_them(db: Database) -> None:
    said = naming()
    [accepted] = await accept(db, admission(said), changed(said, None))
    [view] = await db.transact(list_turns, accepted.conversation)
    assert view.messages[0].mentions == ()


async def test_an_edit_tells_who_is_mentioned_now(db: Database) -> None:
    said = naming(chat="g", kind=ChatKind.GROUP)
    [accepted] = await accept(db, admission(said, recorded=True), changed(said, "ask @Ann!", at=50.0))
    [view] = await db.transact(list_turns, accepted.conversation)
    assert view.messages[0].mentions == NAMED, "an adapter that does not know them changes nothing"
    now = (Mention(MentionKind.PERSON, "Ben", BEN.id),)
    await accept(db, replace(changed(said, "ask @Ben", at=51.0), mentions=now))
    [view] = await db.transact(list_turns, accepted.conversation)
    [kept] = await db.transact(list_recorded, "tg", "g", 0.0, 1e12)
    assert (view.messages[0].text, view.messages[0].mentions) == ("ask @Ben", now)
    assert (kept.text, kept.mentions) == ("ask @Ben", (*NAMED, *now))


async def names(db: Database, accepted: int, limit: int = 200) -> list[str]:
    resumed = await db.transact(load_turn, accepted)
    assert isinstance(resumed, Resume)
    return [f"{one.label}={one.id}" for one in await db.transact(list_known_names, resumed.turn, limit)]


async def test_known_names_are_those_of_the_turn_its_conversation_and_the_record(db: Database) -> None:
    here = {"chat": "g", "kind": ChatKind.GROUP, "topic": "t1"}
    quoted = (
        Quotation(QuotationKind.REPLY, "x", "Rita", "31"),
        Quotation(QuotationKind.FORWARD, "x", "Fred", "32"),
    )
    await accept(db, RecordOnly(message("x", sender=Sender("41", "Rec"), **here)))
    private = message("x", sender=Sender("42", "Priv"), **(here | {"topic": "t9"}))
    await accept(db, RecordOnly(replace(private, origin=replace(private.origin, private_topic=True))))
    await accept(db, admission(message("x", sender=Sender("43", "Other"), chat="h", kind=ChatKind.GROUP)))
    await accept(db, admission(naming(**here)))
    last = replace(message("x", sender=ANN, **here), quotations=quoted)
    [accepted] = await accept(db, admission(last))
    found = await names(db, accepted.turn)
    assert set(found) == {
        *("@Ann=7", "@Ben=8", "@Anna=70", "#deploys=7", "@ops=9", "@Rita=31", "@Rec=41"),
    }
    assert len(found) == len(set(found))


async def test_a_tag_is_kept_and_is_no_part_of_a_name(db: Database) -> None:
    tagged = replace(ANN, tag="Dev")
    here = {"chat": "g", "kind": ChatKind.GROUP, "topic": "t1"}
    await accept(db, RecordOnly(message("hello", sender=tagged, **here)))
    [accepted] = await accept(db, admission(message("x", sender=tagged, **here)))
    [view], [kept] = (
        await db.transact(list_turns, accepted.conversation),
        await db.transact(list_recorded, "tg", "g", 0.0, 1e12),
    )
    assert view.messages[0].sender == kept.sender == tagged
    assert await names(db, accepted.turn) == ["@Ann=7"]


async def test_names_of_deleted_messages_are_unknown(db: Database) -> None:
    said = naming(chat="g", kind=ChatKind.GROUP, topic="t1")
    await accept(db, admission(said), changed(said, None))
    [accepted] = await accept(db, admission(message("x", chat="g", kind=ChatKind.GROUP, topic="t1")))
    assert await names(db, accepted.turn) == ["@Ann=7"]


async def test_a_limited_number_of_messages_is_searched(db: Database) -> None:
    for number in range(9):
        sender = Sender(str(100 + number), f"N{number}")
        await accept(db, RecordOnly(message("x", sender=sender, chat="g", kind=ChatKind.GROUP)))
    [accepted] = await accept(db, admission(message("x", chat="g", kind=ChatKind.GROUP)))
    assert len(await names(db, accepted.turn, limit=3)) == 4
