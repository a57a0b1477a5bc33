"""A person's sessions and what they wrote in the console, in an erasure and an export."""

from __future__ import annotations

from dataclasses import replace

from bot.domain import Sender
from bot.features.privacy.written_messages import erase_person, iterate_written
from bot.store import Database
from bot.store.admission_types import Verdict
from bot.store.inbox import accept_batch
from bot.store.person_data import PersonKey
from bot.store.web_sessions import (
    SecretHash,
    create_sign_in_code,
    load_session,
    redeem_sign_in_code,
)
from tests.contract.store.inbound_messages import admission, message
from tests.contract.store.test_web_sessions import asked


async def test_erasing_a_person_signs_them_out(db: Database) -> None:
    command = await asked(db)
    await db.transact(create_sign_in_code, SecretHash("one", 700.0), command, 100.0)
    await db.transact(redeem_sign_in_code, "one", SecretHash("s1", 2000.0), "k1", 101.0)
    await db.transact(create_sign_in_code, SecretHash("two", 700.0), command, 100.0)
    await erase_person(db, PersonKey("telegram", "7"), (), 0.0)
    assert await db.transact(load_session, "s1", 102.0) is None
    assert await db.transact(redeem_sign_in_code, "two", SecretHash("s2", 2000.0), "k2", 102.0) is None


async def test_what_is_written_at_the_page_is_exported_and_erased(db: Database) -> None:
    linked = Sender("telegram:7", "Ann", account="tg")
    of = message("at the page", chat="w1", sender=linked)
    at_page = admission(of, Verdict.CHAT)
    origin = replace(of.origin, account="web", platform="web")
    await db.transact(
        accept_batch, "web", [replace(at_page, message=replace(of, origin=origin))], "", 100.0, 20
    )
    person = PersonKey("telegram", "7")
    written = [one.text async for found in iterate_written(db, person) for one in found]
    assert written == ["at the page"]
