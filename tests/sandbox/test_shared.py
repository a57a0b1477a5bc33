"""Folders that all threads read, and nobody writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.core.interfaces import SandboxError
from agent.sandbox.local import LocalSandboxProvider
from tests.sandbox.sandbox_fixtures import folders, one

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def provider(tmp_path: Path) -> LocalSandboxProvider:
    skill = tmp_path / "skills" / "public" / "notes"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("how to\n")
    acp = tmp_path / "home" / "threads" / "thread-1" / "acp-workspace"
    acp.mkdir(parents=True)
    (acp / "result.md").write_text("done\n")
    for path in (tmp_path / "skills").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return LocalSandboxProvider(folders(tmp_path / "home"), read_only={"/mnt/skills": tmp_path / "skills"})


async def test_what_all_threads_share_can_be_read(provider: LocalSandboxProvider) -> None:
    sandbox = await one(provider)
    assert await sandbox.read_file("/mnt/skills/public/notes/SKILL.md") == b"how to\n"
    assert await sandbox.read_file("/mnt/acp-workspace/result.md") == b"done\n"
    assert [entry.name for entry in await sandbox.list_dir("/mnt/skills/public")] == ["notes"]
    assert (await sandbox.execute_command("cat /mnt/skills/public/notes/SKILL.md")).output == "how to\n"


@pytest.mark.guard(
    "shared folders can't be written by file tools",
    "agent/sandbox/folder.py",
    "if not place.mount.writable:\n            raise",
    "if False:\n            raise",
    against="paths",
)
async def test_what_all_threads_share_can_only_be_read(provider: LocalSandboxProvider) -> None:
    sandbox = await one(provider)
    for path in ("/mnt/skills/public/notes/SKILL.md", "/mnt/skills/new", "/mnt/acp-workspace/new"):
        with pytest.raises(SandboxError, match="is read-only"):
            await sandbox.write_file(path, b"x")


@pytest.mark.guard(
    "shared folders are mounted read-only",
    "agent/sandbox/bubblewrap.py",
    '"--bind" if mount.writable else "--ro-bind-try"',
    '"--bind" if mount.writable else "--bind-try"',
    against="paths",
)
async def test_a_command_cannot_write_what_all_threads_share(
    provider: LocalSandboxProvider, tmp_path: Path
) -> None:
    sandbox = await one(provider)
    options = "awk '$2 == \"/mnt/skills\" { print $4 }' /proc/mounts"
    assert "ro" in (await sandbox.execute_command(options)).output.strip().split(",")
    await sandbox.execute_command("echo x > /mnt/skills/new; echo x >> /mnt/skills/public/notes/SKILL.md")
    assert (tmp_path / "skills" / "public" / "notes" / "SKILL.md").read_text() == "how to\n"
