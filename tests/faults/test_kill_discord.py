"""kill -9 at each named step of a turn on Discord: exactly one answer, complete, never marked.

Discord sends nothing again, so what was received and not stored is read from the channel; a nonce makes one
of two posts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.faults import VARIABLE, Step
from bot.testing.emulators.discord import DiscordEmulator
from tests.harness.judge import until
from tests.harness.service import MODEL, ServiceProcess

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

TOKENS, EVERY = 45, 0.1
ANSWER = " ".join(f"word{number}" for number in range(1, TOKENS + 1))


@pytest.fixture
async def emulator() -> AsyncIterator[DiscordEmulator]:
    async with DiscordEmulator.serve() as served:
        yield served


@pytest.fixture
def service(tmp_path: Path, emulator: DiscordEmulator) -> Iterator[ServiceProcess]:
    config = f"""
config_version: 1
{MODEL}
server: {{port: 0}}
channels:
  discord: {{bot_token: "{emulator.token}", base_url: "{emulator.url}"}}
access: {{default: allow}}
"""
    process = ServiceProcess(tmp_path / "home", config)
    yield process
    if process.process is not None and process.process.poll() is None:
        process.kill()


def answers(emulator: DiscordEmulator, chat: int) -> list[dict[str, Any]]:
    return [message for message in emulator.view(chat)["messages"] if message["from_bot"]]


@pytest.mark.parametrize("step", list(Step))
async def test_kill_at_each_step(step: Step, emulator: DiscordEmulator, service: ServiceProcess) -> None:
    chat = emulator.people.make_group("team")
    service.start(**{VARIABLE: step.value})
    await service.ready()
    await until(lambda: emulator.gateway.session, 20.0, service.log)
    ask = f"<@{emulator.world.bot.id}> [tokens={TOKENS}] [every={EVERY}] go"
    asked = emulator.people.says(ask, chat=chat)
    assert await service.died() == -9, service.log()

    service.start()
    await service.ready()

    def stands() -> bool:
        seen = answers(emulator, chat)
        return bool(seen) and seen[-1]["text"].strip().endswith(f"word{TOKENS}")

    await until(stands, 40.0, lambda: f"{answers(emulator, chat)}\n{service.log()}")
    await asyncio.sleep(2.0)
    [seen] = answers(emulator, chat)
    assert seen["text"].rpartition(": ")[2].split() == ANSWER.split()
    assert seen["reply_to"] == asked.id
    assert emulator.counters()["limited"] == 0
    assert service.stop() == 0
