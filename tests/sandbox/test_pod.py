"""What runs inside a pod, in a namespace of processes of its own: this service is its first process there."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from agent.core.interfaces import SandboxUnavailable
from roebot_provisioner.pod_sandbox import PodBackend, first_process
from roebot_testing.agent.conformance.attacks import LIMITS
from roebot_testing.agent.conformance.attacks_base import wait_until_gone
from tests.sandbox.provisioning import TOKEN, Provisioner, command, environment, port_of, remote, serving
from tests.sandbox.sandbox_fixtures import one

pytestmark = pytest.mark.bubblewrap
SETTINGS = '{"seconds": 20, "memory_mb": 300, "processes": 60, "disk_mb": 40}'


@contextmanager
def namespace(home: Path) -> Iterator[Provisioner]:
    """The service as the first process of a namespace, with a /mnt of its own."""
    (home / "mnt").mkdir(parents=True)
    words = ["bwrap", "--dev-bind", "/", "/", "--bind", str(home / "mnt"), "/mnt", "--proc", "/proc"]
    words += ["--unshare-pid", "--as-pid-1", "--die-with-parent", "--"]
    words += command(home, "--backend", "pod", "--settings", SETTINGS)
    process = subprocess.Popen(words, env=environment())
    try:
        yield Provisioner(process, port_of(process, home / "port"), home)
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def pod(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provisioner]:
    with namespace(tmp_path_factory.mktemp("pod") / "home") as running:
        yield running


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests: a pod is one thread's."""
    return tmp_path_factory.mktemp("home")


async def test_a_command_and_its_files(pod: Provisioner, home: Path) -> None:
    """The agent's paths are the pod's own."""
    sandbox = await one(remote(home, pod.url))
    await sandbox.write_file("/mnt/user-data/uploads/a.txt", b"sent\n")
    result = await sandbox.execute_command(
        "pwd; cat ../uploads/a.txt; echo made > ../outputs/o.txt; echo $HOME; exit 3"
    )
    assert (result.output, result.exit_code) == (
        "/mnt/user-data/workspace\nsent\n/mnt/user-data/workspace\n",
        3,
    )
    assert await sandbox.read_file("/mnt/user-data/outputs/o.txt") == b"made\n"
    assert (pod.home / "mnt" / "user-data" / "outputs" / "o.txt").read_text() == "made\n"


async def test_it_is_the_first_process(pod: Provisioner, home: Path) -> None:
    """And there is no other but the command's own."""
    sandbox = await one(remote(home, pod.url))
    result = await sandbox.execute_command("tr '\\0' ' ' < /proc/1/cmdline; echo; ls -d /proc/[0-9]* | wc -l")
    first, count = result.output.strip().split("\n")
    assert "roebot_provisioner" in first
    assert int(count) < 8


@pytest.mark.parametrize(
    "left",
    [
        "sleep {mark} &",
        "setsid nohup sleep {mark} > /dev/null 2>&1 &",
        "(setsid sh -c 'trap \"\" TERM HUP INT; sleep {mark}' > /dev/null 2>&1 &)",
        "(setsid sleep {mark} &); exec sleep 100",
    ],
    ids=["background", "session", "deaf", "time-out"],
)
async def test_nothing_is_left_of_a_command(pod: Provisioner, home: Path, left: str) -> None:
    """Neither a process, nor one that nobody buried."""
    sandbox = await one(remote(home, pod.url))
    mark = f"6413.{abs(hash(left)) % 10_000}"
    await sandbox.execute_command(left.format(mark=mark), seconds=1)
    assert await wait_until_gone(f"sleep {mark}")
    result = await sandbox.execute_command("cat /proc/[0-9]*/stat | grep -c ' Z '")
    assert result.output == "0\n"


async def test_the_service_outlives_its_commands(pod: Provisioner, home: Path) -> None:
    sandbox = await one(remote(home, pod.url))
    await sandbox.execute_command("kill -9 1; kill -9 -1; kill -9 $PPID; true")
    assert (await sandbox.execute_command("echo still")).output == "still\n"


