"""SIGKILL in the middle of an erasure: after the next start nothing of the person is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.runtime.faults import VARIABLE as AGENT_VARIABLE
from agent.runtime.faults import ThreadErasureStep as AgentStep
from bot.faults import VARIABLE, ErasureStep
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.planted_words import (
    ANN,
    BEN,
    BEN_SAID,
    SECONDS,
    ask,
    find_words,
    finished,
    group_config,
    plant,
    stored_text,
)
from tests.harness.service import ServiceProcess
from tests.harness.waiters import until

pytestmark = [pytest.mark.fault, pytest.mark.may_block]
STEPS = [(VARIABLE, step.value) for step in ErasureStep] + [
    (AGENT_VARIABLE, step.value) for step in AgentStep
]


@pytest.mark.parametrize(("variable", "step"), STEPS, ids=[step for _, step in STEPS])
async def test_an_erasure_that_was_killed_is_finished(tmp_path: Path, variable: str, step: str) -> None:
    async with TelegramEmulator.serve() as emulator:
        service = ServiceProcess(tmp_path / "home", group_config(emulator))
        try:
            service.start(**{variable: step})
            await service.ready()
            group = await plant(emulator, service)
            agent = service.agent()
            assert agent is not None
            emulator.people.says("/data erase yes", user=ANN)
            if variable == VARIABLE:
                assert await service.died() == -9
            else:
                await until(
                    lambda: not agent.is_running() or agent.status() == "zombie", SECONDS, service.log
                )
                service.kill()
            service.start()
            await service.ready()
            await finished(service)
            assert find_words(service.home) == []
            assert stored_text(service.home).count(BEN_SAID) > 3
            bot = f"@{emulator.world.bot.username}"
            answer = await ask(
                emulator, f"{bot} and the weather? [reply=it is sunny]", service, user=BEN, chat=group
            )
            assert answer == "it is sunny"
            assert service.stop() == 0
            assert find_words(service.home) == []
        finally:
            if service.process is not None and service.process.poll() is None:
                service.kill()
