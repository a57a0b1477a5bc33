"""Each guard of the local sandbox alone: a test fails when it is removed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from pathlib import Path

import psutil
import pytest

from agent.core.interfaces import SandboxError, SandboxUnavailable
from agent.sandbox.bubblewrap import Job, arguments
from agent.sandbox.options import SandboxLimits
from agent.sandbox.paths import WORKSPACE, Mount
from agent.sandbox.resource_watch import DiskUse, ResourceWatch
from agent.sandbox.run_as import FIRST, user_of
from roebot_testing.agent.conformance.attacks_base import (
    SECRET,
    list_marked_processes,
    run_python,
    wait_until_gone,
)
from tests.sandbox.sandbox_fixtures import local, one

pytestmark = pytest.mark.bubblewrap
LIMITS = SandboxLimits(
    seconds=20, processes=40, open_files=300, memory_mb=200, disk_mb=30, free_mb=10, scratch_mb=5
)


async def said(home: Path, command: str, **given: object) -> str:
    sandbox = await one(local(home, limits=LIMITS, **given))  # type: ignore[arg-type]
    return (await sandbox.execute_command(command)).output.strip()


@pytest.mark.guard(
    "separate process namespace",
    "agent/sandbox/bubblewrap.py",
    '"--unshare-pid", ',
    "",
    against="/proc and devices",
)
@pytest.mark.guard(
    "separate IPC namespace",
    "agent/sandbox/bubblewrap.py",
    '"--unshare-ipc", ',
    "",
    against="/proc and devices",
)
@pytest.mark.guard(
    "separate cgroup namespace",
    "agent/sandbox/bubblewrap.py",
    '"--unshare-cgroup-try", ',
    "",
    against="/proc and devices",
)
@pytest.mark.parametrize("name", ["pid", "net", "ipc", "uts", "cgroup", "mnt"])
async def test_namespaces_are_its_own(tmp_path: Path, name: str) -> None:
    ours = await asyncio.to_thread(os.readlink, f"/proc/self/ns/{name}")
    assert await said(tmp_path, f"readlink /proc/self/ns/{name}") not in {"", ours}


@pytest.mark.skipif(os.geteuid() == 0, reason="root's commands get a user of their own instead")
async def test_the_user_namespace_is_the_last(tmp_path: Path) -> None:
    ours = await asyncio.to_thread(os.readlink, "/proc/self/ns/user")
    assert await said(tmp_path, "readlink /proc/self/ns/user") not in {"", ours}


@pytest.mark.guard(
    "no user namespaces inside the sandbox",
    "agent/sandbox/bubblewrap.py",
    '"--disable-userns", ',
    "",
    against="/proc and devices",
    user=True,
)
@pytest.mark.skipif(os.geteuid() == 0, reason="root's commands get a user of their own instead")
def test_no_user_namespace_is_made_without_the_filter_either(tmp_path: Path) -> None:
    mounts = [Mount(WORKSPACE, tmp_path, writable=True)]
    job = Job(mounts=mounts, user=os.geteuid(), limits=LIMITS, file_bytes=1_000)
    for command, works in ((["true"], True), (["unshare", "-U", "true"], False)):
        assert (subprocess.run(arguments(job, command), capture_output=True).returncode == 0) == works


@pytest.mark.guard(
    "root switches to another user",
    "agent/sandbox/bubblewrap.py",
    'f"--reuid={user}",\n        f"--regid={user}",',
    "",
    against="/proc and devices",
)
@pytest.mark.guard(
    "privileges can't be regained",
    "agent/sandbox/bubblewrap.py",
    '"--bounding-set=-all",',
    "",
    against="/proc and devices",
)
@pytest.mark.guard(
    "an ordinary user's command has no privileges inside",
    "agent/sandbox/bubblewrap.py",
    '"--cap-drop", "ALL"]',
    '"--cap-add", "ALL"]',
    against="/proc and devices",
    user=True,
)
async def test_no_right_is_left(tmp_path: Path) -> None:
    shown = await said(
        tmp_path, "grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs)' /proc/self/status"
    )
    rights = dict(line.split(":\t") for line in shown.splitlines())
    assert rights.pop("NoNewPrivs") == "1"
    assert {int(value, 16) for value in rights.values()} == {0}
    assert await said(tmp_path, "id -u") != "0"
    assert "65534" not in (await said(tmp_path, "id -G")).split() or os.geteuid() == 65534


@pytest.mark.guard(
    "each thread has its own user",
    "agent/sandbox/run_as.py",
    "return FIRST + ",
    "return FIRST + 0 * ",
    against="/proc and devices",
)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can have other users")
async def test_every_thread_has_a_user_of_its_own(tmp_path: Path) -> None:
    provider = local(tmp_path)
    found = []
    for thread_id in ("one", "two"):
        sandbox = await one(provider, thread_id)
        found.append(int((await sandbox.execute_command("id -u")).output))
    assert found == [user_of("one"), user_of("two")]
    assert len(set(found)) == 2
    assert min(found) >= FIRST


async def test_files_of_the_service_are_handed_over(tmp_path: Path) -> None:
    sandbox = await one(local(tmp_path))
    await sandbox.write_file("deep/mine.txt", b"mine\n")
    uploads = tmp_path / "threads" / "thread-1" / "user-data" / "uploads"
    uploads.mkdir(mode=0o700)
    (uploads / "sent.txt").write_text("sent\n")
    (uploads / "sent.txt").chmod(0o600)
    command = (
        "cat deep/mine.txt ../uploads/sent.txt; echo more >> deep/mine.txt; "
        "rm ../uploads/sent.txt; ls ../uploads"
    )
    assert (await sandbox.execute_command(command)).output == "mine\nsent\n"


@pytest.mark.guard(
    "system folders are read-only",
    "agent/sandbox/bubblewrap.py",
    '["--ro-bind", "/usr", "/usr"]',
    '["--bind", "/usr", "/usr"]',
    against="paths",
)
@pytest.mark.guard(
    "the root is read-only",
    "agent/sandbox/bubblewrap.py",
    '["--remount-ro", "/", "--chdir", WORKSPACE]',
    '["--chdir", WORKSPACE]',
    against="paths",
)
@pytest.mark.guard(
    "/dev is read-only",
    "agent/sandbox/bubblewrap.py",
    'return [*line, "--remount-ro", "/dev"]',
    "return line",
    against="/proc and devices",
)
@pytest.mark.parametrize("folder", ["/", "/usr", "/dev"])
async def test_folders_of_the_system_cannot_be_written(tmp_path: Path, folder: str) -> None:
    options = await said(tmp_path, f"awk '$2 == \"{folder}\" {{ print $4 }}' /proc/mounts")
    assert "ro" in options.split(",")


@pytest.mark.guard(
    "host settings are not visible",
    "agent/sandbox/bubblewrap.py",
    'line += _create_folders("/etc", "/etc/ssl", "/etc/pki", "/etc/pki/tls")',
    'line += ["--ro-bind", "/etc", "/etc"]; return line',
    against="/proc and devices",
)
async def test_settings_of_the_host_are_not_there(tmp_path: Path) -> None:
    shown = await said(tmp_path, "ls /etc; ls / ; ls /sys /boot /root /home 2>/dev/null")
    assert not {"shadow", "hosts", "resolv.conf", "machine-id", "ssh", "root", "home", "sys"} & set(
        shown.split()
    )
    assert (await said(tmp_path, "cat /etc/passwd")).startswith("agent:x:")
    assert (await said(tmp_path, "wc -l < /etc/passwd")) == "1"


@pytest.mark.guard(
    "scratch folders have a size limit",
    "agent/sandbox/bubblewrap.py",
    '["--perms", "1777", "--size", size, "--tmpfs", path]',
    '["--perms", "1777", "--tmpfs", path]',
    against="disk fill",
)
@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm", "/run"])
async def test_scratch_folders_have_a_size(tmp_path: Path, folder: str) -> None:
    written = await said(
        tmp_path, f"head -c 9000000 /dev/zero > {folder}/x 2> /dev/null; stat -c %s {folder}/x"
    )
    assert int(written) <= 5_010_000, "the size, in whole pages"


@pytest.mark.guard(
    "a command's environment is a fixed list",
    "agent/sandbox/local.py",
    'env = {"PATH": os.environ.get("PATH", os.defpath)}',
    "env = dict(os.environ)",
    against="environment",
)
async def test_the_environment_is_what_we_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", SECRET)
    shown = await said(tmp_path, "env | cut -d= -f1 | sort | tr '\\n' ' '")
    assert set(shown.split()) - {"PWD", "SHLVL", "_"} == {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "MPLBACKEND", "MPLCONFIGDIR"),
        *("PYTHONDONTWRITEBYTECODE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
    }


@pytest.mark.guard(
    "the sandbox program's environment has only a search path",
    "agent/sandbox/local.py",
    'env = {"PATH": os.environ.get("PATH", os.defpath)}',
    "env = dict(os.environ)",
    against="environment",
)
async def test_no_process_of_ours_carries_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", SECRET)
    sandbox = await one(local(tmp_path))
    task = asyncio.create_task(
        sandbox.execute_command("touch begun; while ! test -e stop; do sleep 0.05; done")
    )
    while not [entry for entry in await sandbox.list_dir(".") if entry.name == "begun"]:
        await asyncio.sleep(0.02)
    found = await asyncio.to_thread(_sandbox_environments)
    await sandbox.write_file("stop", b"")
    await task
    assert found
    assert not any(SECRET in environ for environ in found)


def _sandbox_environments() -> list[str]:
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # such as the one that has listed the folder
            if "bwrap" in child.name():
                found.append(str(child.environ()))
    return found


@pytest.mark.guard(
    "memory per process is limited",
    "agent/sandbox/bubblewrap.py",
    'f"--data={limits.memory_mb * MEGABYTE}",',
    "",
    against="memory",
)
@pytest.mark.parametrize(
    ("name", "value"),
    [("NPROC", 40), ("NOFILE", 300), ("DATA", 200_000_000), ("CORE", 0)],
)
async def test_limits_of_the_kernel(tmp_path: Path, name: str, value: int) -> None:
    command = f"python3 -c 'import resource; print(resource.getrlimit(resource.RLIMIT_{name}))'"
    assert await said(tmp_path, command) == str((value, value))


@pytest.mark.guard(
    "a file can't exceed the remaining quota",
    "agent/sandbox/bubblewrap.py",
    'f"--fsize={job.file_bytes}",',
    "",
    against="disk fill",
)
async def test_a_file_can_take_no_more_than_is_left(tmp_path: Path) -> None:
    sandbox = await one(local(tmp_path, limits=LIMITS))
    await sandbox.write_file("there", bytes(9_000_000))
    limit = "python3 -c 'import resource; print(resource.getrlimit(resource.RLIMIT_FSIZE)[0])'"
    assert 20_000_000 < int((await sandbox.execute_command(limit)).output) < 21_000_000


async def test_full_folders_can_only_be_emptied(tmp_path: Path) -> None:
    sandbox = await one(local(tmp_path, limits=LIMITS))
    workspace = tmp_path / "threads" / "thread-1" / "user-data" / "workspace"
    await sandbox.write_file("a", b"")
    (workspace / "big").write_bytes(bytes(31_000_000))
    result = await sandbox.execute_command("echo x > small; cat small; sleep 1; rm big")
    assert "x\n" not in result.output
    assert "folders (30 MB) or the disk is full" in result.output
    assert result.exit_code == 0, "who tidies up is not stopped"
    assert (await sandbox.execute_command("echo x > small; cat small")).output == "x\n"


@pytest.mark.guard(
    "some disk space stays free (checked before)",
    "agent/sandbox/folder.py",
    "if free_bytes(self.own_folders[0]) < self.limits.free_mb * MEGABYTE:",
    "if False:",
    against="disk fill",
)
@pytest.mark.guard(
    "some disk space stays free (checked during)",
    "agent/sandbox/resource_watch.py",
    "if free_bytes(self._folders[0]) < limits.free_mb * MEGABYTE:",
    "if False:",
    against="disk fill",
)
async def test_a_nearly_full_disk_is_left_alone(tmp_path: Path) -> None:
    limits = SandboxLimits(free_mb=10**9)
    sandbox = await one(local(tmp_path, limits=limits))
    with pytest.raises(SandboxError, match="full"):
        await sandbox.write_file("x", b"x")
    assert "x\n" not in (await sandbox.execute_command("echo x > small; cat small")).output
    assert (await sandbox.execute_command("sleep 5")).stopped == "The disk is nearly full."


@pytest.mark.guard(
    "the total memory of a command is limited",
    "agent/sandbox/resource_watch.py",
    "if used.memory > limits.memory_mb * MEGABYTE:",
    "if False:",
    against="memory",
)
async def test_memory_of_many_is_counted_together(tmp_path: Path) -> None:
    sandbox = await one(local(tmp_path, limits=LIMITS))
    each = "x = bytearray(60_000_000); x[::4096] = bytes(len(x[::4096])); import time; time.sleep(15)"
    result = await sandbox.execute_command(f"for i in 1 2 3 4 5 6; do python3 -c '{each}' & done; wait")
    assert result.stopped == "It used more than 200 MB of memory."


@pytest.mark.guard(
    "deleted files that are still open are counted",
    "agent/sandbox/resource_watch.py",
    "size = held.size + deleted",
    "size = held.size",
    against="disk fill",
)
async def test_files_without_a_name_are_counted(tmp_path: Path) -> None:
    text = (
        "import os, time\nfor n in range(2):\n fd = os.open('x', os.O_RDWR | os.O_CREAT); os.unlink('x')\n"
        " os.write(fd, bytes(20_000_000))\ntime.sleep(15)"
    )
    result = await run_python(await one(local(tmp_path, limits=LIMITS)), text)
    assert result.stopped == "The thread's folders would exceed 30 MB."


@pytest.mark.guard(
    "the total size of files is limited",
    "agent/sandbox/resource_watch.py",
    "if size > limits.disk_mb * MEGABYTE and size > least.size + CLEANUP_BYTES:",
    "if False:",
    against="disk fill",
)
async def test_files_together_are_counted(tmp_path: Path) -> None:
    sandbox = await one(local(tmp_path, limits=LIMITS))
    result = await sandbox.execute_command(
        "for i in 1 2 3; do head -c 15000000 /dev/zero > f$i; done; sleep 15"
    )
    assert result.stopped == "The thread's folders would exceed 30 MB."


def test_a_watch_lets_go_on_who_does_not_grow(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(bytes(2_000_000))
    now = [0.0]
    limits = SandboxLimits(disk_mb=1, free_mb=0)
    watch = ResourceWatch(limits, [tmp_path], held=DiskUse(2_100_000, 1), clock=lambda: now[0])
    now[0] = 1.0
    assert watch.over(os.getpid()) is None
    (tmp_path / "more").write_bytes(bytes(1_500_000))
    assert watch.over(os.getpid()) is None, "it is not time to count again"
    now[0] = 9.0
    assert watch.over(os.getpid()) == "The thread's folders would exceed 1 MB."


@pytest.mark.guard(
    "the namespace ends with the command",
    "agent/sandbox/bubblewrap.py",
    'own += ["--die-with-parent"]',
    "",
    against="processes left behind",
)
async def test_a_service_that_is_killed_takes_its_commands_with_it(tmp_path: Path) -> None:
    mark = f"3{os.getpid()}.5"
    mounts = [Mount(WORKSPACE, tmp_path, writable=True)]
    job = Job(mounts=mounts, user=user_of("thread-1"), limits=LIMITS, file_bytes=1_000)
    line = await asyncio.to_thread(arguments, job, ["sleep", mark])
    begun = await asyncio.to_thread(subprocess.Popen, line)
    while len(await asyncio.to_thread(list_marked_processes, f"sleep {mark}")) < 3:
        await asyncio.sleep(0.02)
    begun.kill()
    await asyncio.to_thread(begun.wait)
    assert await wait_until_gone(f"sleep {mark}")


async def test_an_end_comes_to_all(tmp_path: Path) -> None:
    mark = f"5{os.getpid()}.5"
    sandbox = await one(local(tmp_path))
    await sandbox.execute_command(f"setsid sleep {mark} > /dev/null 2>&1 < /dev/null & sleep 0.1")
    assert await wait_until_gone(f"sleep {mark}")


async def test_a_cancelled_command_ends(tmp_path: Path) -> None:
    mark = f"4{os.getpid()}.5"
    sandbox = await one(local(tmp_path))
    task = asyncio.create_task(sandbox.execute_command(f"touch begun; sleep {mark}"))
    while not [entry for entry in await sandbox.list_dir(".") if entry.name == "begun"]:
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await wait_until_gone(f"sleep {mark}")


@pytest.mark.guard(
    "host paths are masked in output",
    "agent/sandbox/folder.py",
    "self.paths.mask(result.output)",
    "result.output",
    against="paths",
)
async def test_paths_of_the_host_are_masked(tmp_path: Path) -> None:
    shown = await said(
        tmp_path, f"cat /proc/self/mountinfo; echo {tmp_path}/threads/thread-1/x {tmp_path}/bot.db"
    )
    assert str(tmp_path) not in shown
    assert "/mnt/user-data/workspace" in shown


@pytest.mark.guard(
    "nothing runs without isolation",
    "agent/sandbox/bubblewrap.py",
    "    if why := missing():\n        raise",
    "    if why := missing():\n        return\n        raise",
    against="everything",
)
async def test_without_bubblewrap_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox = await one(local(tmp_path))
    with pytest.raises(SandboxUnavailable, match=r"bubblewrap is missing .*apt install bubblewrap"):
        await sandbox.execute_command("touch ran")
    await sandbox.write_file("a", b"files work")
    assert [entry.name for entry in await sandbox.list_dir(".")] == ["a"]


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("bubblewrap 0.6.1", "too old \\(0.6; 0.8 is required\\)"),
        ("bubblewrap 0.9.0", "No permissions to create"),
    ],
)
async def test_a_bubblewrap_that_cannot_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, told: str
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    stand_in = programs / "bwrap"
    failure = "bwrap: No permissions to create new namespace, likely because the kernel does not allow it"
    stand_in.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "{version}" && exit\necho "{failure}" >&2\nexit 1\n'
    )
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with pytest.raises(SandboxUnavailable, match=told) as caught:
        await (await one(local(tmp_path))).execute_command("touch ran")
    assert str(tmp_path) not in str(caught.value)
    assert "sandbox.isolation: none" in str(caught.value)
