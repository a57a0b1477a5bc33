"""The service and a runtime of its own, attacked on their machine: by another user, and from a sandbox.

Every route is tried, those included that are open to everybody: if a command in a sandbox reached a server,
`/health` would answer.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psutil
import pytest

from agent.sandbox.egress.gate import PORT
from agent.sandbox.local import LocalSandboxProvider
from agent.sandbox.options import Surroundings
from agent.shared.tokens import AGENT_TOKEN_FILE, SERVICE_TOKEN_FILE, read_token
from bot.app.home import find_service
from bot.server.api.sessions import COOKIE, PERSON_COOKIE
from tests.features.access_table import LANGGRAPH, MANAGEMENT, Access, doors, every_route
from tests.features.application_routes import real_path
from tests.harness.service import MODEL, ServiceProcess
from tests.sandbox import intruder
from tests.sandbox.sandbox_fixtures import folders, one
from tests.sandbox.test_unprivileged import NOBODY, interpreter

pytestmark = [pytest.mark.bubblewrap, pytest.mark.may_block]
Found = TypeVar("Found")
PROGRAM = Path(intruder.__file__).read_text()
SERVER = "server: {port: 0, host: 0.0.0.0}"
OF_THE_TEST = {"config.yaml", "service.log"}
"""Files in the data directory that this test writes."""
BY_PROCESS = ("environ", "mem", "maps", "root", "cwd", "fd")
SPELLINGS = (
    *("127.0.0.1", "localhost", "2130706433", "0x7f000001", "127.1", "0.0.0.0"),
    *("::1", "::ffff:127.0.0.1"),
)
LIES: tuple[Mapping[str, str], ...] = (
    {},
    {"x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1", "forwarded": "for=127.0.0.1;host=localhost"},
    {"host": "localhost", "x-forwarded-host": "localhost"},
    {"host": "roebot.internal"},
    {"cookie": f"{COOKIE}=owner; {PERSON_COOKIE}=web:owner"},
    {"authorization": "Bearer ", "x-api-key": ""},
    {"authorization": "Bearer guessed", "x-api-key": "guessed"},
)
"""Headers of somebody who pretends to be known, or to be on this machine."""
NO_CREDENTIAL = {401, 421, 429}
"""Statuses for who is not known, asks for another host, or has guessed too often."""
OF_THE_PROXY = {400, 403, 502}
"""Statuses by which the egress proxy refuses to connect."""
AROUND = ("", "/proc/self/root", "/proc/1/root", "/mnt/user-data/workspace/../../..")
"""Ways to the root folder from a sandbox."""


@dataclass(frozen=True)
class Attacked:
    """Two servers that listen on every address, their data directories and processes.

    Whoever made the directories left them open to everybody, so each file in them has to protect itself.
    """

    folders: tuple[Path, ...]
    ports: Mapping[str, int]
    processes: tuple[psutil.Process, ...]
    secrets: Mapping[str, str]

    @property
    def files(self) -> list[Path]:
        """Everything in the data directories but what this test put there."""
        found = [path for folder in self.folders for path in folder.rglob("*")]
        return [path for path in found if path.name not in OF_THE_TEST]

    @property
    def sockets(self) -> list[str]:
        """The Unix sockets on which the processes listen."""
        found = (one.laddr for process in self.processes for one in process.net_connections("unix"))
        return sorted({str(name) for name in found if name})

    @property
    def doors(self) -> list[tuple[str, str]]:
        """Every route of each server."""
        routes = {"service": every_route(), "runtime": {**doors(LANGGRAPH), **doors(MANAGEMENT)}}
        return [(name, _real(door)) for name, table in routes.items() for door in table]

    def task(self, callers: list[tuple[str, Mapping[str, str]]], **more: Any) -> str:
        """What the intruder is told to try."""
        servers = {
            name: (port, [door for server, door in self.doors if server == name])
            for name, port in self.ports.items()
        }
        known = {"servers": servers, "sockets": self.sockets, "secrets": [*self.secrets.values()]}
        plain = {"prefixes": [""], "ways": ["direct"], "proxy": None}
        return json.dumps({**plain, **known, "callers": callers, **more})


def _real(door: str) -> str:
    method, path = door.split()
    return f"{method} {real_path(path)}"


@pytest.fixture(scope="module")
def attacked() -> Iterator[Attacked]:
    outer = Path(tempfile.mkdtemp(prefix="roebot-attacked-"))
    home, runtime_home = outer / "service", outer / "runtime"
    for folder in (outer, home, runtime_home):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
    service = ServiceProcess(home, f"config_version: 1\n{MODEL}\n{SERVER}\n", has_token=False)
    service.start()
    runtime = start_runtime(runtime_home, home / "config.yaml")
    try:
        found = wait_for(lambda: find_service(home))
        port = int(wait_for(lambda: text_of(runtime_home / "port")))
        secrets = {
            "service": read_token(home / SERVICE_TOKEN_FILE) or "",
            "runtime": read_token(runtime_home / AGENT_TOKEN_FILE) or "",
        }
        own = psutil.Process(service.pid)
        processes = (own, *own.children(recursive=True), psutil.Process(runtime.pid))
        ports = {"service": int(found.url.rpartition(":")[2]), "runtime": port}
        yield Attacked((home, runtime_home), ports, processes, secrets)
    finally:
        runtime.terminate()
        runtime.wait(30)
        service.stop()
        shutil.rmtree(outer)


def start_runtime(home: Path, config: Path) -> subprocess.Popen[bytes]:
    """Start a runtime as `roebot agent serve` does."""
    command = [sys.executable, "-m", "agent.serve", "--host", "0.0.0.0", "--port", "0"]
    command += ["--home", str(home), "--config", str(config), "--port-file", str(home / "port")]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(look: Callable[[], Found | None]) -> Found:
    """What is there within a minute."""
    ends = time.monotonic() + 60
    while not (found := look()):
        assert time.monotonic() < ends
        time.sleep(0.05)
    return found


def text_of(file: Path) -> str:
    """The text of a file, "" if there is none."""
    return file.read_text().strip() if file.exists() else ""


def own_addresses() -> list[str]:
    """The addresses of this machine on its networks."""
    known = [one for many in psutil.net_if_addrs().values() for one in many]
    return [one.address for one in known if one.family == socket.AF_INET and one.address != "127.0.0.1"]


@pytest.mark.guard(
    "the files of the service are private",
    "bot/cli/run.py",
    "    os.umask(0o077)\n",
    "",
    against="other users of the machine",
)
def test_every_file_is_private(attacked: Attacked) -> None:
    assert {SERVICE_TOKEN_FILE, AGENT_TOKEN_FILE, "bot.db"} <= {path.name for path in attacked.files}
    private = [*attacked.files, *(Path(name).parent for name in attacked.sockets if name.startswith("/"))]
    open_ones = [str(path) for path in private if path.exists() and path.stat().st_mode & 0o077]
    assert open_ones == []


@pytest.mark.guard(
    "the files of `roebot agent serve` are private",
    "agent/serve.py",
    "    os.umask(0o077)\n",
    "",
    against="other users of the machine",
)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_of_the_machine(attacked: Attacked) -> None:
    """They reach the ports, and see which processes run; without a credential this leads nowhere."""
    held = [f"/proc/{process.pid}/{name}" for process in attacked.processes for name in BY_PROCESS]
    callers = [("127.0.0.1", lie) for lie in LIES] + [(address, {}) for address in own_addresses()]
    got = as_another_user(attacked.task(callers, files=[*map(str, attacked.files), *held]))
    assert (got["opened"], got["connected"], got["seen"]) == ([], [], [])
    assert {(server, door) for _, server, door, _ in got["answers"]} == set(attacked.doors)
    open_doors = {_real(door) for door, access in every_route().items() if access is Access.ANYONE}
    closed = [answer for answer in got["answers"] if answer[2] not in {*open_doors, "GET /ok"}]
    assert [answer for answer in closed if answer[3] not in NO_CREDENTIAL] == []
    for name, path in (("service", "/api/session"), ("runtime", "/info")):
        url, token = f"http://127.0.0.1:{attacked.ports[name]}{path}", attacked.secrets[name]
        assert httpx.get(url, headers={"x-api-key": token}).status_code == 200, "the owner is not locked out"


def as_another_user(task: str) -> dict[str, Any]:
    """What the intruder gets as `nobody`."""
    words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", interpreter(), "-I"]
    done = subprocess.run([*words, "-c", PROGRAM], input=task, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    got: dict[str, Any] = json.loads(done.stdout)
    return got


@pytest.mark.parametrize("network", [False, "public", "list"])
async def test_a_command_in_a_sandbox(attacked: Attacked, network: Any) -> None:
    """Whatever network it has, not even what is open to everybody answers it."""
    home, ports = attacked.folders[0], attacked.ports.values()
    if network == "list":
        private = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
        network = [*(f"localhost:{port}" for port in ports), *private]
    provider = LocalSandboxProvider.from_config(Surroundings(folders(home), home), network=network)
    sandbox = await one(provider)
    files = [*map(str, (*attacked.folders, *attacked.files))]
    callers = [(host, {}) for host in (*SPELLINGS, *own_addresses())]
    ways = ["direct", "proxy", "tunnel"] if network else ["direct"]
    more = {"files": files, "prefixes": AROUND, "ways": ways, "proxy": ["127.0.0.1", PORT]}
    await sandbox.write_file("task.json", attacked.task(callers, **more).encode())
    await sandbox.write_file("intruder.py", PROGRAM.encode())
    result = await sandbox.execute_command("python3 intruder.py < task.json", seconds=90)
    got = json.loads(result.output)
    assert (got["opened"], got["connected"], got["seen"]) == ([], [], [])
    assert {(way, status) for way, _, _, status in got["answers"] if status not in OF_THE_PROXY} == set()
    asked = {(way, server, door) for way, server, door, _ in got["answers"]}
    # A refused tunnel is no answer.
    assert asked == ({("proxy", *door) for door in attacked.doors} if network else set())
