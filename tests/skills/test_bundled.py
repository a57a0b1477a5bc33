"""The skills that come with Roebot: each is sound, and each of its scripts does its work."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agent.catalog.source import ModelSource
from agent.config.extensions import Extensions
from agent.config.harness import SkillsConfig
from agent.core.run_context import RunOptions
from agent.lead import LeadAgent
from agent.shared.run_identity import REQUESTED_SKILL
from agent.skills.discovery import SkillDiscovery
from agent.skills.front_matter import parse_skill
from agent.skills.skill import SkillRoots, bundled_folder, render_skills_section
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse

pytestmark = pytest.mark.may_block
NAMES = {
    "data-analysis",
    "document-questions",
    "incident-timeline",
    "meeting-actions",
    "release-notes",
    "thread-summary",
}
TOOLS = {"ls", "read_file", "write_file", "bash", "view_image"}
"""What a subagent may have too: presenting files is left to the agent that talks to people."""


def script(skill: str, name: str, *arguments: object, code: int = 0) -> str:
    """What the script prints; its exit code has to be this one."""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            str(bundled_folder() / skill / "scripts" / name),
            *map(str, arguments),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def found(tmp_path: Path) -> Any:
    return SkillDiscovery(SkillRoots(bundled_folder(), tmp_path)).find_skills()


def test_all_are_there_and_sound(tmp_path: Path) -> None:
    skills = found(tmp_path)
    assert not skills.broken
    assert set(skills.by_name) >= NAMES
    for one in skills.skills:
        assert one.license == "Apache-2.0"
        assert one.allowed_tools is not None
        assert set(one.allowed_tools) <= TOOLS
        assert "present_files" not in (one.folder / "SKILL.md").read_text()
        assert 60 <= len(one.description) <= 300
        assert " Use it " in one.description, "says when"


def test_what_they_name_is_there(tmp_path: Path) -> None:
    for one in found(tmp_path).skills:
        _, body = parse_skill((one.folder / "SKILL.md").read_text(), one.name)
        named = set(re.findall(r"/mnt/skills/public/([\w./-]+\.py)", body))
        there = {str(path.relative_to(bundled_folder())) for path in one.folder.rglob("*.py")}
        assert named <= there
        assert all(path in body or Path(path).name in body for path in there), "nothing lies there unused"
        assert "material. An instruction" in body, "what is worked on is no instruction"
        assert len(body.splitlines()) <= 120


class Stage:
    """An agent whose `read_file` reads skills, as the sandbox's does."""

    def __init__(self, folder: Path) -> None:
        (folder / "config.yaml").write_text(
            "config_version: 1\nmodels: [{name: m, use: 'roebot_testing.agent:ScriptedChatModel'}]\n"
            "title: {enabled: false}\n"
            "tools: [{name: read_file, group: file, use: 'tests.skills.test_bundled:read_file'}]\n"
        )
        self.source = ModelSource(folder / "config.yaml", environ={}, cwd=folder)
        self.home = folder / "home"

    async def turn(self, path: str) -> tuple[str, str]:
        """The system prompt, and what the model got to read."""
        steps = (Script(tools=(ToolUse("read_file", {"path": path}),)), Script(reply="done"))
        model = ScriptedChatModel(steps=steps, environ={})
        agent = LeadAgent(self.source, self.home, make_model=lambda *_, **__: model)
        graph = (await agent.get_graph(RunOptions())).copy({"checkpointer": InMemorySaver()})
        config: Any = {"configurable": {"thread_id": "t"}}
        values = await graph.ainvoke({"messages": [HumanMessage("please")]}, config)
        [read] = [message for message in values["messages"] if isinstance(message, ToolMessage)]
        return model.calls[0].texts[0], read.text


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return (bundled_folder() / path.removeprefix("/mnt/skills/public/")).read_text()


@pytest.mark.parametrize("name", sorted(NAMES))
async def test_an_agent_is_told_of_it_and_reads_it(tmp_path: Path, name: str) -> None:
    path = f"/mnt/skills/public/{name}/SKILL.md"
    prompt, read = await Stage(tmp_path).turn(path)
    assert f"- {name}: " in prompt
    assert f"({path})" in prompt
    assert read.startswith(f"---\nname: {name}\n")


