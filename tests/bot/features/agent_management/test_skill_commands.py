"""`/skills`, `/skill` and `/<skill>`, from the command to what a run is asked with."""

from __future__ import annotations

from typing import Any

import pytest

from agent.shared.envelope import without_envelopes
from agent.shared.run_identity import REQUESTED_SKILL
from agent.shared.schemas import SkillInfo, SkillList, SkillProblem
from bot.access import Role
from bot.commands.registry import split_command
from bot.config.models import BudgetLimits, BudgetsConfig
from bot.domain import Attachment, AttachmentKind, ChatKind
from bot.features.agent_management.skills import find_skill
from bot.store.read_models import list_turns
from bot.store.turns import AgentHandoff, hand_off_to_agent, load_turn
from bot.store.usage_limits import UNLIMITED
from bot.texts import texts_for
from bot.turn import Busy, TurnKind, TurnState
from roebot_testing.runtime import ScriptedRun, answer_with
from tests.bot.features.agent_management.test_agent_command import said
from tests.component.dispatch.bench import QUEUE, Bench
from tests.component.dispatch.test_dispatcher import closed
from tests.component.dispatch.test_turn_edge_cases import first_run
from tests.harness.open_turns import list_open_control_turns

PUBLIC = "/mnt/skills/public"
ACTIONS = SkillInfo(
    name="meeting-actions",
    description="Turns notes into actions.",
    category="public",
    path=f"{PUBLIC}/meeting-actions/SKILL.md",
    enabled=True,
)
OFF = SkillInfo(
    name="release-notes",
    description="Writes release notes.",
    category="public",
    path=f"{PUBLIC}/release-notes/SKILL.md",
    enabled=False,
)
BROKEN = SkillProblem(path="/mnt/skills/custom/lame/SKILL.md", error="lame/SKILL.md: name: is missing")
TAUGHT = SkillList(skills=[ACTIONS, OFF], problems=[BROKEN])
HANDED = AgentHandoff(Busy.QUEUE, UNLIMITED, QUEUE, texts_for("en"))
NOTE = (
    f"[This message asks for the skill meeting-actions. Follow {ACTIONS.path}; "
    "read it first unless it is shown here.]"
)


def content(run: ScriptedRun) -> list[str]:
    """What the run's messages say."""
    return [without_envelopes(message["content"]).strip() for message in run.request.messages]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/skills", ["**Skills**", "- `/meeting_actions`: Turns notes into actions.", "`/NAME TEXT`"]),
        ("/skills", ["- `/release_notes` *(off)*: Writes", "custom/lame/SKILL.md` can't be used: lame/"]),
        ("/skill", ["Use `/skill NAME`"]),
        ("/skill meeting-actions maybe", ["Use `/skill NAME`"]),
        ("/skill meeting-actions on now", ["Use `/skill NAME`"]),
        ("/skill meeting-actions", ["**meeting-actions** (on)", "Turns notes", ACTIONS.path]),
        ("/skill /Release_Notes", ["**release-notes** (off)"]),
        (
            "/skill release-notes on",
            ["The skill `release-notes` is on. To use it, send `/release_notes` followed by your request."],
        ),
        (
            "/skill `meeting_actions` OFF",
            ["The skill `meeting-actions` will be off starting with the next answer."],
        ),
        ("/skill meeting-action off", ["no skill named `meeting-action`. Did you mean `meeting-actions`"]),
        ("/skill lame on", ["There is no skill named `lame`."]),
        ("/help skill", ["`/skill NAME [on/off/update/remove/history/restore]`", "apply to everyone"]),
        (
            "/release_notes since May",
            ["The skill `release-notes` is switched off. An admin can switch it on."],
        ),
        ("/meeting_action x", ["no `/meeting_action` command. Did you mean `/meeting_actions`?"]),
        ("/release_note x", ["There is no `/release_note` command. `/help`"]),
        ("/hlep", ["Did you mean `/help`"]),
    ],
)
async def test_what_it_says(at: Bench, text: str, expected: list[str]) -> None:
    at.runtime.taught = TAUGHT
    async with at.running():
        told = await said(at, text)
    for part in expected:
        assert part in told
    assert at.runtime.runs == {}


async def test_a_switch_is_seen_in_the_list(at: Bench) -> None:
    at.runtime.taught = TAUGHT
    async with at.running():
        await said(at, "/skill release-notes on", "/skill meeting-actions off")
        told = await said(at, "/skills")
    assert "`/release_notes`: Writes" in told
    assert "`/meeting_actions` *(off)*" in told


