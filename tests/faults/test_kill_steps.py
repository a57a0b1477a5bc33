"""kill -9 of the whole service at each named step of a turn, and of the agent alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.faults import VARIABLE, Step
from bot.testing.emulators.telegram import TelegramEmulator
from tests.harness.judge import answers, check_one_answer, complete, count_429, until
from tests.harness.service import PERSON, ServiceProcess, config_text

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

# A reply of about five seconds.
TOKENS, EVERY = 45, 0.1
ASK = f"[tokens={TOKENS}] [every={EVERY}] go"
ANSWER = " ".join(f"word{number}" for number in range(1, TOKENS + 1))
RESTART_SECONDS = 15.0
# After these the platform may have posted what we do not know of.
UNKNOWN = {Step.POST_INTENDED, Step.POSTED, Step.PART_SENT}


@pytest.fixture
async def emulator() -> AsyncIterator[TelegramEmulator]:
    async with TelegramEmulator.serve() as served:
        yield served


@pytest.fixture
def service(tmp_path: Path, emulator: TelegramEmulator):
    process = ServiceProcess(tmp_path / "home", config_text(emulator))
    yield process
    if process.process is not None and process.process.poll() is None:
        process.kill()


async def restarted(service: ServiceProcess, emulator: TelegramEmulator, *, unknown: bool) -> None:
    """Start again, wait for the one answer, and see that nothing follows."""
    started = time.monotonic()
    service.start()
    await until(
        lambda: complete(emulator, PERSON, ANSWER),
        RESTART_SECONDS,
        lambda: f"no answer within {RESTART_SECONDS} s: {answers(emulator, PERSON)}\n{service.log()}",
    )
    print(f"answered {time.monotonic() - started:.1f} s after the restart")
    await service.ready()
    await asyncio.sleep(2.5)
    check_one_answer(emulator, PERSON, ANSWER, unknown=unknown)
    assert count_429(emulator) == 0
    assert service.stop() == 0


@pytest.mark.parametrize("step", list(Step))
async def test_kill_at_each_step(step: Step, emulator: TelegramEmulator, service: ServiceProcess) -> None:
    service.start(**{VARIABLE: step.value})
    emulator.people.says(ASK, user=PERSON)
    assert await service.died() == -9, service.log()
    await restarted(service, emulator, unknown=step in UNKNOWN)


@pytest.mark.parametrize("step", [Step.POST_INTENDED, Step.PART_SENT, Step.RECORDED])
async def test_kill_at_each_step_of_a_reply_that_never_streamed(
    step: Step, emulator: TelegramEmulator, service: ServiceProcess
) -> None:
    service.start(**{VARIABLE: step.value})
    emulator.people.says(f"[reply={ANSWER}] at once", user=PERSON)
    assert await service.died() == -9, service.log()
    await restarted(service, emulator, unknown=step in UNKNOWN)


@pytest.mark.parametrize("frames", [1, 3])
async def test_kill_of_the_agent_alone(
    frames: int, emulator: TelegramEmulator, service: ServiceProcess
) -> None:
    service.start()
    emulator.people.says(ASK, user=PERSON)
    await until(
        lambda: answers(emulator, PERSON) and answers(emulator, PERSON)[0].edits >= frames - 1,
        20.0,
        service.log,
    )
    agent = service.agent()
    assert agent is not None
    agent.kill()
    await until(lambda: complete(emulator, PERSON, ANSWER), RESTART_SECONDS, service.log)
    await asyncio.sleep(2.5)
    check_one_answer(emulator, PERSON, ANSWER, unknown=False)
    assert service.stop() == 0


async def test_terminate_in_mid_stream_publishes_nothing_partial(
    emulator: TelegramEmulator, service: ServiceProcess
) -> None:
    service.start()
    emulator.people.says(ASK, user=PERSON)
    await until(lambda: answers(emulator, PERSON), 20.0, service.log)
    began = time.monotonic()
    assert service.stop() == 0
    assert time.monotonic() - began < 5.0
    await restarted(service, emulator, unknown=False)
