"""The model's provider is away: people and operators are told, commands work, and no question is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from llmock.pytest_plugin import LLMock

from tests.benchmarks import stage
from tests.harness.credentials import SIGNED
from tests.harness.service import ServiceProcess
from tests.harness.wires import TelegramWire

pytestmark = [pytest.mark.fault, pytest.mark.may_block, pytest.mark.timeout(300)]
PEOPLE = range(1, 21)
FAILED = "its provider is overloaded or unavailable"
ANSWER = "The deployment finished at noon."


async def test_a_model_that_is_away(tmp_path: Path, llmock: LLMock) -> None:
    llmock.fail(503, times=None)
    async with TelegramWire.serve(0.01) as wire:
        text = f"""
config_version: 1
{stage.openai_model(llmock.base_url())}
memory: {{enabled: false}}
server: {{port: 0}}
channels: {{telegram: {{{wire.entry}}}}}
access: {{default: allow}}
"""
        process = ServiceProcess(tmp_path / "home", text)
        process.start()
        try:
            url = (await process.ready(60)).url
            async with httpx.AsyncClient(base_url=url, headers=SIGNED, trust_env=False) as operator:
                await pass_outage(wire, llmock, operator)
        finally:
            process.stop()


async def pass_outage(wire: TelegramWire, llmock: LLMock, operator: httpx.AsyncClient) -> None:
    """Everybody asks while the model is away, and repeats the question by a command afterwards."""
    places = [wire.asks("When did it finish?", person=person) for person in PEOPLE]
    commander = wire.asks("/whoami", person=len(PEOPLE) + 1)
    await until(lambda: bool(wire.standing(commander)), 5)
    await until(lambda: all(FAILED in texts(wire, place) for place in places), 60)
    assert await problems(operator) == ["model_unavailable:scripted"]
    llmock.reset()
    llmock.reply(ANSWER, times=None)
    assert all("/retry" in texts(wire, place) for place in places)
    for person in PEOPLE:
        wire.asks("/retry", person=person)
    await until(lambda: all(texts(wire, place).count(ANSWER) == 1 for place in places), 60)
    assert await problems(operator) == []


def texts(wire: TelegramWire, place: str) -> str:
    return "\n".join(one.text for one in wire.standing(place))


async def problems(operator: httpx.AsyncClient) -> list[str]:
    """What the overview says is wrong."""
    found = (await operator.get("/api/overview")).raise_for_status().json()["problems"]
    return [one["id"] for one in found]


async def until(condition: Callable[[], bool], seconds: float) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.1)
