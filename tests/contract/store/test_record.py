"""The chat record on SQLite and on PostgreSQL."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from bot.domain import Attachment, AttachmentKind, ChatKind, InboundMessage, Quotation, QuotationKind
from bot.features.record.record_store import (
    LONGEST,
    count_recorded,
    list_arrived,
    list_recorded,
    list_recorded_before,
    list_recorded_chats,
    purge_record,
    set_recording,
)
from bot.store import Database
from bot.store.admission_types import RecordOnly
from bot.store.audit import Actor, list_audit_entries
from bot.store.chat_migration import migrate_chat
from bot.store.turns import load_turn, save_turn
from bot.turn import TurnState
from tests.contract.store.inbound_messages import BEN, accept, admission, changed, message

ACTOR = Actor("turn:1", "telegram:1", "Boss", "tg", "g")
DAY = 86_400.0


def group(text: str, *, at: float = 100.0, **more: object) -> InboundMessage:
    """A message in the group."""
    made = message(text, chat="g", kind=ChatKind.GROUP, **more)  # type: ignore[arg-type]
    return replace(made, sent_at=at, link=f"https://chat.example/{made.origin.message_id}")


async def kept(db: Database, **more: object) -> list[str]:
    return [one.text for one in await db.transact(list_recorded, "tg", "g", 0.0, 1e9, **more)]  # type: ignore[arg-type]


async def test_a_message_is_kept_once_as_it_was(db: Database) -> None:
    one = group("hello", sender=BEN, topic="t")
    assert await accept(db, RecordOnly(one), RecordOnly(one)) == []
    [found] = await db.transact(list_recorded, "tg", "g", 0.0, 1e9)
    assert (found.sender, found.topic, found.message_id) == (BEN, "t", one.origin.message_id)
    assert (found.text, found.sent_at, found.link) == ("hello", 100.0, one.link)
    assert await db.transact(count_recorded, "tg", "g") == 1
    assert await db.transact(list_recorded, "tg", "other", 0.0, 1e9) == []


async def test_files_are_named_and_what_says_nothing_is_not_kept(db: Database) -> None:
    file = Attachment(AttachmentKind.FILE, "plan.pdf", "ref")
    await accept(db, RecordOnly(group("see", attachments=(file,))), RecordOnly(group("  ")))
    assert await kept(db) == ["see\n[plan.pdf]"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("see", "see", "see\n[plan.pdf]\n[b.txt]"),
        ("", "", "[plan.pdf]\n[b.txt]"),
        ("see", "look", "look"),
        ("see this", "see", "see"),
        ("see[1]", "see", "see"),
    ],
)
async def test_files_stay_when_a_preview_is_added(
    db: Database, before: str, after: str, expected: str
) -> None:
    files = tuple(Attachment(AttachmentKind.FILE, name, "ref") for name in ("plan.pdf", "b.txt"))
    of = group(before, attachments=files)
    seen = Quotation(QuotationKind.PREVIEW, "A site")
    await accept(db, RecordOnly(of), replace(changed(of, after), quotations=(seen,)))
    [found] = await db.transact(list_recorded, "tg", "g", 0.0, 1e9)
    assert (found.text, found.quotations) == (expected, (seen,))


@pytest.mark.parametrize(
    ("text", "names", "quoted", "expected"),
    [
        ("look", ("plan.pdf", "b.txt"), (), "look\n[plan.pdf]\n[b.txt]"),
        ("look", ("new.pdf",), (), "look\n[new.pdf]"),
        ("see", (), (), "see"),
        ("", ("b.txt",), (), "[b.txt]"),
        ("look", ("own.txt", "theirs.txt"), ("theirs.txt",), "look\n[own.txt]"),
        ("x" * LONGEST, ("b.txt",), (), "x" * LONGEST),
    ],
)
async def test_an_edit_tells_which_files_a_message_has_now(
    db: Database, text: str, names: tuple[str, ...], quoted: tuple[str, ...], expected: str
) -> None:
    files = tuple(Attachment(AttachmentKind.FILE, name, "ref") for name in ("plan.pdf", "b.txt"))
    of = group("see", attachments=files)
    now = tuple(Attachment(AttachmentKind.FILE, name, "ref") for name in names)
    quotations = (Quotation(QuotationKind.FORWARD, "x", files=quoted),) if quoted else None
    edit = replace(changed(of, text), attachments=now, quotations=quotations)
    await accept(db, RecordOnly(of), RecordOnly(edit))
    assert await kept(db) == [expected]


async def test_the_transcript_of_a_recording_goes_with_it(db: Database) -> None:
    voice = Attachment(AttachmentKind.VOICE, "voice.ogg", "ref")
    spoken = Quotation(QuotationKind.TRANSCRIPT, "hello", files=("voice.ogg",))
    of = replace(group("listen", attachments=(voice,)), quotations=(spoken,))
    await accept(db, RecordOnly(of), replace(changed(of, "hear"), attachments=(voice,), quotations=()))
    [found] = await db.transact(list_recorded, "tg", "g", 0.0, 1e9)
    assert (found.text, found.quotations) == ("hear", (spoken,)), "the transcript names its file"
    await accept(db, replace(changed(of, "hear"), attachments=()))
    [found] = await db.transact(list_recorded, "tg", "g", 0.0, 1e9)
    assert (found.text, found.quotations) == ("hear", ())


async def test_an_edit_of_an_unrecorded_message_records_nothing(db: Database) -> None:
    await accept(db, RecordOnly(changed(group("one"), "uno")))
    assert await kept(db) == []


async def test_what_is_meant_for_the_bot_is_kept_where_its_chat_is_recorded(db: Database) -> None:
    await accept(db, admission(group("one"), recorded=True), admission(group("two")))
    assert await kept(db) == ["one"]


async def test_time_topic_and_number(db: Database) -> None:
    for number in range(6):
        await accept(db, RecordOnly(group(f"{number}", at=float(number), topic="ab"[number % 2])))
    assert [one.text for one in await db.transact(list_recorded, "tg", "g", 1.0, 4.0)] == ["2", "3", "4"]
    assert [one.text for one in await db.transact(list_recorded, "tg", "g", -1.0, 9.0, 2)] == ["4", "5"]
    assert await kept(db, topic="b") == ["1", "3", "5"]


async def test_private_topics_are_read_there_alone(db: Database) -> None:
    secret, public = group("secret", topic="p"), group("public", topic="o")
    secret = replace(secret, origin=replace(secret.origin, private_topic=True))
    await accept(db, RecordOnly(secret), RecordOnly(public))
    assert await kept(db) == ["public"]
    assert await kept(db, reader="o") == ["public"]
    assert await kept(db, reader="p") == ["secret", "public"]
    assert await kept(db, topic="p") == ["secret"]


async def test_changes_are_followed(db: Database) -> None:
    one, two = group("one"), group("two")
    await accept(db, RecordOnly(one), RecordOnly(two))
    await accept(db, changed(one, "uno"), RecordOnly(changed(two, None)))
    assert await kept(db) == ["uno"]


KNOWN_BY = pytest.mark.parametrize("has_id", [True, False])


def replying(of: InboundMessage, *, has_id: bool, **more: object) -> InboundMessage:
    """A message that quotes another, with or without its id."""
    origin = of.origin
    found = Quotation(
        QuotationKind.REPLY,
        of.text,
        origin.sender.name,
        origin.sender.id,
        ("a.pdf",),
        of.sent_at,
        origin.message_id if has_id else "",
    )
    return replace(group("no", sender=BEN, at=of.sent_at + 1), quotations=(replace(found, **more),))  # type: ignore[arg-type]


async def quoted_texts(db: Database) -> list[str]:
    found = await db.transact(list_recorded, "tg", "g", 0.0, 1e9)
    return [quotation.text for one in found for quotation in one.quotations]


@KNOWN_BY
async def test_a_deleted_message_is_not_told_by_its_replies(db: Database, has_id: bool) -> None:
    of, other = group("secret"), group("secret", at=90.0)
    found = [
        replying(of, has_id=has_id),
        replying(of, has_id=has_id, kind=QuotationKind.THREAD_START),
        replying(of, has_id=has_id, kind=QuotationKind.FORWARD),
        replying(other, has_id=has_id),
    ]
    await accept(db, *map(RecordOnly, (of, other, *found)), changed(of, None))
    assert await quoted_texts(db) == ["secret", "[deleted message]", "[deleted message]", "secret"]
    [_, _, reply, *_] = await db.transact(list_recorded, "tg", "g", 0.0, 1e9)
    assert reply.quotations[0].files == ()


@KNOWN_BY
async def test_an_edited_message_is_told_by_its_replies_as_it_is_now(db: Database, has_id: bool) -> None:
    of = group("teh door")
    reply = replying(of, has_id=has_id)
    edit, preview = changed(of, "the door"), Quotation(QuotationKind.PREVIEW, "A site")
    await accept(db, RecordOnly(of), RecordOnly(reply), edit)
    assert await quoted_texts(db) == ["the door"]
    await accept(db, replace(changed(of, "the door"), quotations=(preview,)))
    await accept(db, replace(changed(of, "x" * (LONGEST + 1)), attachments=()))
    assert await quoted_texts(db) == ["A site", "x" * LONGEST]


async def test_a_reply_without_an_id_is_known_by_author_and_text(db: Database) -> None:
    of = group("secret")
    by_ben, said = replying(of, has_id=False, author_id=BEN.id), replying(of, has_id=False, text="secrets")
    await accept(db, *map(RecordOnly, (of, by_ben, said)), changed(of, None))
    assert await quoted_texts(db) == ["secret", "secrets"]


async def test_a_message_that_only_replies_record_is_changed_there(db: Database) -> None:
    of = group("disk full")
    await accept(db, RecordOnly(replying(of, has_id=True)), changed(of, "disk full: db1"))
    assert await quoted_texts(db) == ["disk full: db1"]
    elsewhere = replace(of, origin=replace(of.origin, chat="other"))
    await accept(db, changed(elsewhere, None))
    assert await quoted_texts(db) == ["disk full: db1"]
    await accept(db, changed(of, None))
    assert await quoted_texts(db) == ["[deleted message]"]


async def test_days_are_kept_and_the_end_deletes(db: Database) -> None:
    await db.transact(set_recording, "tg", "g", 2, ACTOR, 100.0)
    await db.transact(set_recording, "tg", "g", 3, replace(ACTOR, key="turn:2"), 200.0)
    [chat] = await db.transact(list_recorded_chats)
    assert (chat.account, chat.chat, chat.days, chat.since) == ("tg", "g", 3, 100.0)
    await accept(db, RecordOnly(group("old", at=0.0)), RecordOnly(group("young", at=DAY)))
    await db.transact(purge_record, 3.5 * DAY)
    assert await kept(db) == ["young"]
    await db.transact(set_recording, "tg", "g", 0, replace(ACTOR, key="turn:3"), 300.0)
    assert await db.transact(list_recorded_chats) == []
    assert await kept(db) == []
    assert [entry.deed.detail for entry in await db.transact(list_audit_entries)] == [
        "0 days",
        "3 days",
        "2 days",
    ]


async def test_what_was_said_before_a_turn(db: Database) -> None:
    first = group("first question", at=50.0)
    [asked] = await accept(db, RecordOnly(group("a", at=10.0)), admission(first, recorded=True), now=51.0)
    await db.transact(save_turn, asked.turn, [], 52.0, state=TurnState.DONE)
    await accept(db, RecordOnly(group("b", at=60.0)), RecordOnly(group("c", at=99.0)))
    second = group("second question", at=100.0, reply_to=first.origin.message_id)
    [taken] = await accept(db, admission(second, recorded=True), now=101.0)
    turn = (await db.transact(load_turn, taken.turn)).turn
    assert turn is not None
    assert [one.text for one in await db.transact(list_recorded_before, turn, DAY, 10)] == ["b", "c"]
    assert [one.text for one in await db.transact(list_recorded_before, turn, DAY, 1)] == ["c"]
    assert [one.text for one in await db.transact(list_recorded_before, turn, 5.0, 10)] == ["c"]


async def test_what_was_said_in_the_second_of_the_previous_turn(db: Database) -> None:
    """Telegram's times have no fractions, so messages behind a turn can have an earlier time than it."""
    first = group("first question", at=50.0)
    [asked] = await accept(db, RecordOnly(group("a", at=50.0)), admission(first, recorded=True), now=50.6)
    await db.transact(save_turn, asked.turn, [], 50.7, state=TurnState.DONE)
    await accept(db, RecordOnly(group("b", at=50.0)))
    second = group("second question", at=50.0, reply_to=first.origin.message_id)
    [taken] = await accept(db, admission(second, recorded=True), now=50.9)
    turn = (await db.transact(load_turn, taken.turn)).turn
    assert turn is not None
    assert [one.text for one in await db.transact(list_recorded_before, turn, DAY, 10)] == ["b"]