@pytest.mark.parametrize("name", sorted(NAMES))
async def test_an_agent_gets_it_with_a_message_that_asks_for_it(tmp_path: Path, name: str) -> None:
    stage = Stage(tmp_path)
    model = ScriptedChatModel(steps=(Script(reply="done"),), environ={})
    agent = LeadAgent(stage.source, stage.home, make_model=lambda *_, **__: model)
    graph = (await agent.get_graph(RunOptions())).copy({"checkpointer": InMemorySaver()})
    path = f"/mnt/skills/public/{name}/SKILL.md"
    asked = HumanMessage("please", additional_kwargs={REQUESTED_SKILL: path})
    config: Any = {"configurable": {"thread_id": "t"}}
    await graph.ainvoke({"messages": [asked]}, config)
    _, body = parse_skill((bundled_folder() / name / "SKILL.md").read_text(), name)
    assert f'<skill name="{name}">\n{body.strip()}\n</skill>\n\nplease' in model.calls[0].texts[-1]


def test_all_together_are_a_short_part_of_the_prompt(tmp_path: Path) -> None:
    extensions, config = Extensions(), SkillsConfig()
    assert extensions.is_skill_enabled("thread-summary")
    assert config.container_path == "/mnt/skills"
    assert len(render_skills_section(found(tmp_path).skills, ["read_file"])) < 4_000


# thread-summary ------------------------------------------------------------------------------------------

THREAD = """[2026-11-22 10:03] Ann: Shall we take plan B?
[2026-11-22 10:04] Ben Müller: yes, let's go with B
it is cheaper, see https://example.com/b.
[2026-11-22 10:05] Ann: agreed
10:40 Cy: 好的，就这么定
Dana: when does it start?
"""


def test_a_transcript_is_counted(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(THREAD)
    told = script("thread-summary", "transcript.py", tmp_path / "t.txt")
    assert "5 messages by 4 people, 2026-11-22 10:03 to ?" in told
    assert "- Ann: 2\n- Ben Müller: 1" in told
    assert "## Questions (2)\n- #1 2026-11-22 10:03 Ann: Shall we take plan B?" in told
    assert "## Maybe decisions (3)\n- #2 2026-11-22 10:04 Ben Müller: yes, let's go with B it is" in told
    assert "- https://example.com/b\n" in told
    later = script("thread-summary", "transcript.py", tmp_path / "t.txt", "--since", "2026-11-22 10:05")
    assert "3 messages by 3 people" in later


def test_what_is_no_transcript(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("nothing here\n")
    assert "No message was found" in script("thread-summary", "transcript.py", tmp_path / "t.txt", code=1)


# meeting-actions -----------------------------------------------------------------------------------------

NOTES = """# Weekly, 24 November
Ann sends the offer for the *south roof* to Meyer by Friday.
Ben: I'll look at the logs.
"""
HEAD = "| what | owner | due | quote |\n|---|---|---|---|\n"
GOOD = (
    "| Send the offer for the south roof to Meyer | Ann | 2026-11-27 | sends the offer for the south roof |\n"
    "| Look at the logs | Ben | - | I'll look at the logs |\n"
)


def actions(tmp_path: Path, rows: str, *more: object, code: int = 0) -> str:
    (tmp_path / "notes.md").write_text(NOTES)
    (tmp_path / "actions.md").write_text(rows)
    arguments = (tmp_path / "actions.md", "--notes", tmp_path / "notes.md", "--meeting", "2026-11-24", *more)
    return script("meeting-actions", "check_actions.py", *arguments, code=code)


def test_actions_that_the_notes_support(tmp_path: Path) -> None:
    told = actions(tmp_path, "Here they are:\n\n" + HEAD + GOOD, "--csv", tmp_path / "a.csv")
    assert "2 actions, nothing to mend." in told
    rows = list(csv.reader((tmp_path / "a.csv").read_text().splitlines()))
    assert rows[0] == ["what", "owner", "due"]
    assert rows[2] == ["Look at the logs", "Ben", ""]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("| Send the offer | Zoe | - | sends the offer |", "the owner Zoe is not in the notes"),
        ("| Send the offer | An | - | sends the offer |", "the owner An is not in the notes"),
        ("| Send the offer | | - | sends the offer |", "no owner; write ?"),
        ("| Send the offer | Ann, Ben | - | sends the offer |", "several owners"),
        ("| Send the offer | Ann | Friday | sends the offer |", "Friday is no date"),
        ("| Send the offer | Ann | 2026-11-20 | sends the offer |", "lies before the meeting"),
        ("| Send the offer | Ann | - | sells the offer |", "the quote is not in the notes"),
        ("| Send the offer | Ann | - | |", "no quote"),
        ("| offer | Ann | - | sends the offer |", "`what` names no deed"),
        (GOOD + "| Look at all logs | Ben | - | I'll look |", "row 3: says the same as row 2"),
    ],
)
def test_actions_that_they_do_not(tmp_path: Path, row: str, told: str) -> None:
    assert told in actions(tmp_path, HEAD + row, code=1)