async def test_what_was_corrected_in_a_skill_is_shown(at: Bench) -> None:
    noted = SkillInfo(
        name="noted",
        description="Does it.",
        category="custom",
        path="/p",
        enabled=True,
        notes=["One.", "Two."],
    )
    at.runtime.taught = SkillList(skills=[noted], problems=[])
    async with at.running():
        told = await said(at, "/skill noted")
    assert told.endswith("The agent reads it from `/p`.\n\n**Notes**\n\n- One.\n- Two.")


async def test_what_a_skill_says_of_itself_is_cut_in_the_list(at: Bench) -> None:
    long = SkillInfo(name="long", description="word " * 100, category="custom", path="", enabled=True)
    at.runtime.taught = SkillList(skills=[long], problems=[])
    async with at.running():
        told = await said(at, "/skills")
    [line] = [line for line in told.splitlines() if line.startswith("- ")]
    assert len(line) < 120
    assert line.endswith("word…")


async def test_members_see_the_list_and_switch_nothing(at: Bench) -> None:
    at.runtime.taught, at.role = TAUGHT, Role.MEMBER
    async with at.running():
        assert "lame" not in await said(at, "/skills")
        assert await said(at, "/skill meeting-actions off") == "Only admins can use `/skill`."
    assert at.runtime.taught == TAUGHT


@pytest.mark.parametrize(
    ("taught", "listed", "switched"),
    [
        (SkillList(skills=[], problems=[]), "No skills are available.", "There is no skill"),
        (None, "does not list skills", "does not list skills"),
    ],
)
async def test_without_any(at: Bench, taught: Any, listed: str, switched: str) -> None:
    at.runtime.taught = taught
    async with at.running():
        assert listed in await said(at, "/skills")
        assert switched in await said(at, "/skill some on")
        assert "There is no `/xyzzy` command." in await said(at, "/xyzzy")


async def test_a_runtime_that_is_away(at: Bench) -> None:
    at.runtime.taught, at.runtime.down = TAUGHT, True
    async with at.running():
        for text in ("/skills", "/skill meeting-actions off"):
            assert "I can't list the skills" in await said(at, text)
        assert "It might be a skill" in await said(at, "/meeting_actions notes")
    assert at.runtime.runs == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/meeting_actions Ann: I will call.\nBen: fine", "Ann: I will call.\nBen: fine"),
        ("/Meeting-Actions@bot  notes", "notes"),
        ("/meeting_actions", ""),
    ],
)
async def test_it_is_a_turn_of_the_agent_that_asks_for_the_skill(at: Bench, text: str, words: str) -> None:
    at.runtime.taught, at.runtime.script, at.role = TAUGHT, answer_with("three actions"), Role.MEMBER
    async with at.running():
        await at.adapter.hears(text)
        assert await closed(at) == [TurnState.DONE]
        await at.rest(1.0)
    [run] = at.runtime.runs.values()
    assert content(run) == ["\n\n".join(filter(None, [NOTE, words]))]
    [message] = run.request.messages
    assert message["additional_kwargs"][REQUESTED_SKILL] == ACTIONS.path
    assert at.adapter.texts() == ["three actions"], "one message, one answer"
    [turn] = await at.db.transact(list_turns, 1)
    assert turn.kind is TurnKind.CHAT
    assert [message.text for message in turn.messages] == [text], "the transcript has what was written"


async def test_in_a_group_the_agent_hears_who_asks(at: Bench) -> None:
    at.runtime.taught, at.runtime.script = TAUGHT, answer_with("ok")
    async with at.running():
        await at.adapter.hears("/meeting_actions all of it", chat="c9", kind=ChatKind.GROUP, person="8")
        await at.until(lambda: at.adapter.texts("c9"))
    [run] = at.runtime.runs.values()
    assert content(run) == [f"{NOTE}\n\nall of it"]


async def test_with_a_file_it_is_asked_for_too(at: Bench) -> None:
    at.runtime.taught, at.runtime.script = TAUGHT, answer_with("ok")
    at.adapter.files["ref"] = b"notes"
    file = Attachment(AttachmentKind.FILE, "notes.txt", "ref", 5, "text/plain")
    async with at.running():
        await at.adapter.hears("/meeting_actions these", attachments=(file,))
        await at.adapter.hears("/nothing these", attachments=(file,))
        await closed(at)
        await at.rest(1.0)
    said_ = [text for run in at.runtime.runs.values() for text in content(run)]
    assert said_ == [f"{NOTE}\n\nthese", "/nothing these"]


