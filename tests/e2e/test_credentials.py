"""The first start: a token of its own, a link in the banner, and commands that need no typing."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import httpx
import pytest

from agent.shared.tokens import SERVICE_TOKEN_FILE, read_token
from tests.harness.forks import Program, run
from tests.harness.service import MODEL, ServiceProcess

pytestmark = pytest.mark.may_block
LINK = re.compile(r"(http://127\.0\.0\.1:\d+)/#code=([0-9a-f]{40})")


async def roebot(home: Path, *arguments: str, said: str = "", **env: str) -> tuple[int, str, str]:
    """Run a command; its exit code, stdout and stderr."""
    program = Program("bot.cli", (*arguments, "--home", str(home)), home, {**os.environ, **env})
    done = await asyncio.to_thread(run, program, said)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


async def signs_in(link: str) -> httpx.Response:
    """Redeem a link as the console does."""
    found = LINK.fullmatch(link)
    assert found is not None, link
    async with httpx.AsyncClient(base_url=found[1], trust_env=False) as client:
        answer = await client.post("/api/session", json={"code": found[2]})
        if answer.is_success:
            assert (await client.get("/api/session")).json()["person"] == "web:owner"
        return answer


async def banner_of(service: ServiceProcess) -> str:
    """What the service printed when it was ready."""
    async with asyncio.timeout(60):
        while "Roebot is ready" not in (text := (service.home / "service.log").read_text()):
            await asyncio.sleep(0.05)
    return text


async def test_a_first_start_and_every_command_that_needs_a_credential(tmp_path: Path) -> None:
    home = tmp_path / "home"
    service = ServiceProcess(
        home, f"config_version: 1\n{MODEL}\nserver: {{port: 0}}\n", has_token=False, is_forked=True
    )
    service.start()
    try:
        found = await service.ready(60)
        token = read_token(home / SERVICE_TOKEN_FILE)
        assert token is not None
        banner = await banner_of(service)
        printed = LINK.search(banner)
        assert printed is not None, banner
        assert printed[1] == found.url
        assert token not in banner
        assert "Press Enter" not in banner, "nobody is at a terminal"
        assert (await signs_in(printed[0])).status_code == 204
        assert (await signs_in(printed[0])).status_code == 401

        config = ("--config", str(home / "config.yaml"))
        assert await roebot(home, "token", *config) == (0, token, "")
        code, link, err = await roebot(home, "link", *config)
        assert (code, err) == (0, "")
        assert (await signs_in(link)).status_code == 204
        code, _, err = await roebot(home, "link", *config, ROEBOT_TOKEN="another")
        assert code == 1
        assert "the service was started with another token. Run this command with" in err
        assert await roebot(home, "chat", *config, said="hello") == (0, "hello", "")
        code, told, _ = await roebot(home, "doctor", *config)
        assert "account web is live" in told
        assert "rejected" not in told

        code, told, err = await roebot(home, "token", "rotate", *config)
        assert (code, err) == (0, ""), err
        assert "was replaced" in told
        async with httpx.AsyncClient(base_url=found.url, trust_env=False) as client:
            former = await client.get("/api/session", headers={"x-api-key": token})
            assert former.status_code == 401
        assert await roebot(home, "chat", *config, said="again") == (0, "again", "")
    finally:
        assert service.stop() == 0
    code, _, err = await roebot(home, "link", *config)
    assert code == 1
    assert err.startswith(f"roebot: no service is running with the data directory {home}. Start it with")
    code, told, err = await roebot(home, "token", *config, ROEBOT_TOKEN="of the environment")
    assert (code, told) == (0, "of the environment")
    code, _, err = await roebot(home, "token", "rotate", *config, ROEBOT_TOKEN="of the environment")
    assert code == 1
    assert err.startswith("roebot: ROEBOT_TOKEN sets the token of the service.")
