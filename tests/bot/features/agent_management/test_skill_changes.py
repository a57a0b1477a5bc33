"""`/skill install`, `update`, `remove`, `history` and `restore`: what is shown, and what is done."""

from __future__ import annotations

import asyncio

import pytest

from agent.shared.schemas import (
    SkillCheck,
    SkillFindingInfo,
    SkillInfo,
    SkillList,
    SkillVersionInfo,
)
from bot.access import Role
from bot.features.agent_management.skill_changes import is_skill_argument
from bot.store.audit import list_audit_entries
from roebot_testing.runtime import ScriptedRuntime
from tests.bot.features.agent_management.test_agent_command import said
from tests.component.dispatch.bench import Bench

ADDRESS = "https://example.org/skills.git"
OLD, NEW = "a" * 40, "b" * 40
CHECK = SkillCheck(
    name="stand-up",
    description="Writes [the](https://evil.example) stand-up.",
    version=None,
    executables=["run.sh"],
    notes=["Keys without a meaning here: `model`."],
    findings=[
        SkillFindingInfo(severity="danger", kind="trick", file="run`.sh", line=3, detail="destroys data"),
        SkillFindingInfo(severity="note", kind="program", file="x", line=0, detail="can be run as a program"),
    ],
    replaces="",
    commit=NEW,
)


def version(number: int, *, current: bool = False, kept: bool = False, kind: str = "git") -> SkillVersionInfo:
    return SkillVersionInfo(
        number=number,
        installed_at=1_700_000_000.0,
        current=current,
        kept=kept,
        kind=kind,
        location=ADDRESS if kind == "git" else "x.zip",
        path="skills/stand-up" if kind == "git" else "",
        reference="main",
        commit=OLD if kind == "git" else "",
        version=None,
    )


@pytest.fixture
def changes(at: Bench) -> ScriptedRuntime:
    installed = SkillInfo(name="stand-up", description="x", category="custom", path="/p", enabled=True)
    at.runtime.taught = SkillList(skills=[installed], problems=[])
    made = at.runtime
    made.repositories = {ADDRESS: CHECK}
    made.skill_versions = {
        "stand-up": [version(3, current=True), version(2, kept=True), version(1)],
        "from-a-file": [version(1, current=True, kind="archive")],
        "empty": [],
    }
    return made


@pytest.mark.guard(
    "nothing is installed before its content was shown",
    "bot/features/agent_management/skill_changes.py",
    "if len(more) > 1 or (confirmed and not commit):",
    "if len(more) > 1:",
    against="chat",
)
@pytest.mark.guard(
    "what a skill says of itself creates no links",
    "bot/features/agent_management/skill_changes.py",
    "quoted(found.description, LONGEST_DESCRIPTION),",
    "found.description,",
    against="chat",
)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"/skill install <{ADDRESS}> skills/stand-up",
            [
                "**stand-up** (commit `bbbbbbbbbbbb`) is not installed yet.",
                "`Writes [the](https://evil.example) stand-up.`",
                "- 🛑 `run'.sh:3`: destroys data\n- • `x`: can be run as a program",
                "- `Keys without a meaning here: 'model'.`",
                f"`/skill install {ADDRESS} skills/stand-up {NEW} yes`",
            ],
        ),
        (f"/skill install {ADDRESS} {OLD}", [f"`/skill install {ADDRESS} {NEW} yes`"]),
        ("/skill install", ["Use `/skill install ADDRESS`"]),
        (f"/skill install {ADDRESS} yes", ["Use `/skill install ADDRESS`"]),
        (f"/skill install {ADDRESS} a b", ["Use `/skill install ADDRESS`"]),
        ("/skill install https://x", ["That did not work: `The repository can't be read: not found.`"]),
        ("/skill Stand_Up update", ["commit `bbbbbbbbbbbb`", f"`/skill stand-up update {NEW}`"]),
        ("/skill from-a-file update", ["does not come from a git repository"]),
        ("/skill stand-up update now", ["Use `/skill NAME`"]),
        ("/skill gone update", ["That did not work: `There is no skill named gone.`"]),
        (
            "/skill stand-up history",
            [
                "- **3** (in use): 2023-11-14 22:13 UTC, "
                "`https://example.org/skills.git skills/stand-up aaaaaaaaaaaa`",
                "- 2: 2023",
                "- 1 (no longer stored): 2023",
                "`/skill stand-up restore NUMBER`",
            ],
        ),
        ("/skill empty history", ["No versions of the skill `empty` are recorded."]),
        ("/skill stand-up history 2", ["Use `/skill NAME`"]),
        ("/skill stand-up remove now", ["Use `/skill NAME`"]),
        ("/skill stand-up restore last", ["Use `/skill NAME`"]),
        ("/help skill", ["`/skill install ADDRESS PATH`", "`history` lists its versions"]),
    ],
)
async def test_what_changes_nothing(
    at: Bench, changes: ScriptedRuntime, text: str, expected: list[str]
) -> None:
    async with at.running():
        told = await said(at, text)
    for part in expected:
        assert part in told
    assert changes.skill_changes == []
    assert at.runtime.runs == {}


