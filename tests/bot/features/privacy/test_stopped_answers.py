"""Answers that an erased person had stopped."""

from __future__ import annotations

from bot.features.privacy.erasures import erase_names
from bot.store.languages import list_languages
from bot.store.person_data import PersonKey
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_stopped_answers import asks, stopped, told


async def test_an_erased_person_is_not_named(at: Bench) -> None:
    async with at.running():
        await stopped(at, await asks(at, "one", 1))
        await at.db.transact(erase_names, PersonKey("recording", "7"))
        [note] = told(await asks(at, "two", 2))
    assert note.endswith("\n[stopped here]")


async def test_an_erased_person_has_no_language(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("/language zh", locale="zh")
        await at.until(lambda: at.adapter.texts())
        await at.db.transact(erase_names, PersonKey("recording", "7"))
        assert await at.db.transact(list_languages) == {}
