"""Whose word counts, how long it holds, what may be asked before, and that all of a request can be read."""

from __future__ import annotations

from typing import Any

import pytest

from bot.config.models import ApprovalsConfig
from bot.dispatch.clarifications import decides_approval
from bot.dispatch.reply.delivery import REQUEST_FILE
from bot.dispatch.reply.sender import document_type
from bot.domain import ChatKind, Isolation, IsolationPolicy
from bot.runtime.interface import RunEnded, RunInterrupted
from bot.store.approval_rules import DAY, is_question
from bot.store.tool_grants import list_tool_grants
from roebot_testing.runtime import ScriptedRun
from tests.component.dispatch.adapters import Asking
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_approvals import ANN, BEN, CALL, EVE, FOREIGN, GROUP
from tests.component.dispatch.test_tool_grants import choices

PRIVATE = ChatKind.PRIVATE
COVERS = "identity-of-the-call"


def script(run: ScriptedRun) -> None:
    """Ask before the work, where the tool was not approved for good."""
    if run.request.answers or "delete" in run.request.configurable.get("approved", ()):
        run.say(f"Done: {run.request.decision}.")
        run.end()
    else:
        call = {**CALL, "remember": True, "covers": COVERS}
        run.emit(RunInterrupted("i1", call), RunEnded("interrupted"))


@pytest.fixture
def asking(at: Bench) -> Bench:
    at.adapter = Asking(most_choices=4)
    at.runtime.script = script
    at.role = None
    return at


async def says(at: Bench, text: str, person: str = ANN, kind: ChatKind = GROUP, to: str = "") -> str:
    """The newest message of the chat after somebody wrote."""
    before = len(at.adapter.texts())
    await at.adapter.hears(text, person=person, kind=kind, to=to)
    await at.until(lambda: len(at.adapter.texts()) > before)
    await at.rest(0.5)
    return at.adapter.texts()[-1]


def request(at: Bench) -> str:
    """The message with the newest request."""
    return [one.id for one in at.adapter.shown.values() if one.text.startswith("🔐")][-1]


async def presses(at: Bench, choice: str, person: str = ANN) -> None:
    before = len(at.adapter.texts()), len(at.adapter.told)
    await at.adapter.presses(choice, request(at), person=person, kind=GROUP)
    await at.until(lambda: (len(at.adapter.texts()), len(at.adapter.told)) != before)
    await at.rest(0.5)


def decided(at: Bench) -> list[str]:
    return [text for text in at.adapter.texts() if text.startswith("Done")]


@pytest.mark.guard(
    "the answer names the call that was shown",
    "bot/dispatch/run/request.py",
    '"covers": turn.covers}',
    '"covers": ""}',
    against="a changed call",
)
async def test_the_answer_names_the_call_that_was_shown(asking: Bench) -> None:
    async with asking.running():
        await says(asking, "go")
        await presses(asking, "approve")
        assert decided(asking) == [f"Done: {{'answer': 'approve', 'covers': '{COVERS}'}}."]


class TestAskingBack:
    """A question about the request is answered, and decides nothing."""

    @pytest.mark.guard(
        "a question decides nothing",
        "bot/store/interrupts.py",
        "and not is_question(message.text))",
        "and True)",
        against="a misread question",
    )
    @pytest.mark.parametrize(
        ("words", "start"),
        [
            ("What does this do?", "Nothing has been done yet, and the request stays open."),
            ("why", "Nothing has been done yet, and the request stays open."),
            ("这会删除什么？", "尚未执行任何操作，该请求仍待审批。"),
        ],
    )
    async def test_it_is_answered_and_the_request_stays_open(
        self, asking: Bench, words: str, start: str
    ) -> None:
        async with asking.running():
            await says(asking, "go", kind=PRIVATE)
            answer = await says(asking, words, kind=PRIVATE)
            assert answer.startswith(start)
            assert "path: a" in answer and answer.count("`/approve 1`") == 1
            assert len(asking.runtime.runs) == 1
            assert (await says(asking, "yes", kind=PRIVATE)).startswith("Done: {'answer': 'yes'")

    async def test_in_a_group_the_requester_may_ask_and_others_wait(self, asking: Bench) -> None:
        async with asking.running():
            await says(asking, "go")
            waits = await says(asking, "what is the weather?", BEN, to=request(asking))
            assert waits.startswith("A tool call is waiting for approval here.")
            assert (await says(asking, "what is it?", ANN, to=request(asking))).startswith("Nothing has been")
            assert len(asking.runtime.runs) == 1

    @pytest.mark.parametrize(
        ("words", "asks"),
        [
            ("what does this do?", True),
            ("is it safe", True),
            ("and the backup?", True),
            ("这是什么意思", True),
            ("安全吗", True),
            ("no, why should I?", False),
            ("不要，为什么？", False),
            ("yes", False),
            ("approve", False),
            ("take the other file", False),
            ("", False),
        ],
    )
    def test_what_is_a_question(self, words: str, asks: bool) -> None:
        assert is_question(words) is asks


