"""SIGKILL in the middle of an erasure: after the next start nothing of the person is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.faults import VARIABLE, ErasureStep
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.planted_words import (
    ANN,
    BEN,
    BEN_SAID,
    ask,
    find_words,
    finished,
    group_config,
    plant,
    stored_text,
)
from tests.harness.service import ServiceProcess
from tests.harness.waiters import answers

pytestmark = [pytest.mark.fault, pytest.mark.may_block]


@pytest.mark.parametrize("step", list(ErasureStep))
async def test_an_erasure_that_was_killed_is_finished(tmp_path: Path, step: ErasureStep) -> None:
    async with TelegramEmulator.serve() as emulator:
        service = ServiceProcess(tmp_path / "home", group_config(emulator))
        try:
            service.start(**{VARIABLE: step.value})
            await service.ready()
            group = await plant(emulator, service)
            emulator.people.says("/data erase yes", user=ANN)
            assert await service.died() == -9
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
            told = [one.text for one in answers(emulator, group) if "started over" in one.text]
            assert len(told) == 1, told
            assert service.stop() == 0
            assert find_words(service.home) == []
        finally:
            if service.process is not None and service.process.poll() is None:
                service.kill()