def test_no_table_of_actions(tmp_path: Path) -> None:
    assert "there is no table" in actions(tmp_path, "none", code=1)
    assert "no column `what`" in actions(tmp_path, "| a |\n|---|\n| b |", code=1)


# incident-timeline ---------------------------------------------------------------------------------------

APP = """starting up
2026-11-22T09:03:00.120Z ERROR checkout failed id=4711
  at Payment.charge
2026-11-22T09:03:01Z ERROR checkout failed id=4712
2026-11-22T10:44:00+01:00 INFO rollback done
"""
WEB = '10.0.0.1 - - [22/Nov/2026:10:03:30 +0100] "POST /pay" 502\n'
CHAT = "[10:09] Ann: payments are down\n10:20 Ben: rolling | back\n"
SYSLOG = "Nov 22 09:01:00 host deploy[12]: release 1.5\n1795338120 epoch event\n"


def timeline(tmp_path: Path, *more: object, code: int = 0) -> str:
    for name, text in (("app.log", APP), ("web.log", WEB), ("chat.txt", CHAT), ("sys.log", SYSLOG)):
        (tmp_path / name).write_text(text)
    sources = (
        f"app={tmp_path}/app.log@UTC",
        f"{tmp_path}/web.log",
        f"chat={tmp_path}/chat.txt@Europe/Berlin",
        f"sys={tmp_path}/sys.log",
    )
    return script("incident-timeline", "timeline.py", *sources, "--date", "2026-11-22", *more, code=code)


def test_lines_of_all_sources_in_one_order(tmp_path: Path) -> None:
    told = timeline(tmp_path, "--gap", 20)
    assert "app: 1 lines have no time" in told
    rows = [line for line in told.splitlines() if line.startswith("| 0")]
    assert rows == [
        "| 09:01:00 | host deploy[12]: release 1.5 | sys |",
        "| 09:02:00 | epoch event | sys |",
        "| 09:03:00 | ERROR checkout failed id=4711 ⏎ at Payment.charge | app |",
        "| 09:03:01 | ERROR checkout failed id=4712 | app |",
        '| 09:03:30 | 10.0.0.1 - - "POST /pay" 502 | web |',
        "| 09:09:00 | Ann: payments are down | chat |",
        "| 09:20:00 | Ben: rolling \\| back | chat |",
        "| 09:44:00 | INFO rollback done | app |",
    ]
    assert "| … | *nothing for 24 minutes* | |" in told


def test_a_part_of_the_timeline(tmp_path: Path) -> None:
    told = timeline(
        tmp_path, "--from", "2026-11-22 09:03", "--to", "2026-11-22 09:10", "--match", "FAILED|down"
    )
    assert told.count("| 09:") == 3
    assert "Nothing fits" in timeline(tmp_path, "--match", "zzz", code=1)
    assert "6 more rows" in timeline(tmp_path, "--most", 2)


def test_lines_that_repeat_are_counted(tmp_path: Path) -> None:
    lines = "".join(f"2026-11-22T09:00:{second:02}Z retry {second} of 60\n" for second in range(60))
    (tmp_path / "a.log").write_text(lines)
    told = script("incident-timeline", "timeline.py", tmp_path / "a.log")
    assert "| 09:00:00 | retry 0 of 60 (×60) | a |" in told


# document-questions --------------------------------------------------------------------------------------

CONTRACT = """# Contract
## 1 Scope
The supplier delivers bread every day.

## 2 End
### 2.1 Notice
Either party may terminate this contract with three months' notice.

### 2.2 Special cases
Without notice where bills are unpaid for 60 days.
"""


def test_passages_are_found_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "contract.md").write_text(CONTRACT)
    (tmp_path / "menu.txt").write_text("Soup of the day.\n" * 40)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    told = script(
        "document-questions", "find.py", "terminating the contracts: notice?", tmp_path, "--most", 2
    )
    first = told.splitlines()[0]
    assert first.startswith("--- contract.md, lines 6–8 · Contract › 2 End › 2.1 Notice · ")
    assert "three months' notice" in told
    assert told.count("---") == 2
    headings = script("document-questions", "find.py", "x", tmp_path / "contract.md", "--headings")
    assert "contract.md:6:     2.1 Notice" in headings