async def test_hidden_memory_is_counted(pod: Provisioner, home: Path) -> None:
    """Memory of a process that left its parents, which no descent tells of."""
    sandbox = await one(remote(home, pod.url))
    await sandbox.write_file("hog.py", b"import time\nkept = b'x' * 160_000_000\ntime.sleep(60)")
    hog = f"(setsid {sys.executable} hog.py &)"
    result = await sandbox.execute_command(f"{hog}; {hog}; {hog}; sleep 15")
    assert result.stopped
    assert "memory" in result.stopped


async def test_limits_hold(pod: Provisioner, home: Path) -> None:
    sandbox = await one(remote(home, pod.url))
    assert (await sandbox.execute_command("sleep 30", seconds=0.5)).timed_out
    flooded = await sandbox.execute_command("yes")
    assert flooded.stopped
    result = await sandbox.execute_command("head -c 200000000 /dev/zero > big; ls -l big | wc -l")
    assert (pod.home / "mnt" / "user-data" / "workspace" / "big").stat().st_size <= 41_000_000
    await sandbox.execute_command("rm -f big")
    result = await sandbox.execute_command("ulimit -n; ulimit -c")
    assert result.output == f"{LIMITS.open_files}\n0\n"


async def test_a_cancelled_command_ends(pod: Provisioner, home: Path) -> None:
    sandbox = await one(remote(home, pod.url))
    mark = "sleep 6414.5"
    running = asyncio.create_task(sandbox.execute_command(f"(setsid {mark} &); touch begun; {mark}"))
    workspace = pod.home / "mnt" / "user-data" / "workspace"
    while not await asyncio.to_thread((workspace / "begun").exists):
        await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await wait_until_gone(mark)


async def test_commands_get_no_secret(pod: Provisioner, home: Path) -> None:
    sandbox = await one(remote(home, pod.url))
    result = await sandbox.execute_command("env; cat /proc/self/environ")
    assert TOKEN not in result.output
    assert "ROEBOT" not in result.output


async def test_a_pod_is_one_sandbox(pod: Provisioner, home: Path) -> None:
    await (await one(remote(home, pod.url))).execute_command("true")
    with pytest.raises(SandboxUnavailable, match="serves another"):
        await (await one(remote(home, pod.url), "thread-2")).execute_command("true")
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(base_url=pod.url, headers=headers, trust_env=False) as client:
        assert (await client.put("/v1/sandboxes/other", json={})).status_code == 503


def test_the_service_is_hidden_from_its_commands() -> None:
    """They run as the same user: neither its memory nor its environment is theirs to read."""
    code = "import ctypes; from roebot_provisioner.pod_sandbox import hide_process; hide_process(); "
    code += "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_the_service_is_small() -> None:
    """Each pod has one: nothing of the models and graphs comes with it."""
    code = "import sys, roebot_provisioner.serving; "
    code += "print([name for name in ('langchain', 'langchain_core', 'langgraph') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# --- in this process, which is not the first one


@pytest.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    assert not first_process()
    async with serving(PodBackend(replace(LIMITS), root=tmp_path / "pod")) as (address, _):
        yield address


async def test_a_pod_with_other_processes_leaves_them_alone(tmp_path: Path, url: str) -> None:
    """Below another root, and without ending what is not its own."""
    bystander = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        sandbox = await one(remote(tmp_path / "home", url))
        result = await sandbox.execute_command("pwd; echo x > /mnt/user-data/outputs/x; sleep 30 &")
        assert result.output == "/mnt/user-data/workspace\n"
        assert await sandbox.read_file("/mnt/user-data/outputs/x") == b"x\n"
        assert bystander.returncode is None
    finally:
        bystander.kill()
        await bystander.wait()
    assert sorted(path.name for path in (tmp_path / "pod").iterdir()) == ["mnt"]