async def test_it_waits_for_its_place_and_later_messages_come_after_it(at: Bench) -> None:
    at.runtime.taught = TAUGHT
    async with at.running():
        run = await first_run(at)
        await at.adapter.hears("waits")
        await at.adapter.hears("/meeting_actions these")
        await at.rest(1.0)
        await at.adapter.hears("and this")
        at.runtime.script = answer_with("ok")
        run.say("first")
        run.end()
        assert await closed(at, 3) == [TurnState.DONE] * 3
    assert [content(run) for run in at.runtime.runs.values()] == [
        ["hi"],
        ["waits"],
        [f"{NOTE}\n\nthese", "and this"],
    ]


async def test_a_full_queue_refuses_it(at: Bench) -> None:
    at.runtime.taught = TAUGHT
    async with at.running():
        run = await first_run(at)
        for number in range(QUEUE):
            await at.adapter.hears(f"m{number}")
        await at.adapter.hears("/meeting_actions one more")
        await at.until(lambda: any("20 waiting" in text for text in at.adapter.texts()))
        at.runtime.script = answer_with("ok")
        run.end("error")
        await closed(at, 3)
    assert [len(content(run)) for run in at.runtime.runs.values()] == [1, QUEUE]


async def test_a_retry_asks_for_it_again(at: Bench) -> None:
    at.runtime.taught, at.runtime.script = TAUGHT, answer_with("ok")
    async with at.running():
        await at.adapter.hears("/meeting_actions these")
        await closed(at)
        await at.adapter.hears("/retry")
        await closed(at, 3)
    assert [content(run) for run in at.runtime.runs.values()] == [[f"{NOTE}\n\nthese"]] * 2


async def test_it_outlives_a_restart_between_the_two(at: Bench) -> None:
    at.runtime.taught, at.runtime.script = TAUGHT, answer_with("ok")
    async with at.running(connected=False):
        await at.adapter.hears("/meeting_actions these")
        await at.rest(1.0)
    [turn] = await at.db.transact(list_open_control_turns)
    command = (await at.db.transact(load_turn, turn)).turn
    assert command is not None
    assert await at.db.transact(hand_off_to_agent, command, HANDED, at.clock.now()) == ("", False)
    async with at.running():
        assert await closed(at) == [TurnState.DONE]
    [run] = at.runtime.runs.values()
    assert content(run) == [f"{NOTE}\n\nthese"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/a-b c d", ("a-b", "c d")),
        ("/a_b@bot\nc", ("a_b", "c")),
        ("  /a  ", ("a", "")),
        ("/a/b c", None),
        ("/-a c", None),
        ("/" + "a" * 65, None),
        ("a /b", None),
        ("/ a", None),
    ],
)
def test_what_could_ask_for_a_skill(text: str, expected: tuple[str, str] | None) -> None:
    assert split_command(text) == expected


def test_one_that_cannot_be_used_is_not_meant() -> None:
    assert find_skill("MEETING_actions", TAUGHT.skills) is ACTIONS
    assert find_skill(BROKEN.path, TAUGHT.skills) is None


@pytest.mark.parametrize(
    ("busy", "told", "asked"),
    [
        (Busy.QUEUE, [], 2),
        (Busy.REJECT, [texts_for("en")("busy_rejects")], 1),
        (Busy.INTERRUPT, [], 2),
    ],
)
async def test_while_a_run_is_on_it_is_taken_as_a_message_is(
    at: Bench, busy: Busy, told: list[str], asked: int
) -> None:
    at.runtime.taught, at.busy = TAUGHT, busy
    async with at.running():
        await at.adapter.hears("hello")
        run = await first_run(at)
        await at.adapter.hears("/meeting_actions notes")
        await at.rest(1.0)
        if busy is not Busy.INTERRUPT:
            run.say("hi")
            run.end()
        await at.until(lambda: len(at.runtime.runs) == asked)
        await at.rest(1.0)
        assert run.cancelled is (busy is Busy.INTERRUPT)
        assert [text for text in at.adapter.texts() if "still working" in text] == told


async def test_a_budget_holds_for_it_and_for_a_retry(at: Bench) -> None:
    at.runtime.taught, at.role = TAUGHT, None
    at.runtime.script = answer_with("ok")
    at.budgets = BudgetsConfig(person=BudgetLimits(messages_per_hour=3))
    async with at.running():
        assert await said(at, "hello") == "ok"
        assert await said(at, "/meeting_actions notes") == "ok"
        await said(at, "/retry")
        # Two answers, the command's and the one that was given again.
        await at.until(lambda: len(at.adapter.texts()) == 4)
        await at.quiet()
        for text in ("/meeting_actions notes", "/retry", "hello"):
            assert (await said(at, text)).startswith("You've reached your hourly message limit (3).")
        assert len(at.runtime.runs) == 3
