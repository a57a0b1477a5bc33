"""Attacks on the surrounding system: /proc, devices, environment secrets, network and kernel."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path

import pytest

from agent.core.interfaces import Sandbox
from roebot_testing.agent.conformance.attacks_base import (
    SECRET,
    AttackBase,
    run_on_host,
    run_python,
    wait_until_gone,
)

_CONNECT = """
import socket, sys
for family, address in [
    (socket.AF_INET, ("127.0.0.1", {port})),
    (socket.AF_INET, ("192.0.2.1", 80)),
    (socket.AF_INET, ("169.254.169.254", 80)),
    (socket.AF_INET6, ("::1", {port})),
    (socket.AF_UNIX, "\\0{abstract}"),
]:
    try:
        s = socket.socket(family); s.settimeout(2); s.connect(address); print("connected", address)
    except OSError as error:
        print("refused", error.errno)
try:
    socket.getaddrinfo("example.org", 80); print("resolved")
except OSError:
    print("no names")
try:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print("raw")
except OSError:
    print("no raw")
"""
_CALLS = """
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
column = 0 if platform.machine() == "x86_64" else 1
calls = {calls!r}
for name, numbers in calls.items():
    ctypes.set_errno(0)
    if libc.syscall(numbers[column], 0, 0, 0, 0, 0) != -1:
        print("allowed", name)
if libc.unshare(0x10000000) == 0:
    print("new user namespace")
"""
_DAEMON = """
import os, sys
if not os.fork():
    os.setsid()
    if not os.fork():
        os.execlp("sleep", "sleep", sys.argv[1])
