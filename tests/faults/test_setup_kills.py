"""kill -9 at each step while the web console's route saves: afterwards the file is the old or the new one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.config.secrets_file import read_secrets
from bot.config.versions import FOLDER
from tests.harness.credentials import SIGNED
from tests.harness.service import MODEL, ServiceProcess
from tests.harness.service_killed_while_saving import STEP

pytestmark = [pytest.mark.fault, pytest.mark.may_block, pytest.mark.timeout(600)]
TOKEN = "1234567890:AAplanted-token-of-a-person"
BEFORE = f"# ours\nconfig_version: 1\n{MODEL}\nserver: {{port: 0}}\n"
ACCOUNT = {
    "kind": "account",
    "name": "team",
    "platform": "telegram",
    "settings": {"bot_token": TOKEN, "base_url": "http://127.0.0.1:9"},
}


async def connect(url: str) -> httpx.Response:
    """Save the account as the console does."""
    async with httpx.AsyncClient(base_url=url, headers=SIGNED, timeout=30, trust_env=False) as http:
        version = (await http.get("/api/settings")).json()["version"]
        return await http.post(
            "/api/settings/apply", json={"changes": [ACCOUNT]}, headers={"If-Match": f'"{version}"'}
        )


async def settings(url: str) -> dict[str, Any]:
    async with httpx.AsyncClient(base_url=url, headers=SIGNED, timeout=30, trust_env=False) as http:
        found: dict[str, Any] = (await http.get("/api/settings")).json()
        return found


async def test_the_service_is_killed_at_each_step_of_saving_an_account(tmp_path: Path) -> None:
    outcomes = []
    for step in range(1, 100):
        home = tmp_path / str(step)
        program = "tests.harness.service_killed_while_saving"
        service = ServiceProcess(home, BEFORE, program=program, is_forked=True)
        service.start(**{STEP: str(step)})
        try:
            done = await connect((await service.ready()).url)
        except httpx.TransportError:
            await service.died()
            done = None
        else:
            await asyncio.to_thread(service.stop)
        text = (home / "config.yaml").read_text()
        assert text == BEFORE or (text.startswith(BEFORE) and "team:" in text)
        after = ServiceProcess(home, text, is_forked=True)
        after.start()
        url = (await after.ready()).url
        shown = await settings(url)
        outcomes.append("team" in [one["name"] for one in shown["accounts"]])
        assert shown["problems"] == []
        if not outcomes[-1]:
            assert (await connect(url)).status_code == 200
        [account] = (await settings(url))["accounts"]
        assert account["credentials"][0]["set"]
        await asyncio.to_thread(after.stop)
        assert TOKEN in read_secrets(home / "config.yaml").values()
        assert not any(TOKEN in path.read_text() for path in (home / FOLDER).glob("*.json"))
        assert TOKEN not in after.log() + service.log()
        if done is not None:
            assert done.status_code == 200
            break
    assert outcomes == sorted(outcomes)
    assert not outcomes[0]
    assert outcomes[-1]
    assert len(outcomes) > 6
