"""A button of the page over kill -9: however often it is pressed, the tool runs at most once and its answer
stands once.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.faults import VARIABLE, Step
from tests.faults.approval_rooms import ASK, TOOL
from tests.faults.test_approvals import DECIDING
from tests.harness.credentials import SIGNED
from tests.harness.service import MODEL, ServiceProcess
from tests.harness.sqlite import open_turns

pytestmark = [pytest.mark.fault, pytest.mark.may_block]
PATIENCE = 30.0


class Page:
    """Somebody at the page of a service that is killed and started again."""

    def __init__(self, service: ServiceProcess) -> None:
        self.service = service
        self._url = ""

    async def starts(self, step: Step | None = None) -> None:
        self.service.start(**({VARIABLE: step.value} if step else {}))
        self._url = (await self.service.ready()).url

    async def call(self, method: str, path: str, body: object = None) -> Any:
        async with httpx.AsyncClient(
            base_url=self._url, headers=SIGNED, timeout=PATIENCE, trust_env=False
        ) as client:
            answer = await client.request(method, path, json=body)
        assert answer.is_success, f"{answer.status_code} {answer.text}"
        return answer.json()

    async def turns(self, conversation: int) -> list[dict[str, Any]]:
        """Its turns, oldest first."""
        found = await self.call("GET", f"/api/conversations/{conversation}/messages")
        return list(reversed(found["turns"]))

    async def asked(self) -> tuple[int, str]:
        """Ask for work; the conversation, and where the buttons of the question are pressed."""
        conversation = (await self.call("POST", "/api/conversations", {}))["id"]
        await self.call("POST", f"/api/conversations/{conversation}/messages", {"text": ASK})
        deadline = self.service.deadline(PATIENCE)
        while True:
            for turn in await self.turns(conversation):
                for part in turn["parts"]:
                    if part["choices"]:
                        return conversation, f"/api/turns/{turn['id']}/parts/{part['index']}/choice"
            assert not deadline.passed, self.service.log()
            await asyncio.sleep(0.05)

    async def closed(self) -> None:
        """Wait until nothing is open any more."""
        deadline = self.service.deadline(PATIENCE)
        while open_turns(self.service.home):
            assert not deadline.passed, self.service.log()
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("step", (*DECIDING, Step.RECEIVED, Step.ACKNOWLEDGED))
async def test_a_press_that_is_made_again_after_a_kill_counts_once(tmp_path: Path, step: Step) -> None:
    home, ledger = tmp_path / "home", tmp_path / "ledger"
    home.mkdir()
    (home / "paying.py").write_text(TOOL.format(ledger=ledger))
    config = f"""
config_version: 1
{MODEL}
server: {{port: 0}}
tools: [{{name: pay, group: money, use: "paying:pay"}}]
guardrails: {{enabled: true, provider: {{ask: [pay]}}}}
"""
    page = Page(ServiceProcess(home, config))
    try:
        await page.starts()
        conversation, path = await page.asked()
        await page.closed()
        page.service.kill()
        await page.starts(step)
        press = {"choice": "approve", "event_id": "press-1"}
        with suppress(httpx.TransportError):  # it may end before it answers
            await page.call("POST", path, press)
        assert await page.service.died() == -9
        await page.starts()
        await page.call("POST", path, press)
        await page.closed()
        question, answer = await page.turns(conversation)
        assert question["parts"][-1]["choices"] == []
        assert [part["state"] for part in answer["parts"]] == ["final"]
        assert page.service.stop() == 0
        # What ran when it was killed is not run again.
        paid = len(ledger.read_text().splitlines()) if ledger.exists() else 0
        assert paid <= 1
    finally:
        process = page.service.process
        if process is not None and process.poll() is None:
            page.service.kill()
