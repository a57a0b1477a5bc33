"""`/data`: what is kept about somebody is told, handed out and erased."""

from __future__ import annotations

import orjson
import pytest

from bot.domain import ChatKind
from bot.features.privacy import person_erasure
from bot.features.privacy.deletion_job import DeletionJob
from bot.features.privacy.leaving_threads import has_abandoned_threads
from bot.runtime.interface import RunEnded, RunFailed, RunRequest
from bot.store.audit import Actor, list_audit_entries
from bot.store.connection import sql
from bot.store.conversations import list_conversations
from bot.store.people import RoleGrant, grant_role
from bot.store.person_data import PersonKey
from bot.store.read_models import list_turns
from roebot_testing.runtime import ScriptedRun, answer_with
from tests.component.dispatch.bench import Bench

DAY = 86_400.0


async def says(at: Bench, text: str, chat: str = "chat", **more: object) -> str:
    """What a chat is answered to that."""
    before = len(at.adapter.texts(chat))
    await at.adapter.hears(text, chat=chat, **more)  # type: ignore[arg-type]
    await at.until(lambda: len(at.adapter.texts(chat)) > before)
    await at.rest(0.3)
    return at.adapter.texts(chat)[-1]


def retention(at: Bench) -> DeletionJob:
    assert at.core is not None
    return at.core.part(DeletionJob)


async def test_it_says_for_how_long(at: Bench) -> None:
    async with at.running():
        assert "until someone erases them" in await says(at, "/data")
        at.kept_days = 30
        assert "kept for 30 days" in await says(at, "/data")
        assert "`/data export`" in await says(at, "/data perhaps")


async def test_others_do_not_read_along(at: Bench) -> None:
    async with at.running():
        for words in ("export", "erase", "erase yes"):
            said = await says(at, f"/data {words}", chat="group", kind=ChatKind.GROUP)
            assert "in a private chat" in said


async def test_an_export_is_a_file(at: Bench) -> None:
    at.runtime.script = answer_with("four")
    at.runtime.remembered = {"person:rec:recording:7": {"f1": "Likes numbers."}}
    for entry in ("rec:7", "other:7"):
        by = Actor(entry, "web:owner", "", "web", "")
        await at.db.transact(grant_role, RoleGrant(entry, "member", "Ann", "", 0.0), by, 0.0)
    async with at.running():
        await says(at, "two and two?")
        await at.adapter.hears("/data export")
        await at.until(lambda: at.adapter.files)
    document = orjson.loads(at.adapter.files["roebot-data.json"])
    assert document["person"] == "recording:7"
    [message] = [one for one in document["messages"] if one["text"] == "two and two?"]
    assert message["answer"] == "four"
    assert message["sent_at"].startswith("1970-01-12T")
    [facts] = [memory["facts"] for memory in document["memory"].values()]
    assert list(document["memory"]) == ["person:rec:recording:7"]
    assert [fact["content"] for fact in facts] == ["Likes numbers."]
    assert [one["entry"] for one in document["roles"]] == ["rec:7"]
    assert "data exported" in [one.deed.action for one in await at.db.transact(list_audit_entries)]


async def test_erasing_asks_once_and_then_does_it(at: Bench) -> None:
    at.runtime.script = answer_with("I keep it")
    at.runtime.remembered = {
        "person:rec:recording:7": {"f1": "Has a secret."},
        "group:rec:g": {"f2": "Group."},
    }
    async with at.running():
        await says(at, "my secret")
        [run] = at.runtime.runs.values()
        thread = run.request.thread_id
        assert "can't be undone" in await says(at, "/data erase")
        assert at.runtime.deleted == []
        said = await says(at, "/data erase yes")
        assert "Conversations, including their files: 1." in said
        assert at.runtime.remembered == {"group:rec:g": {"f2": "Group."}}
        assert at.runtime.deleted == [thread]
        await says(at, "a new day")
        latest = [*at.runtime.runs.values()][-1]
        assert latest.request.thread_id != thread
    assert [
        one.deed.subject
        for one in await at.db.transact(list_audit_entries)
        if one.deed.action == "data erased"
    ] == ["recording:7"]


async def test_the_accounts_forget_a_person_at_once(at: Bench) -> None:
    async with at.running():
        await says(at, "/data erase yes")
    assert at.forgotten == [PersonKey("recording", "7")]


async def test_a_runtime_that_is_away_is_asked_again(at: Bench) -> None:
    at.runtime.script = answer_with("yes")
    async with at.running():
        await says(at, "hello")
        at.runtime.down = True
        assert "its memory of you have not been erased yet" in await says(at, "/data erase yes")
        assert "still in progress" in await says(at, "/data")
        assert await at.db.transact(has_abandoned_threads)
        assert not await retention(at).resume_erasures()
        at.runtime.down = False
        assert await retention(at).resume_erasures()
        assert len(at.runtime.deleted) == 1
        assert "Your data was last erased on" in await says(at, "/data")


