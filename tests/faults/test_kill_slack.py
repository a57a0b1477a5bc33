"""kill -9 at each named step of a turn on Slack: exactly one answer, complete, never marked.

Slack lets a post of unknown outcome be looked for, so even those steps leave one message.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.faults import VARIABLE, Step
from bot.testing.emulators.slack import SlackEmulator
from tests.harness.judge import until
from tests.harness.service import MODEL, ServiceProcess

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

PERSON = "U0000001"
TOKENS, EVERY = 45, 0.1
ASK = f"@roebot [tokens={TOKENS}] [every={EVERY}] go"
ANSWER = " ".join(f"word{number}" for number in range(1, TOKENS + 1))


@pytest.fixture
async def emulator() -> AsyncIterator[SlackEmulator]:
    async with SlackEmulator.serve() as served:
        yield served


@pytest.fixture
def service(tmp_path: Path, emulator: SlackEmulator) -> Iterator[ServiceProcess]:
    config = f"""
config_version: 1
{MODEL}
server: {{port: 0}}
channels:
  slack: {{bot_token: "{emulator.bot_token}", app_token: "{emulator.app_token}", base_url: "{emulator.url}"}}
access: {{default: allow}}
"""
    process = ServiceProcess(tmp_path / "home", config)
    yield process
    if process.process is not None and process.process.poll() is None:
        process.kill()


def answers(emulator: SlackEmulator, channel: str) -> list[dict[str, Any]]:
    return [message for message in emulator.view(channel)["messages"] if message["from_bot"]]


@pytest.mark.parametrize("place", ["direct", "channel"])
@pytest.mark.parametrize("step", list(Step))
async def test_kill_at_each_step(
    step: Step, place: str, emulator: SlackEmulator, service: ServiceProcess
) -> None:
    channel = emulator.people.make_channel("team") if place == "channel" else ""
    service.start(**{VARIABLE: step.value})
    await service.ready()
    await until(lambda: emulator.socket.connections, 20.0, service.log)
    asked = emulator.people.says(ASK, user=PERSON, channel=channel)
    assert await service.died() == -9, service.log()

    service.start()
    await service.ready()

    def stands() -> bool:
        seen = answers(emulator, asked.channel)
        return bool(seen) and seen[-1]["text"].strip().endswith(f"word{TOKENS}") and not seen[-1]["streaming"]

    await until(stands, 40.0, lambda: f"{answers(emulator, asked.channel)}\n{service.log()}")
    await asyncio.sleep(2.0)
    [seen] = answers(emulator, asked.channel)
    assert seen["text"].removeprefix("Person U0000001: ").split() == ANSWER.split()
    assert (seen["thread_ts"], seen["streaming"]) == (asked.ts, False)
    assert emulator.counters()["limited"] == 0
    assert service.stop() == 0