class TestWhoDecides:
    """`approvals.by`."""

    @pytest.mark.parametrize(
        ("by", "person", "counts"),
        [
            ("requester", ANN, True),
            ("requester", EVE, True),
            ("requester", BEN, False),
            ("admins", ANN, False),
            ("admins", EVE, True),
            ("others", ANN, False),
            ("others", BEN, False),
            ("others", EVE, True),
        ],
    )
    @pytest.mark.parametrize("clicked", [True, False])
    async def test_a_word_counts_or_not(
        self, asking: Bench, by: Any, person: str, counts: bool, clicked: bool
    ) -> None:
        asking.approvals = ApprovalsConfig(by=by)
        async with asking.running():
            await says(asking, "go")
            if clicked:
                await presses(asking, "approve", person)
            else:
                await says(asking, "/approve 1", person)
            assert bool(decided(asking)) is counts

    @pytest.mark.parametrize("by_click", [True, False])
    async def test_here_gives_nothing_to_who_does_not_decide_about_own_work(
        self, asking: Bench, by_click: bool
    ) -> None:
        asking.approvals = ApprovalsConfig(by="others")
        asking.policy = IsolationPolicy(Isolation.CHAT)
        async with asking.running():
            await says(asking, "go", ANN)
            if by_click:
                await presses(asking, "approve here", EVE)
            else:
                await says(asking, "/approve 1 here", EVE)
            assert len(decided(asking)) == 1
            assert "Approval needed" in await says(asking, "go", EVE)

    @pytest.mark.guard(
        "another admin has to decide",
        "bot/store/approval_rules.py",
        "OTHERS: is_admin and not is_requester",
        "OTHERS: is_admin",
        against="one's own request",
    )
    async def test_nobody_decides_about_their_own_work_where_others_have_to(self, asking: Bench) -> None:
        asking.approvals = ApprovalsConfig(by="others")
        async with asking.running():
            await says(asking, "go", EVE)
            await presses(asking, "approve", EVE)
            assert asking.adapter.told[-1] == (
                EVE,
                "Only an admin other than the person who asked for this can decide.",
            )
            assert not decided(asking)
            assert (await says(asking, "approve", EVE, to=request(asking))).startswith(
                "A tool call is waiting"
            )


class TestHere:
    """`approve here`."""

    @pytest.mark.guard(
        "an approval for a conversation is bound to its person",
        "bot/store/tool_grants.py",
        "if not one.conversation or {one.person} == set(people)",
        "if True",
        against="other people's requests",
    )
    async def test_it_is_for_the_requests_of_who_gave_it(self, asking: Bench) -> None:
        async with asking.running():
            await says(asking, "go")
            first = request(asking)
            await presses(asking, "approve here")
            assert (await says(asking, "go on", ANN, to=first)).startswith("Done")
            assert "Approval needed" in await says(asking, "and mine", BEN, to=first)

    @pytest.mark.guard(
        "an approval for a conversation expires",
        "bot/store/tool_grants.py",
        "(expires_at = 0 OR expires_at > :now)",
        "(expires_at = 0 OR expires_at > 0)",
        against="forgotten approvals",
    )
    async def test_it_ends_after_a_week(self, asking: Bench) -> None:
        async with asking.running():
            await says(asking, "go", kind=PRIVATE)
            await says(asking, "/approve 1 here", kind=PRIVATE)
            assert "days left: 7" in await says(asking, "/approved", kind=PRIVATE)
            await asking.clock.leap(7 * DAY - 60)
            assert (await says(asking, "go on", kind=PRIVATE)).startswith("Done")
            await asking.clock.advance(120)
            assert "Approval needed" in await says(asking, "go on", kind=PRIVATE)

    @pytest.mark.parametrize(("word", "days"), [("here:2", 2), ("here:300", 7), ("here", 7)])
    async def test_the_days_can_be_fewer(self, asking: Bench, word: str, days: int) -> None:
        async with asking.running():
            await says(asking, "go", kind=PRIVATE)
            await says(asking, f"/approve 1 {word}", kind=PRIVATE)
            [grant] = await asking.db.transact(list_tool_grants, "rec", 1, asking.clock.now())
            assert round((grant.ends_at - grant.at) / DAY) == days

    @pytest.mark.parametrize("word", ["here:", "here:x", "here:0", "always:2", "once:1"])
    async def test_other_days_are_no_decision(self, asking: Bench, word: str) -> None:
        async with asking.running():
            await says(asking, "go", kind=PRIVATE)
            assert not (await says(asking, f"/approve 1 {word}", kind=PRIVATE)).startswith("Done")

    @pytest.mark.guard(
        "approvals for a conversation can be reserved for admins",
        "bot/store/interrupts.py",
        "(rules.here_admins and self.is_for_here(message.text))",
        "False",
        against="approvals by members",
    )
    async def test_it_can_be_for_admins(self, asking: Bench) -> None:
        asking.approvals = ApprovalsConfig(here="admins")
        async with asking.running():
            await says(asking, "go")
            await presses(asking, "approve here")
            assert asking.adapter.told == [(ANN, FOREIGN)] and not decided(asking)
            refused = await says(asking, "/approve 1 here")
            assert refused.startswith("Only admins can approve a tool for a conversation here.")
            await presses(asking, "approve here", EVE)
            assert len(decided(asking)) == 1

    async def test_who_gave_it_can_take_it_back_in_a_group(self, asking: Bench) -> None:
        async with asking.running():
            await says(asking, "go")
            await presses(asking, "approve here")
            assert "Only admins" in await says(asking, "/approved forget 1", BEN)
            assert "ask for approval" in await says(asking, "/approved forget 1", ANN)


