"""The files of a thread between its home and the copy at the service."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from agent.sandbox.remote import HOME_NAME, RemoteSandboxProvider
from roebot_testing.agent.conformance.attacks import LIMITS
from tests.sandbox.provisioning import (
    bubblewrapped,
    remote,
    serving,
)
from tests.sandbox.sandbox_fixtures import folders, one

pytestmark = pytest.mark.bubblewrap


@pytest_asyncio.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    async with serving(bubblewrapped(tmp_path / "service", LIMITS)) as (address, _):
        yield address


async def test_files_are_copied_there_and_back(tmp_path: Path, url: str) -> None:
    """Uploads and what can only be read go; what a command makes, changes and removes comes."""
    skills = tmp_path / "skills"
    skills.mkdir()
    (skills / "SKILL.md").write_text("how to")
    provider = RemoteSandboxProvider(
        folders(tmp_path), remote(tmp_path, url).service, read_only={"/mnt/skills/public": skills}
    )
    sandbox = await one(provider)
    await sandbox.write_file("/mnt/user-data/uploads/data.csv", b"a,b\n")
    await sandbox.write_file("old.txt", b"old")
    await sandbox.write_file("gone/away.txt", b"gone")
    result = await sandbox.execute_command(
        "cat ../uploads/data.csv /mnt/skills/public/SKILL.md; echo new > old.txt; rm -r gone; mkdir -p a/b; "
        "echo x > ../outputs/chart.png; printf '#!/bin/sh\\necho ran' > run.sh; chmod 755 run.sh; "
        "ln -s old.txt way; echo no > /mnt/skills/public/mine"
    )
    assert result.output.startswith("a,b\nhow to")
    assert await sandbox.read_file("old.txt") == b"new\n"
    assert await sandbox.read_file("/mnt/user-data/outputs/chart.png") == b"x\n"
    assert [entry.name for entry in await sandbox.list_dir(".")] == ["a", "old.txt", "run.sh", "way"]
    result = await sandbox.execute_command("./run.sh; cat way; ls a; test ! -e gone")
    assert (result.output, result.exit_code) == ("ran\nnew\nb\n", 0)
    assert [path.name for path in skills.iterdir()] == ["SKILL.md"]


async def test_nothing_is_lost_with_a_copy(tmp_path: Path, url: str) -> None:
    """The next command has its files again: links and what may be run too."""
    provider = remote(tmp_path, url)
    sandbox = await one(provider)
    await sandbox.execute_command(
        "echo kept > a; mkdir d; ln -s ../a d/link; echo 'echo ran' > r; chmod +x r"
    )
    await provider.close()
    assert list((tmp_path / "service" / "threads").iterdir()) == []
    assert (await sandbox.execute_command("cat d/link; ./r")).output == "kept\nran\n"


async def test_files_changed_here_during_a_command_stay(tmp_path: Path, url: str) -> None:
    """Written while the command runs, which writes it too; and one that the command removes."""
    sandbox = await one(remote(tmp_path, url))
    for name in ("both", "removed"):
        await sandbox.write_file(name, b"before")
    running = asyncio.create_task(
        sandbox.execute_command("echo begun > begun; echo theirs > both; rm removed; sleep 1")
    )
    copy = tmp_path / "service" / "threads"
    while not [path for path in await asyncio.to_thread(lambda: list(copy.rglob("begun")))]:
        await asyncio.sleep(0.02)
    for name in ("both", "removed", "new"):
        await sandbox.write_file(name, b"ours")
    await running
    assert [await sandbox.read_file(name) for name in ("both", "removed", "new")] == [b"ours"] * 3
    assert (await sandbox.execute_command("cat both removed new")).output == "oursoursours"


async def test_any_file_name_is_transferred(tmp_path: Path, url: str) -> None:
    """Of no UTF-8, with line ends, and those that begin with a dash."""
    sandbox = await one(remote(tmp_path, url))
    await sandbox.execute_command(
        "echo 1 > $'\\xff\\xfe'; echo 2 > $'a\\nb'; echo 3 > ./-x; ln -s x $'\\xfd'"
    )
    found = [os.fsencode(entry.name) for entry in await sandbox.list_dir(".")]
    assert sorted(found) == [b"-x", b"a\nb", b"\xfd", b"\xff\xfe"]
    assert await sandbox.read_file(os.fsdecode(b"\xff\xfe")) == b"1\n"
    await sandbox.write_file(os.fsdecode(b"\xff\xfe"), b"changed")
    assert (await sandbox.execute_command("cat $'\\xff\\xfe'; rm -- *")).output == "changed"
    assert await sandbox.list_dir(".") == []


async def test_a_file_and_a_folder_swap_names(tmp_path: Path, url: str) -> None:
    sandbox = await one(remote(tmp_path, url))
    await sandbox.write_file("file", b"x")
    await sandbox.write_file("folder/inside", b"x")
    await sandbox.execute_command("rm -r file folder; mkdir file; echo in > file/inside; echo now > folder")
    assert await sandbox.read_file("file/inside") == b"in\n"
    assert await sandbox.read_file("folder") == b"now\n"
    await sandbox.execute_command("rm -r file folder; ln -s nowhere file; mkfifo folder")
    assert [(entry.name, entry.is_dir) for entry in await sandbox.list_dir(".")] == [("file", False)]


@pytest.mark.guard(
    "remote: files beyond the quota are rejected",
    "agent/sandbox/remote.py",
    "if entry.size >= room or entries < 0 or not self._make_folder(entry):",
    "if not self._make_folder(entry):",
    against="disk fill",
)
async def test_files_beyond_the_limit_are_not_stored(tmp_path: Path, url: str) -> None:
    """It is said, and gone with the next command."""
    sandbox = await one(remote(tmp_path, url, limits=replace(LIMITS, disk_mb=1)))
    result = await sandbox.execute_command("head -c 3000000 /dev/zero > large; echo small > small")
    assert "1 file was not stored" in result.output
    assert [entry.name for entry in await sandbox.list_dir(".")] == ["small"]
    assert (await sandbox.execute_command("ls")).output == "small\n"


async def test_threads_and_homes_are_kept_apart(tmp_path: Path, url: str) -> None:
    """Also where two homes call their threads the same."""
    first, second = remote(tmp_path / "one", url), remote(tmp_path / "two", url)
    await (await one(first)).execute_command("echo first > mine")
    result = await (await one(second)).execute_command("ls -A; ls -A ../uploads ../outputs")
    assert "mine" not in result.output
    other = await one(first, "thread-2")
    found = await asyncio.gather(
        (await one(first)).execute_command("echo a > a; sleep 0.3; ls"),
        other.execute_command("echo b > b; ls"),
    )
    assert [result.output for result in found] == ["a\nmine\n", "b\n"]
    names = [(tmp_path / home / HOME_NAME).read_text() for home in ("one", "two")]
    assert len({*names}) == 2
    assert len(list((tmp_path / "service" / "threads").iterdir())) == 3


async def test_a_released_sandbox_is_warm(tmp_path: Path, url: str) -> None:
    provider = remote(tmp_path, url)
    await (await one(provider)).execute_command("mkfifo only-there")
    await provider.release(await provider.acquire("thread-1"))
    assert (await (await one(provider)).execute_command("ls")).output == "only-there\n"


async def test_commands_of_a_thread_wait_for_each_other(tmp_path: Path, url: str) -> None:
    """Also those of a sandbox that was released meanwhile."""
    provider = remote(tmp_path, url)
    first = asyncio.create_task((await one(provider)).execute_command("test ! -e b; echo $? > a; sleep 0.3"))
    await asyncio.sleep(0)
    await provider.release(await provider.acquire("thread-1"))
    second = await one(provider)
    await second.execute_command("test -e a && echo after > b")
    await first
    assert await second.read_file("b") == b"after\n"