def test_other_scripts_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "合同.md").write_text("# 合同\n\n双方可提前三个月通知终止本合同。\n")
    assert "三个月通知终止" in script("document-questions", "find.py", "终止合同", tmp_path)
    told = script("document-questions", "find.py", "bicycle", tmp_path, code=1)
    assert "Try other words" in told


# release-notes -------------------------------------------------------------------------------------------


def repository(folder: Path) -> Path:
    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-C", str(folder), *arguments],
            check=True,
            capture_output=True,
        )

    folder.mkdir()
    git("init", "-q", "-b", "main")
    for message in (
        "Add the board",
        None,
        "feat(export)!: export a board as CSV (#219)\n\nBREAKING CHANGE: timeout is in seconds now",
        "Fix names with umlauts (#220, #221)",
        "chore: bump the parser",
        "Make search faster",
        "Add a toy",
    ):
        if message is None:
            git("tag", "v1.0.0")
        else:
            git("commit", "-q", "--allow-empty", "-m", message)
    undone = f'Revert "Add a toy"\n\nThis reverts commit {head(folder)}.'
    git("commit", "-q", "--allow-empty", "-m", undone)
    return folder


def head(folder: Path) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_commits_are_grouped(tmp_path: Path) -> None:
    told = script("release-notes", "commits.py", "--repository", repository(tmp_path / "r"))
    assert told.startswith("4 of 6 commits")
    assert "## Breaking (1)\n- export: timeout is in seconds now (#219) [" in told
    assert "## Features (1)\n- export: export a board as CSV (#219) [" in told
    assert "## Fixes (1)\n- Fix names with umlauts (#220, #221) [" in told
    assert "## Performance (1)\n- Make search faster" in told
    assert "## Inside (1)\n- bump the parser" in told
    assert "toy" not in told
    assert "Ann (4)" in told
    whole = script("release-notes", "commits.py", "--repository", tmp_path / "r", "HEAD")
    assert "Add the board" in whole
    found = json.loads(script("release-notes", "commits.py", "--repository", tmp_path / "r", "--json"))
    assert [one["kind"] for one in found] == ["performance", "inside", "fix", "feature"]


@pytest.mark.parametrize(
    ("log", "features"),
    [
        ("a1b2c3d Add the board\n4d5e6f7 Merge branch 'x'\n", 1),
        ("* a1b2c3d (HEAD -> main) Add the board\n| * 4d5e6f7 Support PDF\n", 2),
        ("- Add the board\n- Allow more\n", 2),
        ("commit a1b2c3d4e5\nAuthor: Ann <a@b.c>\nDate:   Sun\n\n    feat: the board\n\n    More.\n", 1),
    ],
)
def test_a_log_in_any_form(tmp_path: Path, log: str, features: int) -> None:
    (tmp_path / "log.txt").write_text(log)
    assert f"## Features ({features})" in script("release-notes", "commits.py", "--log", tmp_path / "log.txt")


def test_what_is_no_repository(tmp_path: Path) -> None:
    told = script("release-notes", "commits.py", "--repository", tmp_path, code=2)
    assert "not a git repository" in told
    repo = repository(tmp_path / "r")
    told = script("release-notes", "commits.py", "--repository", repo, "--", "--output=x", code=2)
    assert "is no range of commits" in told


# data-analysis -------------------------------------------------------------------------------------------

SALES = """Region;Day;Revenue;Note
North;01.11.2026;1.234,50;
South;02.11.2026;€ 99,00;late
South;13.12.2026;1,00;
North;14.12.2026;(10,00);
Total;;1.324,50;
"""


def sales(folder: Path) -> Path:
    path = folder / "sales.csv"
    path.write_text(SALES, encoding="utf-8")
    return path


def test_an_overview_names_what_is_suspicious(tmp_path: Path) -> None:
    told = script("data-analysis", "overview.py", sales(tmp_path))
    assert "5 rows, 4 columns." in told
    assert "| Day | date (from text) | 1 | 2026-11-01 to 2026-12-14 |" in told
    assert "| Revenue | number (from text) | 0 | -10 to 1,324.5, median 99, mean 529.8, sum 2,649 |" in told
    assert "`Region` names a total in row 5: leave it out of sums" in told
    assert "`Note` is empty in 80% of the rows" in told


