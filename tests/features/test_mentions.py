"""Mentions of a person in the record and in erasures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain import ChatKind, Mention, MentionKind
from bot.features.privacy import erasures
from bot.features.privacy.quotation_masking import mask_messages, mask_turns
from bot.features.privacy.text_masking import TextMask
from bot.features.privacy.thread_replacement import collect_chats
from bot.features.record.record_store import list_recorded
from bot.store import Database
from bot.store.admission_types import RecordOnly
from bot.store.audit import Actor
from bot.store.person_data import ChatKey, PersonKey
from bot.store.read_models import list_turns
from bot.store.turns import claim_turn
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, changed, message
from tests.contract.store.test_mentions import NAMED, naming
from tests.harness.person_data import list_person_data

ANN_HERE = PersonKey("telegram", ANN.id)


DATA = list_person_data()


BY_ANN = Actor("k1", f"telegram:{ANN.id}", "Ann", "tg", "c")


async def test_an_erasure_finds_who_was_mentioned_before_an_edit(db: Database) -> None:
    now = (Mention(MentionKind.PERSON, "Ben", BEN.id), NAMED[0])
    read, recorded = naming(chat="g", kind=ChatKind.GROUP), naming(chat="other", kind=ChatKind.GROUP)
    [accepted] = await accept(db, admission(read), RecordOnly(recorded))
    await db.transact(claim_turn, accepted.conversation, 101.0)
    for mentions in (now, now[:1]):
        edits = (replace(changed(one, "ask @Ben", at=50.0), mentions=mentions) for one in (read, recorded))
        await accept(db, *edits)
    [view] = await db.transact(list_turns, accepted.conversation)
    [kept] = await db.transact(list_recorded, "tg", "other", 0.0, 1e12)
    assert view.messages[0].mentions == kept.mentions == (*NAMED, now[0])
    number = await db.transact(erasures.record_erasure, ANN_HERE, (), BY_ANN, 5.0)
    assert [one.chat for one in await db.transact(collect_chats, number, (), DATA)] == [
        "g",
        "other",
    ]


@pytest.mark.guard(
    "an erased person is removed from mentions",
    "bot/features/privacy/quotation_masking.py",
    "_remove_mentions(words.mentions, person),",
    "words.mentions,",
    against="forged names",
)
async def test_an_erased_persons_id_is_removed_from_what_others_wrote(db: Database) -> None:
    [accepted] = await accept(db, admission(naming(chat="g", kind=ChatKind.GROUP), recorded=True))
    await db.transact(mask_turns, accepted.conversation, 0, TextMask([]), ANN_HERE)
    await db.transact(mask_messages, ChatKey("tg", "g"), TextMask([]), ANN_HERE, DATA)
    [view] = await db.transact(list_turns, accepted.conversation)
    [kept] = await db.transact(list_recorded, "tg", "g", 0.0, 1e12)
    assert view.messages[0].mentions == kept.mentions == NAMED[1:]
    assert view.messages[0].text == "ask @Ann", "many people can have a name"


async def test_chats_in_which_they_are_only_mentioned_are_listed(db: Database) -> None:
    await accept(db, admission(naming(chat="g", kind=ChatKind.GROUP)))
    await accept(db, RecordOnly(naming(chat="other", kind=ChatKind.GROUP)))
    other = replace(message("see", sender=BEN, chat="no", kind=ChatKind.GROUP), mentions=NAMED[1:2])
    await accept(db, admission(other))
    number = await db.transact(erasures.record_erasure, ANN_HERE, (), BY_ANN, 5.0)
    assert [one.chat for one in await db.transact(collect_chats, number, (), DATA)] == [
        "g",
        "other",
    ]
