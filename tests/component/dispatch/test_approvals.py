"""A tool waits for a word: whose word it is, what the others hear, and that nothing of theirs is lost."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from agent.shared.approval_words import default_question
from agent.shared.envelope import parse_envelopes, plain_text
from bot.dispatch.questions import APPROVAL_LASTS, EXPIRY_EVERY
from bot.domain import ChatKind, Isolation, IsolationPolicy
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.render.measure import characters
from bot.render.renderer import MarkdownRenderer
from bot.render.split import GrowingSplit
from bot.runtime.interface import RunEnded, RunInterrupted
from bot.store.audit import list_audit_entries
from roebot_testing.runtime import ScriptedRun
from tests.component.dispatch.adapters import Asking
from tests.component.dispatch.bench import Bench, authored

GROUP = ChatKind.GROUP
ANN, BEN, EVE = "7", "8", "9"
"""Eve is an admin."""
CALL = {
    "type": "approval",
    "question": "May it?",
    "options": ["approve", "reject"],
    "tool": "delete",
    "args": {"path": "a"},
}
CODE = "You can also send `/approve 1` or `/reject 1`. This request expires in 24 hours."
QUESTION = f"🔐 **Approval needed:** `delete`\n\n```\npath: a\n```\n\nMay it?\n\n{CODE}"
DECIDED = QUESTION.removesuffix(f"\n\n{CODE}")
FOREIGN = (
    "Only the person who asked for this, or an admin, can decide. "
    "Only admins can approve a tool for the whole account."
)


def script(run: ScriptedRun) -> None:
    """Ask before the work; repeat every other message."""
    said = " + ".join(authored(message["content"]) for message in run.request.messages)
    if run.request.answers:
        run.say(f"Decided: {said}.")
        run.end()
    elif "go" in said:
        run.emit(RunInterrupted("i1", CALL), RunEnded("interrupted"))
    else:
        run.say(f"Heard: {said}.")
        run.end()


@pytest.fixture
def asking(at: Bench) -> Bench:
    at.adapter = Asking()
    at.runtime.script = script
    return at


async def asked(at: Bench) -> str:
    """Ann asks for work in a group, and the approval stands; its message."""
    await at.adapter.hears("go", kind=GROUP)
    await at.until(lambda: at.adapter.texts() == [QUESTION])
    await at.rest(0.5)
    return next(iter(at.adapter.shown))


async def says(at: Bench, text: str, person: str, to: str) -> None:
    await at.adapter.hears(text, person=person, kind=GROUP, to=to)


async def settled(at: Bench, count: int) -> list[str]:
    """What follows the question, once so many messages stand below it."""
    await at.until(lambda: len(at.adapter.texts()) == count + 1)
    await at.rest(2.0)
    return at.adapter.texts()[1:]


async def test_who_asked_decides_by_a_click(asking: Bench) -> None:
    async with asking.running():
        message = await asked(asking)
        await asking.adapter.presses("approve", message, kind=GROUP)
        assert await settled(asking, 1) == ["Decided: P7: approve."]
    assert asking.adapter.told == []


async def test_a_request_is_in_the_language_of_the_chat(asking: Bench) -> None:
    def ask(run: ScriptedRun) -> None:
        call = {**CALL, "question": default_question("delete")}
        run.emit(RunInterrupted("i1", call), RunEnded("interrupted"))

    asking.runtime.script, asking.locale = ask, "zh"
    async with asking.running():
        await asking.adapter.hears("go", kind=GROUP)
        await asking.until(asking.adapter.texts)
        [(message, seen)] = asking.adapter.shown.items()
        assert asking.adapter.texts()[0].startswith(
            "🔐 **待审批：** `delete`\n\n```\npath: a\n```\n\n也可发送"
        )
        assert seen.choices == ("批准", "拒绝")
        await asking.adapter.presses("拒绝", message, kind=GROUP)
        await asking.until(lambda: "拒绝" in asking.adapter.texts()[0].rpartition("\n")[2])


async def test_a_no_to_a_question_of_the_agent_is_an_answer(asking: Bench) -> None:
    def ask(run: ScriptedRun) -> None:
        question = {"question": "Weekends too?", "options": ["yes", "no"]}
        run.emit(RunInterrupted("i1", question), RunEnded("interrupted"))

    asking.runtime.script = ask
    async with asking.running():
        await asking.adapter.hears("go", kind=GROUP)
        await asking.until(asking.adapter.texts)
        await asking.rest(0.5)
        await asking.adapter.presses("no", next(iter(asking.adapter.shown)), kind=GROUP)
        await asking.until(lambda: asking.adapter.texts()[0].endswith("✓ `no` (answered by `P7`)"))


async def test_who_decided_is_shown_though_the_platform_stumbles(asking: Bench) -> None:
    async with asking.running():
        message = await asked(asking)
        asking.adapter.fail("edit", DeliveryError(DeliveryCategory.TRANSIENT, "500"))
        asking.adapter.fail("edit", RateLimited(3.0))
        await asking.adapter.presses("approve", message, kind=GROUP)
        await asking.until(
            lambda: asking.adapter.texts()[0] == f"{DECIDED}\n\n✓ `approve` (answered by `P7`)"
        )
        assert await settled(asking, 1) == ["Decided: P7: approve."]


async def test_what_can_not_be_edited_any_more_holds_nothing_up(asking: Bench) -> None:
    async with asking.running():
        message = await asked(asking)
        asking.adapter.fail("edit", DeliveryError(DeliveryCategory.PERMISSION, "too old"))
        await asking.adapter.presses("approve", message, kind=GROUP)
        assert await settled(asking, 1) == ["Decided: P7: approve."]
    assert asking.adapter.texts()[0] == QUESTION


PART_LIMIT = 1950
SHORT = MarkdownRenderer("short", lambda: GrowingSplit(limit=PART_LIMIT, measure=characters))


async def test_who_decided_has_room_below_a_question_that_fills_its_message(asking: Bench) -> None:
    path = "a" * (PART_LIMIT - len(QUESTION))
    question = QUESTION.replace("path: a", f"path: {path}")
    asking.adapter.renderer = SHORT

    def lengthy(run: ScriptedRun) -> None:
        if run.request.answers:
            script(run)
        else:
            run.emit(RunInterrupted("i1", {**CALL, "args": {"path": path}}), RunEnded("interrupted"))

    asking.runtime.script = lengthy
    async with asking.running():
        await asking.adapter.hears("go", kind=GROUP)
        await asking.until(lambda: asking.adapter.texts() == [question])
        await asking.rest(0.5)
        await asking.adapter.presses("approve", next(iter(asking.adapter.shown)), kind=GROUP)
        assert await settled(asking, 1) == ["Decided: P7: approve."]
    shown = asking.adapter.texts()[0]
    assert len(SHORT.split(shown)) == 1
    assert shown.startswith(question.partition("May it?")[0])
    assert shown.endswith("\n\nMay it?\n\n✓ `approve` (answered by `P7`)")


async def test_who_asked_decides_in_words(asking: Bench) -> None:
    async with asking.running():
        message = await asked(asking)
        await says(asking, "yes", ANN, message)
        assert await settled(asking, 1) == ["Decided: P7: yes."]


async def test_a_stop_gives_it_up_and_what_waits_goes_on(asking: Bench) -> None:
    async with asking.running():
        message = await asked(asking)
        await asking.adapter.hears("and this?", person=BEN, kind=GROUP, to=message)
        await asking.adapter.hears("/status", kind=GROUP, to=message)
        status = "".join(await settled(asking, 2))
        assert "A tool call is waiting for approval: `/approve 1`" in status
        await asking.adapter.hears("stop", kind=GROUP, to=message)
        await asking.until(lambda: "✗ Stopped" in asking.adapter.texts()[0])
        await asking.until(lambda: "*(stopped)*" in asking.adapter.texts())
        assert any(text.startswith("Stopped.") for text in asking.adapter.texts())
        await asking.until(lambda: len(asking.runtime.runs) == 2)
        await asking.adapter.presses("approve", message, kind=GROUP)
        await asking.rest(2.0)
    entry = (await asking.db.transact(list_audit_entries))[0]
    assert (entry.deed.action, entry.deed.subject, entry.deed.detail) == ("approval", "turn 1", "stopped")
    assert [run.request.answers for run in asking.runtime.runs.values()] == ["", ""]


@pytest.mark.parametrize("isolation", list(Isolation))
async def test_an_admin_decides_too(asking: Bench, isolation: Isolation) -> None:
    asking.policy = IsolationPolicy(isolation)
    async with asking.running():
        message = await asked(asking)
        await asking.adapter.presses("reject", message, person=EVE, kind=GROUP)
        assert await settled(asking, 1) == ["Decided: P9: reject."]
    users = [run.request.configurable["user_id"] for run in asking.runtime.runs.values()]
    assert users == ["recording:7", "recording:7"], "it stays the work of who asked"


async def test_a_click_of_another_is_answered_to_them_alone(asking: Bench) -> None:
    async with asking.running():
        message = await asked(asking)
        for _ in range(2):
            await asking.adapter.presses("approve", message, person=BEN, kind=GROUP)
        await asking.rest(2.0)
        assert asking.adapter.texts() == [QUESTION]
        assert asking.adapter.told == [(BEN, FOREIGN)] * 2
        await asking.adapter.presses("approve", message, kind=GROUP)
        assert await settled(asking, 1) == ["Decided: P7: approve."]
    assert len(asking.runtime.runs) == 2


async def test_a_stranger_hears_nothing_and_changes_nothing(asking: Bench) -> None:
    async with asking.running():
        message = await asked(asking)
        await asking.adapter.presses("approve", message, person="77", kind=GROUP)
        await asking.rest(2.0)
        assert asking.adapter.texts() == [QUESTION]
    assert asking.adapter.told == [("77", "")]


@pytest.mark.parametrize("restart", [False, True])
async def test_what_others_say_waits_for_the_decision(asking: Bench, restart: bool) -> None:
    async with asking.running():
        message = await asked(asking)
        await says(asking, "approve", BEN, message)
        await says(asking, "and the weather?", BEN, message)
        [told] = await settled(asking, 1)
        assert told.startswith("A tool call is waiting for approval here.")
        assert len(asking.runtime.runs) == 1
        if not restart:
            await says(asking, "approve", ANN, message)
            rest = await settled(asking, 3)
    if restart:
        async with asking.running():
            await asking.rest(2.0)
            assert len(asking.runtime.runs) == 1
            await says(asking, "approve", ANN, message)
            rest = await settled(asking, 3)
    assert rest[1:] == ["Decided: P7: approve.", "Heard: P8: approve + P8: and the weather?."]


async def test_a_fresh_thread_lets_go_what_waits(asking: Bench) -> None:
    async with asking.running():
        message = await asked(asking)
        await says(asking, "hello", BEN, message)
        await settled(asking, 1)
        await says(asking, "/new", BEN, message)
        texts = await settled(asking, 3)
    assert "Heard: P8: hello." in texts


async def test_in_private_what_was_written_before_is_no_decision(asking: Bench) -> None:
    asking.runtime.script = None
    async with asking.running():
        await asking.adapter.hears("go")
        await asking.until(lambda: asking.runtime.runs)
        await asking.adapter.hears("approve")
        asking.runtime.script = script
        script(asking.runtime.runs["run-1"])
        await asking.until(lambda: asking.adapter.texts() == [QUESTION])
        await asking.rest(2.0)
        assert len(asking.runtime.runs) == 1
        await asking.adapter.hears("reject")
        assert await settled(asking, 2) == ["Decided: reject.", "Heard: P7: approve."]


class TestInWords:
    """`/approve` and `/reject`."""

    @pytest.mark.parametrize("words", ["/approve", "/approve 1"])
    @pytest.mark.parametrize(("person", "name"), [(ANN, "P7"), (EVE, "P9")])
    async def test_who_asked_and_admins_decide(
        self, asking: Bench, words: str, person: str, name: str
    ) -> None:
        asking.role = None
        async with asking.running():
            await asked(asking)
            await asking.adapter.hears(words, person=person, kind=GROUP)
            assert await settled(asking, 1) == [f"Decided: {name}: approve."]
        assert asking.adapter.texts()[0] == f"{DECIDED}\n\n✓ `approve` (answered by `{name}`)"
        [entry] = await asking.db.transact(list_audit_entries)
        assert (entry.person, entry.deed.action, entry.deed.detail) == (
            f"recording:{person}",
            "approval",
            "approve",
        )

    @pytest.mark.parametrize(("words", "decided"), [("Approve 1", "approve"), ("reject 1", "reject")])
    async def test_a_number_needs_no_slash(self, asking: Bench, words: str, decided: str) -> None:
        async with asking.running():
            await asked(asking)
            await asking.adapter.hears(words, kind=GROUP)
            assert await settled(asking, 1) == [f"Decided: P7: {decided}."]

    async def test_a_reject(self, asking: Bench) -> None:
        async with asking.running():
            await asked(asking)
            await asking.adapter.hears("/reject", kind=GROUP)
            assert await settled(asking, 1) == ["Decided: P7: reject."]

    @pytest.mark.parametrize(
        ("words", "person", "told"),
        [
            ("/approve", BEN, FOREIGN),
            ("/approve 1", BEN, FOREIGN),
            ("/approve 2", ANN, "No matching approval request is open in this chat."),
            ("approve 2", ANN, "No matching approval request is open in this chat."),
            ("reject 1", BEN, FOREIGN),
            ("/approve it", ANN, "Please add a request number, as in `/approve 12`"),
        ],
    )
    async def test_what_decides_nothing(self, asking: Bench, words: str, person: str, told: str) -> None:
        asking.role = None
        async with asking.running():
            await asked(asking)
            await asking.adapter.hears(words, person=person, kind=GROUP)
            [said] = await settled(asking, 1)
            assert said.startswith(told)
        assert len(asking.runtime.runs) == 1
        assert asking.adapter.texts()[0] == QUESTION

    async def test_it_is_decided_once(self, asking: Bench) -> None:
        async with asking.running():
            message = await asked(asking)
            await asking.adapter.hears("/approve 1", kind=GROUP)
            await settled(asking, 1)
            await asking.adapter.hears("/approve 1", kind=GROUP, to=message)
            assert (await settled(asking, 2))[-1] == "No matching approval request is open in this chat."
        assert len(asking.runtime.runs) == 2

    async def test_a_decision_outlives_a_restart(self, asking: Bench) -> None:
        async with asking.running():
            await asked(asking)
        async with asking.running(recover=False):
            await asking.adapter.hears("/approve", kind=GROUP)
        async with asking.running():
            assert await settled(asking, 1) == ["Decided: P7: approve."]


@pytest.mark.parametrize("words", ["no, that is the wrong file", "reject", "Yes."])
@pytest.mark.parametrize("kind", [ChatKind.GROUP, ChatKind.PRIVATE])
async def test_a_no_comes_with_its_author(asking: Bench, words: str, kind: ChatKind) -> None:
    def ask(run: ScriptedRun) -> None:
        run.emit(RunInterrupted("i1", {**CALL, "covers": "the call"}), RunEnded("interrupted"))

    asking.runtime.script = ask
    async with asking.running():
        await asking.adapter.hears("go", kind=kind)
        await asking.until(lambda: asking.adapter.texts() == [QUESTION])
        asking.runtime.script = script
        await asking.adapter.hears(words, person=ANN, kind=kind, to=next(iter(asking.adapter.shown)))
        await settled(asking, 1)
    decision = asking.runtime.runs["run-2"].request.decision
    assert decision is not None
    told = [(one.person, one.text) for one in parse_envelopes(decision["answer"])]
    assert told == ([] if words == "Yes." else [("recording:7", words)])
    assert plain_text(decision["answer"]) == words


class TestShown:
    """Below the question stands who decided, and the buttons are gone."""

    async def test_a_click(self, asking: Bench) -> None:
        async with asking.running():
            message = await asked(asking)
            await asking.adapter.presses("reject", message, person=EVE, kind=GROUP)
            await settled(asking, 1)
        assert asking.adapter.texts()[0] == f"{DECIDED}\n\n✗ Rejected by `P9`"

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            ("no, that is the wrong file", "✗ Not approved; `P7` sent a message instead"),
            ("拒绝", "✗ 已拒绝（`P7`）"),
            ("Yes.", "✓ Approved by `P7`"),
        ],
    )
    async def test_words_about_a_known_call(self, asking: Bench, words: str, line: str) -> None:
        def ask(run: ScriptedRun) -> None:
            call = {**CALL, "covers": "the call"}
            run.emit(RunInterrupted("i1", call), RunEnded("interrupted"))

        asking.runtime.script = ask
        async with asking.running():
            message = await asked(asking)
            asking.runtime.script = script
            await says(asking, words, ANN, message)
            await settled(asking, 1)
        assert asking.adapter.texts()[0] == f"{DECIDED}\n\n{line}"

    async def test_other_words(self, asking: Bench) -> None:
        async with asking.running():
            message = await asked(asking)
            await says(asking, "no, that is the wrong file", ANN, message)
            await settled(asking, 1)
        assert asking.adapter.texts()[0] == f"{DECIDED}\n\n✗ No option chosen; `P7` sent a message instead"

    @pytest.mark.parametrize(
        "error", [RateLimited(1.5), DeliveryError(DeliveryCategory.TRANSIENT, "connection reset")]
    )
    async def test_a_platform_that_refuses_for_a_moment_is_asked_again(
        self, asking: Bench, error: DeliveryError
    ) -> None:
        async with asking.running():
            message = await asked(asking)
            asking.adapter.fail("edit", error)
            await asking.adapter.presses("approve", message, kind=GROUP)
            await settled(asking, 1)
        assert asking.adapter.texts()[0] == f"{DECIDED}\n\n✓ `approve` (answered by `P7`)"

    async def test_a_message_that_cannot_be_edited_stays(self, asking: Bench) -> None:
        async with asking.running():
            message = await asked(asking)
            del asking.adapter.shown[message]
            await asking.adapter.presses("approve", message, kind=GROUP)
            await asking.until(lambda: asking.adapter.texts() == ["Decided: P7: approve."])


class TestExpiry:
    """What nobody decides is over after a day, and the agent goes on without."""

    @pytest.mark.parametrize("restart", [False, True])
    async def test_after_a_day_the_work_goes_on_without(self, asking: Bench, *, restart: bool) -> None:
        async with asking.running():
            message = await asked(asking)
            await says(asking, "and the weather?", BEN, message)
            await settled(asking, 1)
            if not restart:
                await asking.clock.advance(APPROVAL_LASTS + EXPIRY_EVERY)
                await asking.rest(1.0)
        if restart:
            await asking.clock.advance(APPROVAL_LASTS + EXPIRY_EVERY)
        async with asking.running():
            await asking.until(lambda: "Decided: ." in asking.adapter.texts())
            await asking.until(lambda: asking.adapter.texts()[0].endswith("⌛ Expired without a decision"))
            await asking.adapter.presses("approve", message, kind=GROUP)
            [(who, why)] = asking.adapter.told
            assert (who, why[:39]) == (ANN, "This question has already been answered")

    async def test_not_a_minute_before(self, asking: Bench) -> None:
        async with asking.running():
            await asked(asking)
            await asking.clock.advance(APPROVAL_LASTS - EXPIRY_EVERY)
            await asking.rest(1.0)
            assert asking.adapter.texts() == [QUESTION]

    async def test_a_database_that_is_away_at_a_check_ends_nothing(self, asking: Bench) -> None:
        async def rename(old: str, new: str) -> None:
            change = text(f"ALTER TABLE {old} RENAME TO {new}")
            await asking.db.schema(lambda connection: connection.execute(change))

        async with asking.running():
            await says(asking, "and the weather?", BEN, await asked(asking))
            await settled(asking, 1)
            await rename("conversations", "away")
            with capture_logs() as logs:
                await asking.rest(EXPIRY_EVERY + 5.0, step=1.0)
            await rename("away", "conversations")
            assert {one["task"] for one in logs if one["log_level"] == "error"} == {"questions"}
            await asking.clock.advance(APPROVAL_LASTS)
            await asking.rest(2 * EXPIRY_EVERY, step=1.0)
            await asking.until(lambda: "Decided: ." in asking.adapter.texts())


FORM = {"type": "clarification", "question": "Which one?", "options": ["a", "b"]}


@pytest.mark.parametrize("value", [CALL, FORM], ids=["approval", "question"])
async def test_a_stopped_interrupt_is_reported_and_can_no_longer_be_answered(
    asking: Bench, value: dict[str, Any]
) -> None:
    def ask(run: ScriptedRun) -> None:
        said = " + ".join(authored(str(one["content"])) for one in run.request.messages)
        if "go" in said:
            run.emit(RunInterrupted("i1", value), RunEnded("interrupted"))
        else:
            run.say(f"Heard: {said}.")
            run.end()

    asking.runtime.script = ask
    async with asking.running():
        await asking.adapter.hears("go", kind=GROUP)
        await asking.until(lambda: len(asking.adapter.texts()) == 1)
        await asking.rest(0.5)
        question = next(iter(asking.adapter.shown))
        await says(asking, "/stop", EVE, question)
        await asking.until(lambda: len(asking.adapter.texts()) >= 3)
        await asking.rest(0.5)
        await says(asking, "what else?", ANN, question)
        await asking.until(lambda: len(asking.runtime.runs) == 2)
        run = asking.runtime.runs["run-2"]
    assert not run.request.answers, "it is a new request"
    note, request = [str(one["content"]) for one in run.request.messages]
    assert note.endswith('[stopped by "P9" (recording:9) here]')
    assert "had no answer yet" in note
    assert "what else?" in request
