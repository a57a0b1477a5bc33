"""Messages of apps in erasures, exports and what expires."""

from __future__ import annotations

from dataclasses import replace

from bot.domain import ChatKind
from bot.features.privacy.erasures import list_said, record_erasure
from bot.features.privacy.expired_texts import KNOWN_MESSAGES_KEPT, purge_message_history
from bot.features.privacy.thread_replacement import collect_chats
from bot.features.privacy.written_messages import ANONYMIZE_MESSAGE, NOBODY, list_written
from bot.store import Database
from bot.store.admission_types import Accepted
from bot.store.audit import Actor
from bot.store.connection import NEWEST, encode_sender, sql
from bot.store.person_data import PersonKey
from bot.store.turns import (
    Begin,
    claim_turn,
)
from tests.contract.store.inbound_messages import accept, admission, message
from tests.contract.store.test_approvals import stands
from tests.contract.store.test_apps import by_ann, by_app, edited, taken


async def test_what_an_app_wrote_is_not_the_persons(db: Database) -> None:
    await accept(db, by_app(), by_ann())
    assert [one.text for one in await db.transact(list_written, PersonKey("telegram", "7"), 0)] == ["hello"]
    assert [one.text for one in await db.transact(list_written, PersonKey("telegram", "app:7"), 0)] == [
        "disk is full"
    ]


async def test_the_erasure_of_a_person_leaves_the_threads_of_an_app_with_the_same_id(db: Database) -> None:
    [accepted] = await accept(db, by_app("go"))
    begun = await db.transact(claim_turn, accepted.conversation, 101.0)
    assert isinstance(begun, Begin)
    await stands(db, begun.turn, ChatKind.GROUP)
    for person in ("7", "app:7"):
        key = PersonKey("telegram", person)
        number = await db.transact(record_erasure, key, (), Actor("e", str(key), "", "tg", ""), 5.0)
        said = await db.transact(list_said, key, 0, NEWEST)
        chats = await db.transact(collect_chats, number, [one.conversation for one in said], ())
        assert bool(chats) == (person == "app:7")


async def test_a_dropped_message_stays_dropped_when_it_comes_again(db: Database) -> None:
    late = by_app()
    await taken(db, by_app(), by_app(), late)
    await taken(db, by_ann())
    assert await taken(db, late) == []
    assert [type(one) for one in await taken(db, by_app())] == [Accepted]
    rows = sql("SELECT event_id, text FROM inbound WHERE turn_id = 0")
    [dropped] = await db.transact(lambda store: store.execute(rows).all())
    assert (dropped.event_id, dropped.text) == (late.message.event_id, "")
    await purge_message_history(db, 100.0 + KNOWN_MESSAGES_KEPT + 1)
    assert await db.transact(lambda store: store.execute(rows).all()) == []


async def test_an_edit_of_an_erased_message_is_not_answered_again(db: Database) -> None:
    of = message("@bot hello", kind=ChatKind.GROUP)
    await accept(db, admission(of))
    [row] = await db.transact(lambda store: store.execute(sql("SELECT id FROM inbound")).all())
    erased = {"id": row.id, "nobody": encode_sender(NOBODY)}
    await db.transact(lambda store: store.execute(ANONYMIZE_MESSAGE, erased))
    again = edited(of)
    assert await accept(db, replace(again, change=replace(again.change, message=of))) == []
