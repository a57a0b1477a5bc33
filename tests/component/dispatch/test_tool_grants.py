"""An approval is given for once, for a conversation or always, and taken back."""

from __future__ import annotations

import pytest

from agent.shared.envelope import without_envelopes
from bot.domain import ChatKind
from bot.runtime.interface import RunEnded, RunInterrupted
from bot.store.audit import list_audit_entries
from bot.store.conversations import list_conversations
from bot.store.read_models import list_turns
from roebot_testing.runtime import ScriptedRun
from tests.component.dispatch.adapters import Asking
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_approvals import ANN, CALL, EVE, FOREIGN, GROUP

OFFERED = ("approve", "approve here", "always approve", "reject")


def script(run: ScriptedRun) -> None:
    """Ask before the work, where the tool was not approved for good."""
    if run.request.answers or "delete" in run.request.configurable.get("approved", ()):
        messages = run.request.messages
        run.say(f"Done: {without_envelopes(messages[0]['content']) if messages else ''}.")
        run.end()
    else:
        run.emit(RunInterrupted("i1", {**CALL, "remember": True}), RunEnded("interrupted"))


@pytest.fixture
def asking(at: Bench) -> Bench:
    at.adapter = Asking(most_choices=4)
    at.runtime.script = script
    at.role = None
    return at


async def says(at: Bench, text: str, chat: str = "c1", person: str = ANN, kind: ChatKind = GROUP) -> str:
    """What a chat is answered."""
    before = len(at.adapter.texts(chat))
    await at.adapter.hears(text, chat=chat, person=person, kind=kind)
    await at.until(lambda: len(at.adapter.texts(chat)) > before)
    await at.rest(0.5)
    return at.adapter.texts(chat)[-1]


async def presses(
    at: Bench, choice: str, *, chat: str = "c1", person: str = ANN, kind: ChatKind = GROUP
) -> str:
    """What is answered to a click below the newest question."""
    before = len(at.adapter.texts(chat))
    question = [
        one for one in at.adapter.shown.values() if one.address.chat == chat and "Approval needed" in one.text
    ]
    await at.adapter.presses(choice, question[-1].id, chat=chat, person=person, kind=kind)
    await at.until(lambda: len(at.adapter.texts(chat)) > before)
    await at.rest(0.5)
    return at.adapter.texts(chat)[-1]


async def choices(at: Bench) -> tuple[str, ...]:
    """What the newest turn of the newest conversation offers."""
    [conversation, *_] = await at.db.transact(list_conversations, "rec")
    [turn, *_] = await at.db.transact(list_turns, conversation.id)
    return turn.parts[-1].choices


PRIVATE = ChatKind.PRIVATE


async def test_once_asks_again(asking: Bench) -> None:
    async with asking.running():
        assert "Approval needed" in await says(asking, "go", kind=PRIVATE)
        assert await choices(asking) == OFFERED
        assert (await presses(asking, "approve", kind=PRIVATE)).startswith("Done")
        assert "Approval needed" in await says(asking, "go on", kind=PRIVATE)


@pytest.mark.parametrize("restart", [False, True])
async def test_here_holds_in_its_conversation(asking: Bench, restart: bool) -> None:
    async with asking.running():
        await says(asking, "go", kind=PRIVATE)
        await presses(asking, "approve here", kind=PRIVATE)
        if not restart:
            assert await says(asking, "go on", kind=PRIVATE) == "Done: go on."
    async with asking.running():
        assert await says(asking, "and on", kind=PRIVATE) == "Done: and on."
        assert "Approval needed" in await says(asking, "go", chat="other", kind=PRIVATE)
        said = await says(asking, "/approved", kind=PRIVATE)
        assert "1: `delete` in this conversation, approved by `recording:7 (P7)`" in said
        assert (
            await says(asking, "/approved forget 1", kind=PRIVATE)
            == "`delete` will ask for approval before each call again."
        )
        assert "Approval needed" in await says(asking, "go", kind=PRIVATE)
    deeds = [(one.deed.action, one.deed.detail) for one in await asking.db.transact(list_audit_entries)]
    assert ("approval", "approve here") in deeds
    assert ("permission taken back", "") in deeds


async def test_always_is_for_admins(asking: Bench) -> None:
    async with asking.running():
        await says(asking, "go")
        question = [*asking.adapter.shown][-1]
        await asking.adapter.presses("always approve", question, person=ANN, kind=GROUP)
        await asking.rest(1.0)
        assert asking.adapter.told == [(ANN, FOREIGN)]
        assert (
            await says(asking, "/approve always") == "Only admins can approve a tool for the whole account."
        )
        assert (await presses(asking, "always approve", person=EVE)).startswith("Done")
        assert await says(asking, "go", chat="other", kind=PRIVATE) == "Done: go."
        said = await says(asking, "/approved", chat="other", kind=PRIVATE)
        assert "for the whole account, approved by `recording:9 (P9)`" in said
        assert "Only admins" in await says(asking, "/approved forget 1", chat="other", kind=PRIVATE)
        gone = await says(asking, "/approved forget 1", chat="eve", person=EVE, kind=PRIVATE)
        assert gone == "`delete` will ask for approval before each call again."
        assert "no standing approvals" in await says(
            asking, "/approved", chat="eve", person=EVE, kind=PRIVATE
        )


async def test_words_say_the_same(asking: Bench) -> None:
    async with asking.running():
        await says(asking, "go", kind=PRIVATE)
        assert (await says(asking, "/approve 1 here", kind=PRIVATE)).startswith("Done")
        assert await says(asking, "go on", kind=PRIVATE) == "Done: go on."


async def test_what_may_not_be_remembered_is_approved_for_once(asking: Bench) -> None:
    def plain(run: ScriptedRun) -> None:
        run.emit(RunInterrupted("i1", CALL), RunEnded("interrupted"))

    asking.runtime.script = plain
    async with asking.running():
        await says(asking, "go", kind=PRIVATE)
        assert await choices(asking) == ("approve", "reject")
        assert "has to be approved separately" in await says(asking, "/approve 1 here", kind=PRIVATE)
