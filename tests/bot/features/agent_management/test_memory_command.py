"""`/memory`: a person's own in private, the group's in a group, nothing of the other."""

from __future__ import annotations

import pytest

from bot.access import Role
from bot.domain import ChatKind
from bot.store.audit import AuditEvent, list_audit_entries
from bot.store.read_models import list_turns
from tests.component.dispatch.bench import Bench

ADA, GROUP = "person:rec:recording:7", "group:rec:c9"


@pytest.fixture(autouse=True)
def remembered(at: Bench) -> None:
    at.runtime.remembered = {
        ADA: {"fact_1": "Likes tea.", "fact_2": "Has a *cat*."},
        "person:rec:recording:8": {"fact_3": "Bob's secret."},
        GROUP: {"fact_4": "Ships on Fridays."},
    }


async def told(at: Bench, text: str, *, group: bool = False, person: str = "7") -> str:
    chat = "c9" if group else f"c{person}"
    before = len(at.adapter.texts(chat))
    async with at.running():
        kind = ChatKind.GROUP if group else ChatKind.PRIVATE
        await at.adapter.hears(text, chat=chat, kind=kind, person=person)
        for _ in range(600):
            if len(at.adapter.texts(chat)) > before:
                break
            await at.db.transact(list_turns, 1)
            await at.rest(0.1)
    assert at.runtime.runs == {}, "no model is asked"
    return at.adapter.texts(chat)[-1]


async def test_a_person_sees_their_own(at: Bench) -> None:
    shown = await told(at, "/memory")
    assert shown.startswith("**What I remember about you**")
    assert "Likes tea. `fact_1`" in shown
    assert "secret" not in shown
    assert "Fridays" not in shown


async def test_a_group_sees_the_groups(at: Bench) -> None:
    for person in ("7", "8"):
        shown = await told(at, "/memory", group=True, person=person)
        assert shown.startswith("**What I remember about this group**")
        assert "Ships on Fridays. `fact_4`" in shown
        assert "tea" not in shown
        assert "secret" not in shown


async def test_an_export_is_everything_as_json(at: Bench) -> None:
    shown = await told(at, "/memory export")
    assert shown.startswith("```json\n{")
    assert '"Has a *cat*."' in shown
    assert shown.endswith("}\n```")


async def test_one_fact_or_all_is_forgotten(at: Bench) -> None:
    assert await told(at, "/memory forget `fact_1`") == "I've erased that fact."
    assert (
        await told(at, "/memory forget fact_1")
        == "I don't remember a fact with that id. `/memory` lists all facts and their ids."
    )
    assert (
        await told(at, "/memory forget fact_3")
        == "I don't remember a fact with that id. `/memory` lists all facts and their ids."
    )
    assert "cat" in await told(at, "/memory show")
    assert await told(at, "/memory FORGET") == "I've erased everything I remembered about you."
    assert await told(at, "/memory") == "I don't remember anything about you beyond this conversation."
    assert at.runtime.remembered is not None
    assert set(at.runtime.remembered) == {"person:rec:recording:8", GROUP}


async def test_what_a_group_has_is_forgotten_by_admins(at: Bench) -> None:
    at.role = Role.MEMBER
    for text in ("/memory forget", "/memory forget fact_4"):
        assert await told(at, text, group=True) == "Only admins can erase what I remember about a group."
    assert "Fridays" in await told(at, "/memory export", group=True)
    assert await told(at, "/memory forget") == "I've erased everything I remembered about you.", (
        "their own they may"
    )
    at.role = Role.ADMIN
    assert (
        await told(at, "/memory forget", group=True)
        == "I've erased everything I remembered about this group."
    )
    assert (
        await told(at, "/memory", group=True)
        == "I don't remember anything about this group beyond this conversation."
    )


async def test_what_a_group_has_forgotten_is_written_down(at: Bench) -> None:
    await told(at, "/memory forget fact_9", group=True)
    assert await at.db.transact(list_audit_entries) == []
    await told(at, "/memory forget fact_4", group=True)
    [deed] = [one.deed for one in await at.db.transact(list_audit_entries)]
    assert deed == AuditEvent("memory forgotten", GROUP, "fact_4")


@pytest.mark.parametrize("text", ["/memory burn", "/memory export all", "/memory show fact_1"])
async def test_what_it_does_not_know_it_says(at: Bench, text: str) -> None:
    assert (await told(at, text)).startswith("Use `/memory`")


async def test_a_runtime_without_memory_or_without_an_answer(at: Bench) -> None:
    at.runtime.remembered = None
    for text in ("/memory", "/memory export", "/memory forget", "/memory forget x"):
        assert await told(at, text) == "This agent runtime doesn't have a memory that I can show."
    at.runtime.down = True
    assert (await told(at, "/memory")).startswith("I can't access my memory right now")


async def test_the_agent_hears_whose_words_they_are(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("hello", chat="c9", kind=ChatKind.GROUP, person="8")
        for _ in range(600):
            if at.runtime.runs:
                break
            await at.db.transact(list_turns, 1)
            await at.rest(0.1)
    [run] = at.runtime.runs.values()
    [message] = run.request.messages
    assert message["additional_kwargs"] == {"sender": "recording:8"}
    assert run.request.configurable["user_id"] == "recording:8"
