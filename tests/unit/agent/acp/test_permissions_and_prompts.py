"""Permission, words, folders and hints: the parts that need no agent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace as Made
from typing import Any

import pytest

from agent.acp import runner
from agent.acp.incoming_updates import CUT, MAX_BUFFERED, MAX_CHARS, TaskOutput, to_short_line
from agent.acp.program import suggest_adapter
from agent.acp.runner import AcpWorkspace, describe_changes, snapshot_files
from agent.acp.wire import choose_option
from agent.core.interfaces import SubagentStep
from agent.errors import BadIdentifier
from agent.uploads.folders import ThreadFolders

ALL = ("reject_always", "allow_always", "reject_once", "allow_once")


@dataclass(frozen=True)
class Offered:
    kind: str

    @property
    def option_id(self) -> str:
        return f"id-{self.kind}"


@pytest.mark.parametrize(
    ("kinds", "approve", "option"),
    [
        (ALL, True, "id-allow_once"),
        (ALL, False, "id-reject_once"),
        (("reject_once", "allow_always"), True, "id-allow_always"),
        (("allow_once", "reject_always"), False, "id-reject_always"),
        (("reject_once",), True, None),
        (("allow_once", "allow_always"), False, None),
        (("something_new",), True, None),
        ((), False, None),
    ],
)
def test_the_narrowest_option_is_taken_and_never_one_of_the_other_kind(
    kinds: tuple[str, ...], approve: bool, option: str | None
) -> None:
    assert choose_option([Offered(kind) for kind in kinds], approve=approve) == option


def says(text: str) -> Any:
    return Made(session_update="agent_message_chunk", content=Made(type="text", text=text))


def begins(title: str | None) -> Any:
    return Made(session_update="tool_call", title=title)


def test_words_are_one_text_and_what_comes_after_a_tool_stands_apart() -> None:
    steps: list[SubagentStep] = []
    hearing = TaskOutput(steps.append)
    for update in (
        says("I look"),
        says(" at it."),
        begins("Read\n a.md"),
        begins(None),
        says(" "),
        says("Done"),
        says("."),
        Made(session_update="agent_thought_chunk", content=Made(type="text", text="hm")),
        Made(session_update="tool_call_update", title="x"),
        Made(session_update="plan", entries=[]),
        Made(),
    ):
        hearing.add_update(update)
    assert hearing.text == "I look at it. \n\nDone."
    assert steps == [SubagentStep(1, ("Read a.md",)), SubagentStep(2, ("tool",))]


def test_what_is_no_text_is_named_and_its_place_is_not_told() -> None:
    hearing = TaskOutput()
    link = Made(type="resource_link", name="a.pdf", uri="file:///secret/a.pdf")
    hearing.add_update(Made(session_update="agent_message_chunk", content=link))
    hearing.add_update(Made(session_update="agent_message_chunk", content=Made(type="image", data="…")))
    hearing.add_update(Made(session_update="agent_message_chunk", content=Made()))
    assert hearing.text == "[file: a.pdf][image that can't be shown][something that can't be shown]"


def test_a_flood_of_words_loses_its_middle() -> None:
    hearing = TaskOutput()
    hearing.add_update(says("begin "))
    for _ in range(100):
        hearing.add_update(says("x" * 5_000))
    hearing.add_update(says(" end"))
    assert len(hearing.text) <= MAX_CHARS
    assert hearing.text.startswith("begin x")
    assert hearing.text.endswith("x end")
    assert CUT in hearing.text
    assert len(hearing._text) <= 2 * MAX_BUFFERED + 5_000


def test_a_title_is_one_line_that_is_not_long() -> None:
    assert to_short_line("a\n  b") == "a b"
    assert len(to_short_line("x" * 500)) == 120
    assert to_short_line("x" * 500).endswith("…")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("codex", "codex does not support ACP by itself; use codex-acp."),
        ("/usr/bin/claude", "use claude-agent-acp."),
        ("gemini.cmd", "use gemini with the argument --acp."),
        ("codex-acp", "must be a program that uses ACP"),
        ("other", "codex-acp for Codex, claude-agent-acp for Claude Code"),
    ],
)
def test_a_hint_names_the_adapter(command: str, told: str) -> None:
    assert told in suggest_adapter(command)


def test_files_that_are_new_or_changed_are_told_by_the_paths_of_the_lead_agent(tmp_path: Path) -> None:
    place = AcpWorkspace.for_thread(ThreadFolders(tmp_path), "t-1")
    assert place.folder == tmp_path / "threads" / "t-1" / "acp-workspace"
    assert place.folder.stat().st_mode & 0o777 == 0o700
    for name in ("kept.md", "changed.md", "gone.md"):
        (place.folder / name).write_text("a")
    before = snapshot_files(place.folder)
    assert describe_changes(before, before) == ""
    (place.folder / "changed.md").write_text("longer")
    (place.folder / "gone.md").unlink()
    (place.folder / "src").mkdir()
    (place.folder / "src" / "new.py").write_text("")
    for hidden in (".git", "node_modules"):
        (place.folder / hidden).mkdir()
        (place.folder / hidden / "x").write_text("")
    (place.folder / "link").symlink_to("/etc/passwd")
    (place.folder / "linked").symlink_to("/etc")
    told = describe_changes(before, snapshot_files(place.folder))
    assert told == (
        "Files that it created or changed: /mnt/acp-workspace/changed.md, /mnt/acp-workspace/src/new.py."
    )


def test_many_files_are_not_all_named_nor_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(60):
        (tmp_path / f"{number:02}").write_text("")
    told = describe_changes({}, snapshot_files(tmp_path))
    assert told.endswith("/mnt/acp-workspace/49 and 10 more.")
    monkeypatch.setattr(runner, "MAX_FILES", 7)
    assert len(snapshot_files(tmp_path)) == 7
    assert snapshot_files(tmp_path / "gone") == {}


def test_paths_of_the_host_are_written_as_the_lead_agent_knows_them(tmp_path: Path) -> None:
    place = AcpWorkspace.for_thread(ThreadFolders(tmp_path / "home"), "t-1")
    text = f"See {place.folder}/a.md and {place.folder.parent}/x, {tmp_path / 'home'}/config.yaml"
    assert place.paths.mask(text) == "See /mnt/acp-workspace/a.md and /mnt/x, […]/config.yaml"


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    thread = tmp_path / "threads" / "t-1"
    thread.mkdir(parents=True)
    (thread / "acp-workspace").symlink_to(tmp_path)
    with pytest.raises(BadIdentifier):
        AcpWorkspace.for_thread(ThreadFolders(tmp_path), "t-1")
    with pytest.raises(BadIdentifier):
        AcpWorkspace.for_thread(ThreadFolders(tmp_path), "../t-1")
