"""kill -9 at each named step of a turn on the page, judged by what the API shows afterwards."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.faults import VARIABLE, Step
from tests.harness.service import MODEL, ServiceProcess

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

TOKENS, EVERY = 30, 0.1
ASK = f"[tokens={TOKENS}] [every={EVERY}] go"
ANSWER = " ".join(f"word{number}" for number in range(1, TOKENS + 1))
CONFIG = f"config_version: 1\n{MODEL}\nserver: {{port: 0}}\n"
# The page has no acknowledgement of its own: the answer to the POST is one.
STEPS = [step for step in Step if step is not Step.ACKNOWLEDGED]


@pytest.fixture
def service(tmp_path: Path):
    process = ServiceProcess(tmp_path / "home", CONFIG)
    yield process
    if process.process is not None and process.process.poll() is None:
        process.kill()


async def client_of(service: ServiceProcess) -> httpx.AsyncClient:
    found = await service.ready()
    return httpx.AsyncClient(base_url=found.url, timeout=10.0, trust_env=False)


async def turns_of(client: httpx.AsyncClient, conversation: int) -> list[dict[str, Any]]:
    answer = await client.get(f"/api/conversations/{conversation}/messages")
    return list(answer.raise_for_status().json()["turns"])


@pytest.mark.parametrize("step", STEPS)
async def test_kill_at_each_step(step: Step, service: ServiceProcess) -> None:
    service.start(**{VARIABLE: step.value})
    message = {"text": ASK, "event_id": "one-question"}
    async with await client_of(service) as client:
        made = await client.post("/api/conversations", json={})
        conversation = made.raise_for_status().json()["id"]
        try:
            accepted = (
                await client.post(f"/api/conversations/{conversation}/messages", json=message)
            ).is_success
        except httpx.HTTPError:
            accepted = False
    assert await service.died() == -9, service.log()

    service.start()
    async with await client_of(service) as client:
        if not accepted:
            # Like any client: what was not acknowledged is sent again, under its own name.
            again = await client.post(f"/api/conversations/{conversation}/messages", json=message)
            assert again.is_success
        turns: list[dict[str, Any]] = []

        async def closed() -> None:
            nonlocal turns
            while not turns or any(not turn["finished_at"] for turn in turns):
                turns = await turns_of(client, conversation)
                await asyncio.sleep(0.1)

        await asyncio.wait_for(closed(), 20.0)
        await asyncio.sleep(1.0)
        [turn] = await turns_of(client, conversation)
    assert turn["state"] == "done"
    [part] = turn["parts"]
    assert part["text"].strip() == ANSWER
    assert part["state"] == "final"
    assert not part["repeated"]
    assert service.stop() == 0


def test_every_step_of_the_page_is_covered() -> None:
    assert {*STEPS, Step.ACKNOWLEDGED} == set(Step)
