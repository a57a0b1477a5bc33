"""The bot on a LangGraph-API server that is not ours: `runtime.url` points at `langgraph dev`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.service import PERSON, ServiceProcess, config_text
from tests.harness.waiters import answers, count_429, until
from tests.oracle.graph import SLOW_WORDS
from tests.oracle.server import langgraph_dev

pytestmark = [pytest.mark.oracle, pytest.mark.may_block, pytest.mark.timeout(300)]

TAIL = " ".join(f"word{number}" for number in range(1, SLOW_WORDS + 1))


@pytest.fixture
async def emulator() -> AsyncIterator[TelegramEmulator]:
    async with TelegramEmulator.serve() as served:
        yield served


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[str]:
    folder = tmp_path / "server"
    folder.mkdir()
    async with langgraph_dev(folder) as url:
        yield url


@pytest.fixture
def service(tmp_path: Path, emulator: TelegramEmulator, server: str) -> Iterator[ServiceProcess]:
    config = config_text(emulator, model="", extra=f"runtime: {{url: '{server}'}}")
    process = ServiceProcess(tmp_path / "home", config)
    process.start()
    yield process
    if process.process is not None and process.process.poll() is None:
        process.kill()


def texts(emulator: TelegramEmulator) -> list[str]:
    """What the bot's messages say now."""
    if PERSON not in emulator.world.chats:
        return []
    return [seen.text.strip() for seen in answers(emulator, PERSON)]


async def says(emulator: TelegramEmulator, service: ServiceProcess, text: str, *expected: str) -> None:
    """Write, and wait until the newest messages are exactly these."""
    emulator.people.says(text, user=PERSON)
    await until(
        lambda: texts(emulator)[-len(expected) :] == list(expected),
        30.0,
        lambda: f"{texts(emulator)}\n{service.log()}",
    )


async def streaming(emulator: TelegramEmulator, service: ServiceProcess, edits: int) -> None:
    """Wait until the newest message was edited so many times."""
    await until(
        lambda: texts(emulator) and answers(emulator, PERSON)[-1].edits >= edits,
        30.0,
        lambda: f"{texts(emulator)}\n{service.log()}",
    )


async def test_a_reply_streams_and_the_thread_is_kept_until_new(
    emulator: TelegramEmulator, service: ServiceProcess
) -> None:
    await says(emulator, service, "hello", "1: hello")
    await says(emulator, service, "slow please", f"2: slow please {TAIL}")
    seen = answers(emulator, PERSON)
    assert len(seen) == 2
    assert seen[1].edits >= 2
    await says(
        emulator,
        service,
        "/new",
        "The next message will start a new agent thread without the earlier messages.",
    )
    await says(emulator, service, "again", "1: again")
    assert len(texts(emulator)) == 4
    assert count_429(emulator) == 0
    assert service.stop() == 0


async def test_stop_ends_the_run_and_the_thread_goes_on(
    emulator: TelegramEmulator, service: ServiceProcess
) -> None:
    emulator.people.says("slow one", user=PERSON)
    await streaming(emulator, service, 1)
    emulator.people.says("/stop", user=PERSON)
    await until(
        lambda: texts(emulator)[0].endswith("(stopped)") and texts(emulator)[-1] == "Stopped.",
        10.0,
        lambda: f"{texts(emulator)}\n{service.log()}",
    )
    assert TAIL not in texts(emulator)[0]
    # The note on the stopped answer is a message of its own, which the graph counts.
    await says(emulator, service, "and now", "3: and now")
    assert len(texts(emulator)) == 3
    assert service.stop() == 0


@pytest.mark.parametrize("how", ["stopped", "killed"])
async def test_a_restart_in_mid_run_goes_on_to_one_answer(
    how: str, emulator: TelegramEmulator, service: ServiceProcess
) -> None:
    emulator.people.says("slow one", user=PERSON)
    await streaming(emulator, service, 1)
    if how == "stopped":
        assert service.stop() == 0
    else:
        service.kill()
    assert len(texts(emulator)) == 1
    service.start()
    await until(
        lambda: texts(emulator) == [f"1: slow one {TAIL}"],
        30.0,
        lambda: f"{texts(emulator)}\n{service.log()}",
    )
    await says(emulator, service, "next", f"1: slow one {TAIL}", "2: next")
    assert service.stop() == 0