"""
_KERNEL = {
    "unshare": (272, 97),
    "mount": (165, 40),
    "ptrace": (101, 117),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "setns": (308, 268),
    "open_tree": (428, 428),
}


@pytest.mark.asyncio
class SystemAttacks(AttackBase):
    """Nothing of the host is visible or reachable."""

    async def test_proc_by_other_processes(self, sandbox: Sandbox, home: Path) -> None:
        """Their root, folder, memory and environment."""
        result = await sandbox.execute_command(
            f"for p in /proc/[0-9]*; do r=$p/root; cat $r{home}/secret.txt $p/environ; "
            "ls $p/cwd/ $r/ $r/home; done; "
            f"cat /proc/self/root{home}/secret.txt /proc/{os.getpid()}/environ; "
            f"head -c 10 /proc/1/mem /proc/kcore /proc/{os.getpid()}/mem; "
            f"kill -9 {os.getpid()}; kill -9 -1; true"
        )
        assert SECRET not in result.output
        assert "PYTEST" not in result.output

    async def test_proc_shows_the_own_processes_alone(self, sandbox: Sandbox) -> None:
        """A handful, and not the service's."""
        result = await sandbox.execute_command(
            "ls -d /proc/[0-9]* | wc -l; cat /proc/[0-9]*/cmdline | tr '\\0' ' '"
        )
        count, _, rest = result.output.partition("\n")
        assert int(count) < 10
        assert "pytest" not in rest

    async def test_proc_of_the_kernel_is_not_written(self, sandbox: Sandbox) -> None:
        """Settings that would run a program as root, or stop the machine."""
        result = await sandbox.execute_command(
            "for f in sys/kernel/core_pattern sys/kernel/modprobe sysrq-trigger sys/vm/overcommit_memory "
            "sys/kernel/hostname irq/default_smp_affinity; do "
            "python3 -c 'import os, sys; os.open(sys.argv[1], os.O_WRONLY)' /proc/$f 2>/dev/null "
            "&& echo writable $f; done; "
            "ls /sys/kernel/uevent_helper /sys/fs/cgroup/*/release_agent 2>/dev/null "
            "| while read f; do test -w $f && echo writable $f; done; true"
        )
        assert "writable" not in result.output

    async def test_devices_are_the_harmless_ones(self, sandbox: Sandbox) -> None:
        """No disk, no memory, no kernel log; and none can be made."""
        result = await sandbox.execute_command(
            "for d in /dev/sd* /dev/vd* /dev/nvme* /dev/mem /dev/kmem /dev/kmsg /dev/port /dev/fuse /dev/kvm "
            "/dev/loop* /dev/net/tun /dev/mapper/control; do test -e $d && echo found $d; done; "
            "mknod disk b 254 0 && echo made; mknod memory c 1 1 && echo made; "
            "mknod /tmp/disk b 8 0 && echo made; true"
        )
        assert "found" not in result.output
        assert "made" not in result.output

    async def test_the_kernel_is_not_asked_for_power(self, sandbox: Sandbox) -> None:
        """No new namespaces, mounts, other processes or key rings; no permission allows switching users."""
        result = await run_python(sandbox, _CALLS.format(calls=_KERNEL))
        assert result.output == ""
        result = await sandbox.execute_command(
            "grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs)' /proc/self/status; "
            "unshare -r true && echo unshared; chroot / true && echo chrooted; su -c true && echo su; "
            "nsenter -t 1 -m true && echo entered; true"
        )
        rights = dict(line.split(":\t") for line in result.output.splitlines() if ":\t" in line)
        assert int(rights["CapEff"], 16) == int(rights["CapPrm"], 16) == 0
        assert rights["NoNewPrivs"] == "1"
        assert not {"unshared", "chrooted", "su", "entered"} & set(result.output.split())

    async def test_it_is_nobody_on_the_host(self, sandbox: Sandbox, home: Path) -> None:
        """A file that a command makes is not root's."""
        await sandbox.execute_command("echo x > made.txt; chmod 4777 made.txt")
        status = await run_on_host((self.folder(home) / "made.txt").stat)
        assert status.st_uid != 0

    async def test_secrets_of_the_environment(
        self, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By the shell, by a program, and by every process that can be seen."""
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        monkeypatch.setenv("BASH_ENV", f"/dev/{SECRET}")
        for command in (
            "env; set; export -p",
            "python3 -c 'import os; print(os.environ, os.environb)'",
            "cat /proc/*/environ /proc/*/task/*/environ 2>/dev/null | tr '\\0' '\\n'",
            "cat /proc/*/cmdline | tr '\\0' '\\n'",
        ):
            assert SECRET not in (await sandbox.execute_command(command)).output

    async def test_secrets_in_open_files(self, sandbox: Sandbox, home: Path) -> None:
        """The service's descriptors are not handed down."""
        descriptor = os.open(home / "secret.txt", os.O_RDONLY)
        os.set_inheritable(descriptor, True)
        try:
            result = await sandbox.execute_command(
                f"cat <&{descriptor}; cat /proc/self/fd/{descriptor}; cat /proc/*/fd/{descriptor}; "
                "ls /proc/self/fd"
            )
        finally:
            os.close(descriptor)
        assert SECRET not in result.output
        shown = {word for word in result.output.split() if word.isdigit()}
        assert {"0", "1", "2"} <= shown <= {"0", "1", "2", "3"}

    async def test_the_network(self, sandbox: Sandbox) -> None:
        """This host, another one, the cloud's metadata, names, abstract and raw sockets: no answer."""
        abstract = f"roebot-{os.getpid()}"
        heard: list[object] = []

        async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heard.append(reader)
            writer.close()

        async with (
            await asyncio.start_server(hear, "127.0.0.1", 0) as server,
            await asyncio.start_unix_server(hear, f"\0{abstract}"),
        ):
            port = server.sockets[0].getsockname()[1]
            result = await run_python(sandbox, _CONNECT.format(port=port, abstract=abstract))
        assert "connected" not in result.output
        assert "resolved" not in result.output
        assert "no raw" in result.output
        assert heard == []

    @pytest.mark.parametrize(
        "command",
        [
            "sleep {mark} & echo left",
            "setsid nohup sleep {mark} > /dev/null 2>&1 & echo left",
            "(setsid sh -c 'trap \"\" TERM HUP INT; sleep {mark}; sleep 1' > /dev/null 2>&1 &) ; echo left",
            f"python3 -c {shlex.quote(_DAEMON)} {{mark}}; echo left",
            "sleep {mark} & kill -9 $PPID; echo left",
        ],
        ids=["background", "session", "deaf", "daemon", "orphan"],
    )
    async def test_processes_left_behind(self, sandbox: Sandbox, command: str) -> None:
        """They are killed when the command finishes, however they hide."""
        mark = f"9{os.getpid()}.{abs(hash(command)) % 10_000}"
        await sandbox.execute_command(command.format(mark=mark))
        assert await wait_until_gone(f"sleep {mark}")

    async def test_processes_left_behind_by_a_time_out(self, sandbox: Sandbox) -> None:
        """Includes processes that ignore SIGTERM."""
        mark = f"8{os.getpid()}.5"
        result = await sandbox.execute_command(
            f"trap '' TERM INT HUP; setsid sleep {mark} & sleep {mark}", seconds=0.5
        )
        assert result.timed_out
        assert await wait_until_gone(f"sleep {mark}")
