"""The processes of deploy/replicas: two replicas on PostgreSQL behind nginx with the configuration there."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.docs.blocks import ROOT
from tests.harness.credentials import SERVICE_TOKEN
from tests.harness.service import ServiceProcess
from tests.replicas.crowd import Crowd

pytestmark = [
    pytest.mark.nginx,
    pytest.mark.postgres,
    pytest.mark.long,
    pytest.mark.may_block,
    pytest.mark.timeout(600),
]
FOLDER = ROOT / "deploy" / "replicas"
NAMES = ("a", "b")
WRAPPER = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log {folder}/access.log;
    {paths}
    include {folder}/site.conf;
}}
"""
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
WORDS = " ".join(f"w{number}" for number in range(120))
UPLOAD = b"x" * 15_000_000
ATTEMPTS = 10
"""Wrong tokens that a replica accepts from an address in a minute."""


def write_site(folder: Path, listen: int, ports: list[int]) -> Path:
    """Write the shipped site with these ports on loopback instead of its addresses, and what starts it."""
    site = (FOLDER / "nginx.conf").read_text()
    addresses = re.findall(r"server (172\.\S+)", site)
    assert len(addresses) == len(ports)
    for address, port in zip(addresses, ports, strict=True):
        site = site.replace(address, f"127.0.0.1:{port}")
    folder.mkdir()
    (folder / "site.conf").write_text(site.replace("listen 80;", f"listen 127.0.0.1:{listen};"))
    paths = "\n    ".join(f"{one}_temp_path {folder}/{one};" for one in TEMPORARY)
    main = folder / "main.conf"
    main.write_text(WRAPPER.format(folder=folder, paths=paths))
    return main


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def nginx_before(folder: Path, ports: list[int]) -> Iterator[str]:
    """Run nginx before the replicas at these ports. Yield its address."""
    listen = free_port()
    # Temporary files are written by its workers, which as root run as another user otherwise.
    command = ["nginx", "-e", "stderr", "-c", str(write_site(folder, listen, ports)), "-g", "user root;"]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, timeout=60, check=False)
    assert checked.returncode == 0, checked.stderr
    running = subprocess.Popen(command)
    try:
        yield f"http://127.0.0.1:{listen}"
    finally:
        running.terminate()
        running.wait(30)


def configuration() -> str:
    """The shipped configuration, for loopback and the scripted model."""
    config: dict[str, Any] = yaml.safe_load((FOLDER / "config" / "config.yaml").read_text())
    assert config["server"].pop("trusted_proxies") and config["server"].pop("host")
    config["server"] |= {"port": 0, "trusted_proxies": ["127.0.0.1"], "allowed_hosts": ["127.0.0.1"]}
    config["models"] = [{"name": "scripted", "use": "roebot_testing.agent.model:ScriptedChatModel"}]
    config["memory"] = {"enabled": False}
    return yaml.safe_dump(config)


@pytest.fixture
async def crowd(tmp_path: Path, postgres_url: str) -> AsyncIterator[Crowd]:
    """Replicas that start at the same time on an empty database, as those of the compose file do."""
    crowd = Crowd(tmp_path / "home", postgres_url, configuration(), {"DATABASE_URL": postgres_url})
    for name in NAMES:
        crowd.members[name] = ServiceProcess(crowd.home, crowd.config, crowd.env, replica=name)
        crowd.start(name)
    try:
        await asyncio.gather(*(member.ready(60) for member in crowd.members.values()))
        yield crowd
    finally:
        crowd.stop()


@pytest.fixture
async def proxy(tmp_path: Path, crowd: Crowd) -> AsyncIterator[str]:
    ports = [httpx.URL((await crowd.members[name].ready()).url).port or 0 for name in NAMES]
    with nginx_before(tmp_path / "nginx", ports) as url:
        yield url


@dataclass
class Console:
    """A signed-in browser at a conversation, which connects again when its stream ends.

    `shown` are the states of the last answer.
    """

    http: httpx.AsyncClient
    chat: str
    shown: list[str] = field(default_factory=list)
    state: str = ""

    async def follow(self) -> None:
        while True:
            try:
                async with self.http.stream("GET", f"{self.chat}/events") as stream:
                    assert stream.status_code == 200, await stream.aread()
                    async for line in stream.aiter_lines():
                        if line.startswith("data: "):
                            self._take(json.loads(line.removeprefix("data: ")))
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.2)

    def _take(self, data: dict[str, Any]) -> None:
        turns = data.get("turns", [data] if "parts" in data else [])
        if turns:
            self.state = turns[-1]["state"]
            text = "".join(part["text"] for part in turns[-1]["parts"])
        elif "offset" in data:
            text = (self.shown[-1] if self.shown else "")[: data["offset"]] + data["text"]
        else:
            return
        self.shown.append(text)

    async def says(self, text: str, event: str) -> None:
        """Send a message; the proxy must find a replica that takes it."""
        sent = await self.http.post(f"{self.chat}/messages", json={"text": text, "event_id": event})
        assert sent.status_code == 202, (sent.status_code, sent.text)

    async def sees(self, text: str) -> None:
        async with asyncio.timeout(60):
            while not (self.shown and text in self.shown[-1]):
                await asyncio.sleep(0.02)


@asynccontextmanager
async def signed_in(url: str) -> AsyncIterator[Console]:
    async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as http:
        http.headers["Origin"] = url
        signed = await http.post("/api/session", json={"token": SERVICE_TOKEN})
        assert signed.status_code == 204, signed.text
        opened = await http.post("/api/conversations", json={})
        console = Console(http, f"/api/conversations/{opened.raise_for_status().json()['id']}")
        following = asyncio.create_task(console.follow())
        try:
            yield console
        finally:
            following.cancel()


async def test_people_go_on_when_a_replica_is_killed(crowd: Crowd, proxy: str) -> None:
    async with signed_in(proxy) as console:
        await upload_a_file(console, crowd.home)
        await console.says(f"[every=0.05] [reply={WORDS}]", "one")
        await console.sees("w20 ")
        assert console.state == "running", "the proxy holds the stream back"
        owner = await asyncio.to_thread(crowd.owner, "web")
        crowd.kill(owner)
        for _ in range(20):
            listed = await console.http.get("/api/conversations")
            assert listed.status_code == 200, "the other replica answers at once"
        await console.sees("w119")
        await console.says("[reply=second answer]", "two")
        await console.sees("second answer")
        await crowd.add(owner)
        await console.says("[reply=third answer]", "three")
        await console.sees("third answer")
    await guess_tokens(proxy)


async def upload_a_file(console: Console, home: Path) -> None:
    """Ask with a file that is larger than nginx allows by default; the data directory has it once."""
    sent = await console.http.post(
        f"{console.chat}/messages",
        data={"text": "[reply=a file]", "event_id": "file"},
        files={"files": ("large.bin", UPLOAD, "application/octet-stream")},
    )
    assert sent.status_code == 202, sent.text
    await console.sees("a file")
    assert [found.stat().st_size for found in home.rglob("large.bin")] == [len(UPLOAD)]


async def guess_tokens(proxy: str) -> None:
    """Nobody evades the limit by claiming other addresses: the proxy replaces them. Each replica counts."""
    async with httpx.AsyncClient(base_url=proxy, timeout=30, trust_env=False) as http:
        answers = [
            await http.post(
                "/api/session",
                json={"token": "wrong"},
                headers={"Origin": proxy, "X-Forwarded-For": f"192.0.2.{number}"},
            )
            for number in range(2 * ATTEMPTS + 1)
        ]
    assert answers[0].status_code == 401
    assert answers[-1].status_code == 429