async def test_questions_that_were_answered_together_are_not_repeated(db: Database) -> None:
    first = group("question 0", at=50.0)
    reply = partial(group, reply_to=first.origin.message_id)
    asked = [first, *(reply(f"question {n}", at=50.0 + n) for n in (1, 2))]
    taken = await accept(db, *(admission(one, recorded=True) for one in asked), now=60.0)
    assert len({one.turn for one in taken}) == 1
    await db.transact(save_turn, taken[0].turn, [], 61.0, state=TurnState.DONE)
    await accept(db, RecordOnly(group("b", at=62.0)))
    [later] = await accept(db, admission(reply("and now?", at=70.0), recorded=True), now=70.0)
    turn = (await db.transact(load_turn, later.turn)).turn
    assert turn is not None
    assert [one.text for one in await db.transact(list_recorded_before, turn, DAY, 10)] == ["b"]


async def test_a_chat_that_moves_takes_its_record_along(db: Database) -> None:
    await db.transact(set_recording, "tg", "g", 2, ACTOR, 100.0)
    await accept(db, RecordOnly(group("hello")))
    await db.transact(migrate_chat, "tg", "g", "h")
    assert [one.text for one in await db.transact(list_recorded, "tg", "h", 0.0, 1e9)] == ["hello"]
    assert [chat.chat for chat in await db.transact(list_recorded_chats)] == ["h"]


async def test_messages_are_listed_by_their_arrival(db: Database) -> None:
    late, ahead = group("late", at=100.0), group("ahead", at=900.0, topic="t")
    await accept(db, RecordOnly(late), now=500.0)
    await accept(db, RecordOnly(ahead), now=600.0)
    await accept(db, RecordOnly(late), now=700.0)

    async def arrived(since: float, until: float, **more: str) -> list[str]:
        found = await db.transact(list_arrived, "tg", "g", since, until, 10, **more)
        return [one.text for one in found]

    assert await arrived(499.0, 600.0) == ["late", "ahead"]
    assert await arrived(500.0, 600.0) == ["ahead"]
    assert await arrived(600.0, 1e9) == []
    assert await arrived(0.0, 1e9, topic="t") == ["ahead"]


async def test_a_message_of_an_earlier_version_arrived_when_it_was_sent(db: Database) -> None:
    await accept(db, RecordOnly(group("old", at=200.0)), now=0.0)
    assert [one.text for one in await db.transact(list_arrived, "tg", "g", 199.0, 200.0, 10)] == ["old"]
    assert await db.transact(list_arrived, "tg", "g", 200.0, 1e9, 10) == []
