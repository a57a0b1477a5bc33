"""The container provider, with a real engine, under the suites of every sandbox."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from agent.core.interfaces import SandboxProvider, SandboxUnavailable
from agent.sandbox import engine as engines
from agent.sandbox.container import ContainerSandbox, ContainerSandboxProvider, remove_all
from agent.sandbox.options import SandboxLimits
from roebot_testing.agent.conformance import SandboxAttackSuite, SandboxSuite
from roebot_testing.agent.conformance.attacks import LIMITS
from roebot_testing.agent.conformance.attacks_base import SECRET
from tests.sandbox.engines import container, engine
from tests.sandbox.sandbox_fixtures import one
from tests.sandbox.test_seccomp import check_sockets

pytestmark = [pytest.mark.container, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home whose containers stay for all tests, as they would for a service that is started again."""
    home = tmp_path_factory.mktemp("containers") / "home"
    yield home
    asyncio.run(remove_all(home))


def emptied(home: Path) -> Path:
    """Without what the test before left, but for the folders that containers have."""
    for area in home.glob("threads/*/user-data/*"):
        for path in area.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    shutil.rmtree(home / "target", ignore_errors=True)
    (home / "threads").mkdir(parents=True, exist_ok=True)
    (home / "secret.txt").write_text(SECRET)
    return home


@pytest_asyncio.fixture
async def provider(tmp_path: Path) -> AsyncIterator[ContainerSandboxProvider]:
    made = container(tmp_path, SandboxLimits(scratch_mb=20))
    yield made
    await made.close()


@pytest_asyncio.fixture
async def used(warm: Path) -> ContainerSandbox:
    """A sandbox whose container was started for a test before, mostly."""
    return await one(container(emptied(warm), LIMITS))


class TestContainerSandbox(SandboxSuite):
    @pytest.fixture
    def provider(self, warm: Path) -> SandboxProvider:
        # What is printed there is long, and no flood.
        return container(emptied(warm), replace(LIMITS, flood_bytes=SandboxLimits().flood_bytes))


@pytest.mark.guard(
    "container: no network",
    "agent/sandbox/warm_container.py",
    'words += ["--network", "none"]',
    'words += ["--network", "host"]',
    against="network",
    test="test_the_network",
)
@pytest.mark.guard(
    "container: no new privileges",
    "agent/sandbox/warm_container.py",
    ', "--security-opt", "no-new-privileges"]',
    "]",
    against="/proc and devices",
    test="test_the_kernel_is_not_asked_for_power",
)
@pytest.mark.guard(
    "container: dangerous system calls are rejected",
    "agent/sandbox/warm_container.py",
    '["--security-opt", f"seccomp={self._filter()}"]',
    "[]",
    against="/proc and devices",
    test="test_the_kernel_is_not_asked_for_power",
)
@pytest.mark.guard(
    "container: an unprivileged user on the host",
    "agent/sandbox/warm_container.py",
    '"--user", f"{self._user}:{self._user}"]',
    '"--user", "0:0"]',
    against="/proc and devices",
    test="test_it_is_nobody_on_the_host",
)
@pytest.mark.guard(
    "container: processes are killed after each command",
    "agent/sandbox/warm_container.py",
    '"kill -9 -1"',
    '"true"',
    against="processes left behind",
    test="test_processes_left_behind",
)
@pytest.mark.guard(
    "container: scratch folders have a size limit",
    "agent/sandbox/warm_container.py",
    ",size={size},mode=1777",
    ",mode=1777",
    against="disk fill",
    test="test_the_disk_by_scratch_files",
)
@pytest.mark.guard(
    "container: deleted files that are still open are counted",
    "agent/sandbox/container.py",
    "return namespace_processes(container.pid) if container.pid else []",
    "return []",
    against="disk fill",
    test="test_the_disk_by_files_without_a_name",
)
class TestAttacksOnContainers(SandboxAttackSuite):
    @pytest.fixture
    def home(self, warm: Path) -> Path:
        return emptied(warm)

    @pytest.fixture
    def provider(self, home: Path) -> SandboxProvider:
        return container(home, LIMITS)


async def names(home: Path) -> list[str]:
    return await engines.list_containers(engine(), engines.home_of(home))


async def test_a_container_stays_warm(tmp_path: Path, provider: ContainerSandboxProvider) -> None:
    """For the next command, after a release, and for a service that is started again."""
    sandbox = await one(provider)
    assert await names(tmp_path) == []
    await sandbox.execute_command("touch /tmp/warm")
    await provider.release(await provider.acquire("thread-1"))
    assert (await (await one(provider)).execute_command("ls /tmp")).output == "warm\n"
    again = container(tmp_path, SandboxLimits(scratch_mb=20))
    assert (await (await one(again)).execute_command("ls /tmp")).output == "warm\n"
    assert len(await names(tmp_path)) == 1


async def test_one_that_should_be_otherwise_is_made_anew(
    tmp_path: Path, provider: ContainerSandboxProvider
) -> None:
    await (await one(provider)).execute_command("touch /tmp/warm")
    other = container(tmp_path, SandboxLimits(scratch_mb=20, processes=50))
    assert (await (await one(other)).execute_command("ls /tmp")).output == ""
    assert len(await names(tmp_path)) == 1


async def test_one_that_was_removed_behind_its_back_comes_again(
    tmp_path: Path, provider: ContainerSandboxProvider
) -> None:
    sandbox = await one(provider)
    await sandbox.execute_command("true")
    await engines.remove(engine(), await names(tmp_path))
    assert (await sandbox.execute_command("echo again")).output == "again\n"