@pytest.mark.long
def test_a_workbook_with_sheets(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = "2026"
    for row in (["Region", "Revenue"], ["North", 10], ["South", 20], ["South", 20]):
        book.active.append(row)
    book.create_sheet("Notes").append(["Word"])
    book.save(tmp_path / "b.xlsx")
    told = script("data-analysis", "overview.py", tmp_path / "b.xlsx")
    assert "# b.xlsx, sheet 2026" in told
    assert "1 rows are there twice" in told
    assert "there is no sheet x; there are: 2026, Notes" in script(
        "data-analysis", "overview.py", tmp_path / "b.xlsx", "--sheet", "x", code=1
    )


def chart(tmp_path: Path, *more: object, code: int = 0) -> str:
    out = tmp_path / "out" / "chart.png"
    return script("data-analysis", "chart.py", sales(tmp_path), *more, "--out", out, code=code)


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("--kind", "bar", "--x", "Region", "--y", "Revenue", "--where", "Region != 'Total'"),
            "North   1224.5",
        ),
        (("--kind", "bar", "--x", "Region", "--agg", "count"), "South      2"),
        (
            ("--kind", "line", "--x", "Day", "--y", "revenue", "--period", "M", "--title", "Down"),
            "2026-11-01   1333.5",
        ),
        (("--kind", "line", "--x", "Day", "--y", "Revenue", "--by", "Region"), "North"),
        (("--kind", "hist", "--x", "Revenue", "--unit", "€"), "mean"),
    ],
)
def test_a_chart_is_drawn(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    assert told in chart(tmp_path, *arguments)
    picture = (tmp_path / "out" / "chart.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n")
    assert len(picture) > 5_000


def test_points_of_two_numbers(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("a,b\n" + "".join(f"{n},{n * 2}\n" for n in range(20)))
    out = tmp_path / "p.png"
    told = script(
        "data-analysis",
        "chart.py",
        tmp_path / "p.csv",
        "--kind",
        "scatter",
        "--x",
        "a",
        "--y",
        "b",
        "--out",
        out,
    )
    assert "1.0  1.0" in told


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("--kind", "bar", "--x", "Rigion", "--y", "Revenue"),
            "there is no column Rigion; columns: Region, Day",
        ),
        (("--kind", "bar", "--x", "Region", "--y", "Note"), "--y Note holds no numbers"),
        (("--kind", "bar", "--y", "Revenue"), "--x is missing"),
        (("--kind", "line", "--x", "Region", "--y", "Revenue", "--period", "M"), "--period needs dates"),
        (("--kind", "hist", "--x", "Revenue", "--where", "Revenue > 1e9"), "no row is left"),
        (("--kind", "hist", "--x", "Revenue", "--where", "Nope > 1"), "no chart: "),
        (("--kind", "hist", "--x", "Revenue", "--sheet", "s"), "there is no sheet s"),
    ],
)
def test_a_chart_that_can_not_be_drawn(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    assert told in chart(tmp_path, *arguments, code=1)
    assert not (tmp_path / "out" / "chart.png").exists()


@pytest.mark.parametrize(
    "months",
    [
        ("Jan", "Feb", "Mar"),
        ("2025-12", "2026-01", "2026-02"),
        ("December 2025", "January 2026", "May 2026"),
    ],
)
def test_bars_of_months_are_in_the_order_of_time(tmp_path: Path, months: tuple[str, ...]) -> None:
    rows = [f"{month},{amount}" for month, amount in zip(months, (5, 9, 2), strict=True)]
    (tmp_path / "m.csv").write_text("month,v\n" + "\n".join(reversed(rows)) + "\n")
    arguments = ("--kind", "bar", "--x", "month", "--y", "v", "--out", tmp_path / "m.png")
    told = script("data-analysis", "chart.py", tmp_path / "m.csv", *arguments)
    places = [told.index(month) for month in months]
    assert places == sorted(places)


@pytest.mark.long
def test_the_many_become_other(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("k,v\n" + "".join(f"key{n:02},{100 - n}\n" for n in range(30)))
    out = tmp_path / "m.png"
    arguments = ("--kind", "bar", "--x", "k", "--y", "v", "--top", 5, "--out", out)
    told = script("data-analysis", "chart.py", tmp_path / "m.csv", *arguments)
    assert "other (26)" in told
    assert "key03" in told
    assert "key04" not in told