@pytest.mark.guard(
    "a request that is too long has a file",
    "bot/dispatch/reply/delivery.py",
    "if outcome.question.complete:",
    "if False:",
    against="hidden content",
)
async def test_a_request_that_is_too_long_has_a_file_with_all_of_it(asking: Bench) -> None:
    asking.mask = lambda text: text.replace("very-secret", "***")
    body = "\n".join(f"line {number} very-secret" for number in range(2000))

    def lengthy(run: ScriptedRun) -> None:
        run.emit(
            RunInterrupted("i1", {**CALL, "args": {"content": body, "token": "x"}}), RunEnded("interrupted")
        )

    asking.runtime.script = lengthy
    async with asking.running():
        await asking.adapter.hears("go", kind=PRIVATE)
        await asking.until(lambda: asking.adapter.files)
    text = asking.adapter.files[REQUEST_FILE].decode()
    assert document_type(REQUEST_FILE) == "text/plain; charset=utf-8"
    assert text.startswith("delete\n")
    assert all(f"line {number} ***" in text for number in range(2000))
    assert "very-secret" not in text and "token: ***" in text
    assert "The file below contains the full text." in asking.adapter.texts()[0]


class TestClarifications:
    """A question of the agent can't be mistaken for a request for approval."""

    NOTE = (
        "❓ **A question from the agent, not an approval request.** Your answer does not allow any tool call."
    )

    async def shown(self, at: Bench, **value: Any) -> tuple[str, tuple[str, ...]]:
        def ask(run: ScriptedRun) -> None:
            run.emit(RunInterrupted("i1", {"type": "clarification", **value}), RunEnded("interrupted"))

        at.runtime.script = ask
        async with at.running():
            await at.adapter.hears("go", kind=PRIVATE)
            await at.until(lambda: at.adapter.texts())
            return at.adapter.texts()[0], await choices(at)

    @pytest.mark.guard(
        "questions lose the symbols of requests",
        "bot/dispatch/clarifications.py",
        'return _SYMBOLS.sub("", text).strip() if _SYMBOLS.search(text) else text',
        "return text",
        against="a forged request",
    )
    @pytest.mark.guard(
        "questions offer no words that decide",
        "bot/dispatch/questions.py",
        "if not decides_approval(one))",
        "if one)",
        against="a forged request",
    )
    async def test_the_header_of_a_request_is_not_the_agents(self, asking: Bench) -> None:
        forged = "🔐 **Approval needed:** `read_file`\n\n```\npath: notes.txt\n```"
        text, choices = await self.shown(
            asking, context=forged, question="May it?", options=["approve", "Always approve!", "later"]
        )
        assert text.startswith(self.NOTE)
        assert "🔐" not in text and choices == ("later",)

    @pytest.mark.parametrize(
        "words",
        [
            "⚠️ Confirm",
            "Approval\u200b needed: bash",
            "send /approve 12",
            "待审批：bash",
            "ＡＰＰＲＯＶＡＬ needed",
        ],
    )
    async def test_whatever_reads_like_one_says_what_it_is(self, asking: Bench, words: str) -> None:
        text, _ = await self.shown(asking, question=words)
        assert text.startswith(self.NOTE) and "⚠" not in text

    async def test_an_ordinary_question_is_as_it_was(self, asking: Bench) -> None:
        assert await self.shown(asking, question="Which one?", options=["red", "blue"]) == (
            "Which one?",
            ("red", "blue"),
        )

    @pytest.mark.parametrize(
        "word",
        ["approve", " Approve ", "✅ approve", "**Always approve**", "批准", "reject", "appro\u200bve"],
    )
    def test_words_that_decide(self, word: str) -> None:
        assert decides_approval(word)
        assert not decides_approval(f"{word} the plan in general")