async def test_an_idle_one_goes(tmp_path: Path) -> None:
    """By the clock of the provider; one that works stays."""
    now = [0.0]
    asked: asyncio.Queue[float] = asyncio.Queue()
    go = asyncio.Event()

    async def sleep(seconds: float) -> None:
        await asked.put(seconds)
        await go.wait()
        go.clear()

    made = container(tmp_path, replace(LIMITS), idle_seconds=60, clock=lambda: now[0], sleep=sleep)
    await (await one(made)).execute_command("true")
    assert await asked.get() == 60
    assert len(await names(tmp_path)) == 1
    now[0] = 30.0
    await (await one(made)).execute_command("true")
    now[0] = 60.0
    go.set()
    assert await asked.get() == 30, "it was used meanwhile"
    now[0] = 90.0
    other = container(tmp_path, replace(LIMITS), idle_seconds=600, clock=lambda: now[0])
    await (await one(other)).execute_command("true")
    go.set()
    assert await asked.get() == 60, "by another provider, after the configuration was read again"
    now[0] = 150.0
    go.set()
    while await names(tmp_path):
        await asyncio.sleep(0.05)
    await other.close()
    await made.close()


async def test_stopping_removes_ours_alone(tmp_path: Path, provider: ContainerSandboxProvider) -> None:
    other = container(tmp_path / "other", LIMITS)
    await (await one(provider)).execute_command("true")
    await (await one(other)).execute_command("true")
    mine = await names(tmp_path)
    assert await remove_all(tmp_path) == mine
    assert await names(tmp_path) == []
    assert len(await names(tmp_path / "other")) == 1
    await other.close()


async def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    made = container(tmp_path, LIMITS, image="localhost/no-such-image")
    with pytest.raises(SandboxUnavailable, match="make setup-sandbox"):
        await (await one(made)).execute_command("true")
    await made.close()


async def test_commands_of_a_thread_wait_for_each_other(warm: Path, used: ContainerSandbox) -> None:
    """The sweep after one ends all that runs in the container; another provider of this process knows it."""
    other = await one(container(warm, LIMITS))
    callers = [used, other, used]
    asked = [sandbox.execute_command(f"sleep 0.3; echo {n}") for n, sandbox in enumerate(callers)]
    assert [result.output for result in await asyncio.gather(*asked)] == ["0\n", "1\n", "2\n"]


async def test_a_cancelled_command_leaves_nothing(used: ContainerSandbox) -> None:
    await used.execute_command("true")
    task = asyncio.create_task(used.execute_command("touch begun; sleep 100"))
    while not [entry for entry in await used.list_dir(".") if entry.name == "begun"]:
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    result = await used.execute_command("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert "sleep 100" not in result.output


@pytest.mark.guard(
    "container: the root is read-only",
    "agent/sandbox/warm_container.py",
    '"--read-only", ',
    "",
    against="paths",
)
async def test_the_root_cannot_be_written(used: ContainerSandbox) -> None:
    options = await used.execute_command("awk '$2 == \"/\" { print $4 }' /proc/mounts")
    assert "ro" in options.output.strip().split(",")


@pytest.mark.guard(
    "container: no privileges are left",
    "agent/sandbox/warm_container.py",
    '"--cap-drop", "ALL", ',
    "",
    against="/proc and devices",
)
async def test_no_right_is_left(used: ContainerSandbox) -> None:
    shown = (await used.execute_command("grep -E '^Cap(Prm|Eff|Bnd)' /proc/self/status")).output
    assert {int(line.split(":\t")[1], 16) for line in shown.splitlines()} == {0}


async def test_only_listed_families_can_be_opened(used: ContainerSandbox) -> None:
    await check_sockets(used)


@pytest.mark.guard(
    "container: the engine gets only a few environment variables",
    "agent/sandbox/engine.py",
    "return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}",
    "return dict(os.environ)",
    against="environment",
)
async def test_proxies_and_their_passwords_stay_outside(
    provider: ContainerSandboxProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:roebot-secret@proxy.example:3128")
    monkeypatch.setenv("https_proxy", "http://user:roebot-secret@proxy.example:3128")
    sandbox = await one(provider)
    assert "roebot-secret" not in (await sandbox.execute_command("env; cat /proc/*/environ")).output


@pytest.mark.guard(
    "container: the number of processes is limited",
    "agent/sandbox/warm_container.py",
    '"--pids-limit", str(limits.processes), ',
    "",
    against="fork bomb",
)
@pytest.mark.guard(
    "container: a file can't exceed the remaining quota",
    "agent/sandbox/warm_container.py",
    'f"--fsize={file_bytes}",',
    "",
    against="disk fill",
)
@pytest.mark.guard(
    "container: memory is limited",
    "agent/sandbox/warm_container.py",
    '"--memory", f"{setup.limits.memory_mb}m"]',
    "]",
    against="memory",
)
async def test_limits_of_the_container(warm: Path, used: ContainerSandbox) -> None:
    """As the engine and the kernel have them."""
    limit = "python3 -c 'import resource; print(resource.getrlimit(resource.RLIMIT_FSIZE)[0])'"
    assert 35_000_000 < int((await used.execute_command(limit)).output) <= 40_000_000
    told = await engines.call_engine(engine(), "inspect", *await names(warm))
    config = json.loads(told.output)[0]["HostConfig"]
    assert config["PidsLimit"] == LIMITS.processes
    assert config["Memory"] == LIMITS.memory_mb * 1024 * 1024