@pytest.mark.parametrize(
    ("text", "done", "expected"),
    [
        (
            f"/skill install {ADDRESS} p/q {NEW} yes",
            ("install", ADDRESS, "p/q", NEW, "False"),
            "The skill `stand-up` is installed. To use it, send `/stand_up`",
        ),
        (
            f"/skill INSTALL {ADDRESS} {NEW.upper()} Replace",
            ("install", ADDRESS, "", NEW, "True"),
            "The skill `stand-up` is installed.",
        ),
        (f"/skill stand-up update {NEW}", ("upgrade", "stand-up", NEW), "The skill `stand-up` is installed."),
        ("/skill stand_up remove", ("remove", "stand-up"), "send `/skill stand-up restore`"),
        ("/skill stand-up restore", ("restore", "stand-up", "None"), "Version 3 of the skill"),
        ("/skill stand-up restore 2", ("restore", "stand-up", "2"), "in use again"),
    ],
)
async def test_what_is_done_is_in_the_audit_log(
    at: Bench, changes: ScriptedRuntime, text: str, done: tuple[str, ...], expected: str
) -> None:
    async with at.running():
        told = await said(at, text)
        events = [entry.deed for entry in await at.db.transact(list_audit_entries)]
    assert expected in told
    assert changes.skill_changes == [done]
    [event] = [one for one in events if one.subject == "/skill"]
    assert event.detail == text.removeprefix("/skill ")


async def test_an_installed_skill_is_replaced_only_if_the_message_says_so(
    at: Bench, changes: ScriptedRuntime
) -> None:
    changes.repositories[ADDRESS] = CHECK.model_copy(
        update={"replaces": "custom", "findings": [], "notes": []}
    )
    async with at.running():
        told = await said(at, f"/skill install {ADDRESS}")
        assert "It replaces the installed skill" in told
        assert "I found nothing suspicious in its files." in told
        assert f"`/skill install {ADDRESS} {NEW} replace`" in told
        changes.repositories[ADDRESS] = CHECK.model_copy(update={"commit": OLD})
        assert await said(at, "/skill stand-up update") == "The skill `stand-up` is up to date."


async def test_a_long_list_of_findings_is_cut(at: Bench, changes: ScriptedRuntime) -> None:
    changes.repositories[ADDRESS] = CHECK.model_copy(update={"findings": list(CHECK.findings) * 20})
    async with at.running():
        told = await said(at, f"/skill install {ADDRESS}")
    assert "- … and 25 more" in told
    assert told.count("destroys data") == 8


@pytest.mark.guard(
    "only owners of all accounts change skills",
    "bot/features/agent_management/skill_changes.py",
    "if words[1].lower() != HISTORY and not call.may(Permission.PROGRAMS):",
    "if False:",
    against="chat",
)
@pytest.mark.parametrize(("role", "history"), [(Role.ADMIN, True), (Role.MEMBER, False)])
async def test_only_owners_change_skills(
    at: Bench, changes: ScriptedRuntime, role: Role, history: bool
) -> None:
    at.role = role
    async with at.running():
        for text in (f"install {ADDRESS}", "stand-up update", "stand-up remove", "stand-up restore"):
            told = await said(at, f"/skill {text}")
            assert ("Only owners of all accounts" in told) is history, told
        assert ("Versions of stand-up" in await said(at, "/skill stand-up history")) is history
        deeds = [entry.deed for entry in await at.db.transact(list_audit_entries)]
    assert changes.skill_changes == []
    shown, *changing = [one.action for one in deeds if one.subject == "/skill"]
    assert changing == ["refused"] * 4
    assert shown == ("command" if history else "refused")


async def test_without_an_answer_nothing_is_claimed(at: Bench, changes: ScriptedRuntime) -> None:
    async with at.running():
        at.runtime.down = True
        assert "I don't know whether the change was made" in await said(at, "/skill stand-up remove")
        at.runtime.down, at.runtime.taught = False, None
        assert await said(at, "/skill stand-up remove") == "That did not work: `not here`"


async def test_a_change_before_a_restart_of_the_service_is_not_made_again(
    at: Bench, changes: ScriptedRuntime
) -> None:
    changes.restore_gate = asyncio.Event()
    async with at.running():
        await at.adapter.hears("/skill stand-up restore")
        await at.until(lambda: changes.skill_changes)
    assert at.adapter.texts() == []
    async with at.running():
        await at.until(lambda: at.adapter.texts())
        await at.rest()
        events = [entry.deed for entry in await at.db.transact(list_audit_entries)]
    [told] = at.adapter.texts()
    assert told.startswith("The service restarted while I was making this change")
    assert changes.skill_changes == [("restore", "stand-up", "None")]
    assert [one.detail for one in events if one.subject == "/skill"] == ["stand-up restore"]


async def test_a_reason_makes_no_links(at: Bench, changes: ScriptedRuntime) -> None:
    async with at.running():
        told = await said(at, "/skill [x](https://evil.example) update")
    assert told == "That did not work: `There is no skill named [x](https://evil.example).`"


@pytest.mark.parametrize(
    ("rest", "meant"),
    [
        ("", True),
        ("stand-up", True),
        (": what is it", False),
        (":stand-up remove", False),
        ("\uff1a怎么写", False),
        ("\uff1astand-up remove", False),
        ("stand-up off", True),
        ("stand-up remove", True),
        ("install https://example.org/x path yes", True),
        ("install this for me", False),
        ("issues are hard", False),
        ("stand-up update of the day please", False),
    ],
)
def test_what_is_a_command_after_a_mention(rest: str, meant: bool) -> None:
    assert is_skill_argument(rest) is meant