async def test_what_is_too_old_goes_by_itself(at: Bench) -> None:
    at.runtime.script = answer_with("noted")
    at.kept_days = 2
    async with at.running():
        await says(at, "old news")
        [conversation] = await at.db.transact(list_conversations, "rec")
        await at.clock.leap(3 * DAY)
        await retention(at).delete_expired()
        [turn] = await at.db.transact(list_turns, conversation.id)
        assert (turn.messages, turn.parts) == ((), ())
        assert await retention(at).delete_threads()
        assert at.runtime.deleted == [conversation.thread_id]


async def test_a_run_of_the_person_is_cancelled_first(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("[long work]")
        await at.until(lambda: at.runtime.runs)
        said = await says(at, "/data erase yes")
        assert "Your data has been erased. Messages, including their answers: 1." in said
        [run] = at.runtime.runs.values()
        assert run.cancelled
        assert at.runtime.deleted == [run.request.thread_id]
        assert await retention(at).resume_erasures()
        assert "Your data was last erased on" in await says(at, "/data")


async def test_the_command_that_erases_is_erased_when_it_is_answered(at: Bench) -> None:
    async with at.running():
        await says(at, "/data erase yes")
        assert "still in progress" in await says(at, "/data")
        assert await retention(at).resume_erasures()
        senders = await at.db.transact(
            lambda connection: [
                (row.text, row.sender)
                for row in connection.execute(sql("SELECT text, sender FROM inbound ORDER BY id")).all()
            ]
        )
    assert [text for text, _ in senders] == ["", "/data"]
    assert '"7"' not in senders[0][1]


GROUP = {"chat": "group", "kind": ChatKind.GROUP}
FERRY = "The ferry leaves at half past six from pier two."


def newest(at: Bench) -> RunRequest:
    """The request of the last run."""
    return [*at.runtime.runs.values()][-1].request


async def test_a_group_starts_over_with_what_others_wrote(at: Bench) -> None:
    at.runtime.script = answer_with("noted: my code is 4711zebra")
    at.runtime.remembered = {"group:rec:group": {"f": "Ann has a code."}, "group:rec:other": {"g": "Fine."}}
    async with at.running():
        await says(at, "my code is 4711zebra", topic="trip", **GROUP)
        await says(at, "bens words", person="8", topic="trip", **GROUP)
        old = newest(at)
        said = await says(at, "/data erase yes")
        assert "Conversations with other people: 1." in said
        assert at.runtime.deleted == [old.thread_id]
        assert at.runtime.remembered == {"group:rec:other": {"g": "Fine."}}
        assert at.runtime.signed_out == ["recording:7"]
        await at.until(lambda: "I've started over in this chat" in at.adapter.texts("group")[-1])
        told = len(at.adapter.texts("group"))
        at.runtime.script = answer_with("ok")
        await says(at, "and now?", person="9", topic="trip", **GROUP)
        begun = newest(at)
        assert begun.thread_id != old.thread_id
        assert "bens words" in str(begun.messages)
        assert "zebra" not in str(begun.messages)
        assert await retention(at).resume_erasures()
        assert len(at.adapter.texts("group")) == told + 1, "the group is notified once"
        [conversation] = [
            one for one in await at.db.transact(list_conversations, "rec") if one.thread_id == begun.thread_id
        ]
        turns = await at.db.transact(list_turns, conversation.id)
    parts = [part.content for turn in turns for part in turn.parts]
    assert sorted(parts) == sorted(["noted: [erased]", at.adapter.texts("group")[-2], "ok"])
    assert [one.text for turn in turns for one in turn.messages] == ["and now?", "bens words", ""]


async def test_what_the_agent_was_told_of_their_exchanges_goes_with_them(at: Bench) -> None:
    """Ben's conversation was told what Ann was answered, and repeats it."""
    async with at.running():
        at.runtime.script = answer_with(FERRY)
        await says(at, "when does it leave?", topic="t1", **GROUP)
        at.runtime.script = answer_with(f"As I told Ann: {FERRY}")
        await says(at, "and for me?", person="8", topic="t2", **GROUP)
        told = newest(at)
        assert FERRY in str(told.messages)
        await says(at, "/data erase yes")
        assert told.thread_id in at.runtime.deleted
        at.runtime.script = answer_with("ok")
        await says(at, "hello", person="9", topic="t3", **GROUP)
        await says(at, "so?", person="8", topic="t2", **GROUP)
        late = str([one.request.messages for one in [*at.runtime.runs.values()][-2:]])
        turns = await at.db.transact(list_turns, 2)
    assert "ferry" not in late
    assert "and for me?" in late
    assert "As I told Ann: [erased]." in [part.content for turn in turns for part in turn.parts]


async def test_what_the_service_said_to_others_too_stays(at: Bench) -> None:
    def fails(run: ScriptedRun) -> None:
        run.emit(RunFailed("ProviderOverloaded", "The provider is overloaded."), RunEnded("error"))

    async with at.running():
        at.runtime.script = answer_with(FERRY)
        await says(at, "when does it leave?", topic="t1", **GROUP)
        at.runtime.script = fails
        told = await says(at, "and for me?", person="8", topic="t2", **GROUP)
        assert "ferry" in str(newest(at).messages)
        assert told == await says(at, "and back?", topic="t1", **GROUP)
        await says(at, "/data erase yes")
        turns = await at.db.transact(list_turns, 2)
    assert told in [part.content for turn in turns for part in turn.parts]


async def test_exchanges_of_who_is_being_erased_are_told_no_more(at: Bench) -> None:
    at.runtime.script = answer_with(FERRY)
    async with at.running():
        await says(at, "when does it leave?", topic="t1", **GROUP)
        at.runtime.down = True
        await says(at, "/data erase yes")
        await at.adapter.hears("and for me?", person="8", topic="t2", **GROUP)  # type: ignore[arg-type]
        await at.rest(0.3)
        at.runtime.down = False
        await at.until(lambda: len(at.runtime.runs) == 2)
        await at.rest(0.3)
    assert "ferry" not in str(newest(at).messages)


async def test_the_run_of_somebody_else_ends_and_its_thread_goes_then(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ben's run has read what Ann wrote; the message behind it begins on the new thread."""
    monkeypatch.setattr(person_erasure, "POLLS", 2)
    at.runtime.script = answer_with("noted")
    async with at.running():
        await says(at, "my code is 4711zebra", topic="trip", **GROUP)
        at.runtime.script = None
        await at.adapter.hears("[long work]", person="8", topic="trip", **GROUP)  # type: ignore[arg-type]
        await at.until(lambda: len(at.runtime.runs) == 2)
        [_, running] = at.runtime.runs.values()
        await at.adapter.hears("after it", person="9", topic="trip", **GROUP)  # type: ignore[arg-type]
        await at.rest(0.3)
        assert "busy or not responding" in await says(at, "/data erase yes")
        assert not running.cancelled
        assert at.runtime.deleted == []
        at.runtime.script = answer_with("fine")
        running.say("It is 4711zebra.")
        running.end("success")
        await at.until(lambda: len(at.runtime.runs) == 3)
        await at.rest(0.3)
        following = newest(at)
        assert following.thread_id != running.request.thread_id
        assert "zebra" not in str(following.messages)
        assert "[long work]" in str(following.messages)
        assert await retention(at).resume_erasures()
        assert at.runtime.deleted == [running.request.thread_id]
        texts = [text for text in at.adapter.texts("group") if "zebra" in text]
        turns = await at.db.transact(list_turns, 1)
    assert texts == ["It is 4711zebra."], "Ben gets his answer"
    assert "zebra" not in str(turns)


async def test_an_erasure_that_was_interrupted_knows_what_others_were_told(at: Bench) -> None:
    """Ben's conversation was told of Ann, and answered her; Cleo's was told that answer. The store fails when
    Ben's has been masked.
    """
    fails = """CREATE TRIGGER full_disk BEFORE UPDATE OF content ON parts WHEN NEW.content LIKE '%[erased]%'
    BEGIN SELECT RAISE(ABORT, 'full'); END"""
    async with at.running():
        at.runtime.script = answer_with("From the harbour, as ever.")
        await says(at, "where does it leave?", topic="t1", **GROUP)
        await says(at, "and for me?", person="8", topic="t2", **GROUP)
        at.runtime.script = answer_with(FERRY)
        await says(at, "when does it leave?", topic="t2", **GROUP)
        at.runtime.script = answer_with(f"As I told Ann: {FERRY}")
        await says(at, "and for me?", person="9", topic="t3", **GROUP)
        await at.db.transact(lambda connection: connection.execute(sql(fails)))
        await at.adapter.hears("/data erase yes")
        await at.rest(1.0)
        await at.db.transact(lambda connection: connection.execute(sql("DROP TRIGGER full_disk")))
        assert await retention(at).resume_erasures()
        turns = await at.db.transact(list_turns, 3)
    assert "As I told Ann: [erased]." in [part.content for turn in turns for part in turn.parts]


async def test_what_is_written_after_the_request_stays(at: Bench) -> None:
    at.runtime.script = answer_with("yes")
    async with at.running():
        await says(at, "before")
        at.runtime.down = True
        await says(at, "/data erase yes")
        await at.adapter.hears("after")
        at.runtime.down = False
        await at.until(lambda: len(at.runtime.runs) == 2)
        await at.rest(0.3)
        assert await retention(at).resume_erasures()
        texts = [
            one.text
            for conversation in await at.db.transact(list_conversations, "rec")
            for turn in await at.db.transact(list_turns, conversation.id)
            for one in turn.messages
        ]
        assert "after" in texts
        assert "before" not in texts
