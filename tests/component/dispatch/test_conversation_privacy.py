"""Two people alone and together: nothing of one chat reaches another."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from agent.shared.envelope import without_envelopes
from bot.domain import Attachment, AttachmentKind, ChatKind, Isolation, IsolationPolicy
from bot.runtime.interface import ArtifactsPresented, RunEnded, TextDelta
from roebot_testing.runtime import ScriptedRun, answer_with
from tests.component.dispatch.bench import Bench

ANN, BEN, GROUP = "c7", "c8", "c9"
OUTPUT = "/mnt/user-data/outputs/plan.png"


def said(run: ScriptedRun) -> list[str]:
    return [without_envelopes(message["content"]) for message in run.request.messages]


async def hear(at: Bench, text: str, *, chat: str, person: str, file: str = "") -> ScriptedRun:
    """A person writes, maybe with a file; the run that answers."""
    before = set(at.runtime.runs)
    kind = ChatKind.GROUP if chat == GROUP else ChatKind.PRIVATE
    at.adapter.files[file] = b"content"
    files = (Attachment(AttachmentKind.FILE, file, file, 7),) if file else ()
    await at.adapter.hears(text, chat=chat, person=person, kind=kind, attachments=files)
    await at.until(lambda: len(at.runtime.runs) > len(before))
    await at.rest(1.0)
    [run] = [run for identity, run in at.runtime.runs.items() if identity not in before]
    return run


@pytest.fixture
def chatting(at: Bench) -> Bench:
    """One conversation in each chat."""
    at.policy, at.runtime.script = IsolationPolicy(Isolation.CHAT), answer_with("ok")
    return at


async def test_each_chat_has_a_thread_of_its_own(chatting: Bench) -> None:
    at = chatting
    async with at.running():
        runs = {
            "ann": await hear(at, "my salary", chat=ANN, person="7"),
            "ben": await hear(at, "my health", chat=BEN, person="8"),
            "ann in the group": await hear(at, "our plan", chat=GROUP, person="7"),
            "ben in the group": await hear(at, "our date", chat=GROUP, person="8"),
            "ann again": await hear(at, "and more", chat=ANN, person="7"),
        }
    threads = {name: run.request.thread_id for name, run in runs.items()}
    assert threads["ann"] == threads["ann again"]
    assert threads["ann in the group"] == threads["ben in the group"]
    assert len(set(threads.values())) == 3
    assert {name: said(run) for name, run in runs.items()} == {
        "ann": ["my salary"],
        "ben": ["my health"],
        "ann in the group": ["our plan"],
        "ben in the group": ["our date"],
        "ann again": ["and more"],
    }


async def test_a_file_goes_to_the_thread_of_its_chat_and_not_into_a_new_one(chatting: Bench) -> None:
    at = chatting
    async with at.running():
        ann = await hear(at, "look", chat=ANN, person="7", file="salary.xlsx")
        group = await hear(at, "look", chat=GROUP, person="7", file="plan.xlsx")
        await at.adapter.hears("/new", chat=ANN, person="7")
        await at.rest(1.0)
        fresh = await hear(at, "what did I send?", chat=ANN, person="7")
    assert [(thread, name) for thread, name, _ in at.runtime.uploads] == [
        (ann.request.thread_id, "salary.xlsx"),
        (group.request.thread_id, "plan.xlsx"),
    ]
    assert fresh.request.thread_id not in {ann.request.thread_id, group.request.thread_id}
    assert "files" not in _told(fresh)


def _told(run: ScriptedRun) -> Mapping[str, object]:
    found: Mapping[str, object] = run.request.messages[0]["additional_kwargs"]
    return found


async def test_what_the_agent_presents_goes_to_the_chat_that_asked(chatting: Bench) -> None:
    at = chatting

    def present(run: ScriptedRun) -> None:
        run.emit(TextDelta("m1", "here"), ArtifactsPresented((OUTPUT,)), RunEnded("success"))

    at.runtime.artifacts[OUTPUT] = b"png"
    async with at.running():
        await hear(at, "hello", chat=BEN, person="8")
        at.runtime.script = present
        await hear(at, "draw it", chat=ANN, person="7")
        at.runtime.script = answer_with("ok")
        await hear(at, "hello", chat=GROUP, person="7")
        await at.until(lambda: any(shown.filename for shown in at.adapter.shown.values()))
    assert [shown.address.chat for shown in at.adapter.shown.values() if shown.filename] == [ANN]
    assert at.adapter.texts(BEN) == at.adapter.texts(GROUP) == ["ok"]
