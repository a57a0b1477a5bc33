"""The runtime's process that ends by itself: what is known of why."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.runtime.child import RuntimeChild
from bot.runtime.spawn import LAST_WORDS_LIMIT, RuntimeProcess

pytestmark = pytest.mark.may_block

WHY = "pathlib:Path is not a chat model: expected a subclass of BaseChatModel."


class OneLife:
    """A clock that lets nobody start a second life."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    def now(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.ended.set()
        await asyncio.Event().wait()


async def test_why_it_ended_is_in_the_log_and_kept(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("models: [{name: m, use: 'pathlib:Path'}]\n")
    clock = OneLife()
    child = RuntimeChild(RuntimeProcess(tmp_path, config, folder=tmp_path), clock)
    with capture_logs() as logs:
        life = asyncio.create_task(child.run())
        await clock.ended.wait()
        life.cancel()
        await asyncio.gather(life, return_exceptions=True)
    (ended,) = [event for event in logs if event["event"] == "runtime_ended"]
    assert (ended["cause"], ended["code"]) == (WHY, 1)
    assert ended["log"] == str(tmp_path / "logs" / "agent.log")
    assert child.trouble == WHY


def test_the_last_words_are_those_of_the_last_life(tmp_path: Path) -> None:
    process = RuntimeProcess(tmp_path, None, folder=tmp_path)
    assert process.last_words() == "", "no log yet"
    with process._open_log() as log:
        log.write(b"roebot agent: the first\n{}\nroebot agent: the second\nTraceback\n")
    assert process.last_words() == "the second"
    with process._open_log() as log:
        log.write(b"\xff nothing for people\n")
    assert process.last_words() == ""
    with process._open_log() as log:
        log.write(b"x" * LAST_WORDS_LIMIT + b"\nroebot agent: after much\n")
    assert process.last_words() == "after much"
