"""mcp-server-git from PyPI: every tool once, from the embedded client; the thread answers afterwards."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.harness.mcp_bridge import module, over
from tests.harness.mcp_talk import Use, talking

# Its packages warn about things of their own.
pytestmark = [
    pytest.mark.long,
    pytest.mark.may_block,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
NAMED = ("-c", "user.name=Anna", "-c", "user.email=anna@example.com")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *NAMED, *arguments], cwd=folder, check=True, capture_output=True)


def repository(folder: Path) -> Path:
    """A repository with a commit, a change and a file that is not known to it."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", ".")
    for key, value in (("user.name", "Anna"), ("user.email", "anna@example.com")):
        git(folder, "config", key, value)
    (folder / "log.txt").write_text("line\n" * 10_000)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "Add the log")
    (folder / "log.txt").write_text("other\n" * 10_000)
    (folder / "note.txt").write_text("cheese\n")
    return folder


def steps(folder: Path) -> Sequence[Sequence[Use]]:
    """Every tool, in an order that works."""
    at: dict[str, Any] = {"repo_path": str(folder)}
    return [
        [
            Use("git_status", at, "note.txt"),
            Use("git_diff_unstaged", at, "characters are omitted here"),
            Use("git_diff_staged", at, "Staged changes"),
            Use("git_branch", {**at, "branch_type": "local"}, r"\* main"),
        ],
        [Use("git_add", {**at, "files": ["note.txt"]}, "staged")],
        [Use("git_reset", at, "reset")],
        [Use("git_add", {**at, "files": ["note.txt"]}, "staged")],
        [Use("git_commit", {**at, "message": "Add a note"}, "committed")],
        [
            Use("git_log", {**at, "max_count": 1}, "Add a note"),
            Use("git_show", {**at, "revision": "HEAD"}, r"\+cheese"),
            Use("git_diff", {**at, "target": "HEAD~1"}, "cheese"),
        ],
        [Use("git_create_branch", {**at, "branch_name": "side"}, "side")],
        [Use("git_checkout", {**at, "branch_name": "side"}, "side")],
    ]


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_git(tmp_path: Path, provider: str, transport: str) -> None:
    folder = repository(tmp_path / "work")
    program = module("mcp_server_git", "--repository", str(folder))
    async with over(program, transport) as entry, talking(provider, "git", entry, tmp_path / "home") as talk:
        tools = await talk.find_tools()
        for uses in steps(folder):
            await talk.use(*uses)
        assert talk.used == tools
        await talk.use(Use("git_status", {"repo_path": "/"}, ".", failed=True))
        assert await talk.answers()
