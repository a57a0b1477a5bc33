"""The runtime's process that ends by itself: what is known of why."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.errors import ConfigUnusable
from bot.runtime.child import UNUSABLE, RuntimeChild
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


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("config.yaml", "models: [{name: m, use: 'pathlib:Path'}]\n", WHY),
        (
            "extensions_config.json",
            '{"mcpServers": {"time": {"comand": "x"}}}',
            "extensions_config.json:1: mcpServers.time.comand: unknown key; did you mean command?",
        ),
    ],
)
async def test_what_only_a_person_can_mend_ends_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, why: str
) -> None:
    """A later life's file was good before, so it may be good again."""
    config = tmp_path / "config.yaml"
    config.write_text("{}")
    (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    child = RuntimeChild(RuntimeProcess(tmp_path, config, folder=tmp_path), OneLife())
    with pytest.raises(ConfigUnusable) as raised:
        await child.run()
    assert str(raised.value) == why
    assert child.failure == why
    clock = OneLife()
    child = RuntimeChild(RuntimeProcess(tmp_path, config, folder=tmp_path), clock)
    child.starts = 1
    with capture_logs() as logs:
        life = asyncio.create_task(child.run())
        await clock.ended.wait()
        life.cancel()
        await asyncio.gather(life, return_exceptions=True)
    (ended,) = [event for event in logs if event["event"] == "runtime_ended"]
    assert (ended["cause"], ended["code"]) == (why, UNUSABLE)
    assert ended["log"] == str(tmp_path / "logs" / "agent.log")


def test_the_last_words_are_those_of_the_last_life(tmp_path: Path) -> None:
    process = RuntimeProcess(tmp_path, None, folder=tmp_path)
    assert process.last_failure() == "", "no log yet"
    with process._open_log() as log:
        log.write(b"roebot agent: the first\n{}\nroebot agent: the second\nTraceback\n")
    assert process.last_failure() == "the second"
    with process._open_log() as log:
        log.write(b"\xff nothing for people\n")
    assert process.last_failure() == ""
    with process._open_log() as log:
        log.write(b"x" * LAST_WORDS_LIMIT + b"\nroebot agent: after much\n")
    assert process.last_failure() == "after much"


@pytest.mark.guard(
    "they do not inherit the service's token",
    "bot/runtime/spawn.py",
    'if name != "ROEBOT_TOKEN"}',
    "if name}",
    against="programs of the agent",
)
def test_the_runtime_does_not_inherit_the_services_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROEBOT_TOKEN", "of the service")
    process = RuntimeProcess(tmp_path, None, address="https://bot.example")
    assert process.environment()["ROEBOT_PUBLIC_URL"] == "https://bot.example"
    environment = process.environment()
    assert "of the service" not in environment.values()
    assert environment["ROEBOT_RUNTIME_TOKEN"] == process.token


def test_a_service_that_was_started_with_nice_starts(tmp_path: Path) -> None:
    """An ordinary user can't lower the nice value of a process."""
    program = f"""
import os
from pathlib import Path
from bot.runtime.spawn import NICE, RuntimeProcess
own = os.nice(7)
process = RuntimeProcess(Path({str(tmp_path)!r}), None, folder=Path({str(tmp_path)!r}))
process.start()
print(os.getpriority(os.PRIO_PROCESS, process.process.pid) == min(own + NICE, 19))
process.kill()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "True\n", done.stderr
