"""How programs are started: the same on every loop."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from agent.core.interfaces import SandboxUnavailable
from agent.sandbox import engine
from agent.sandbox.options import SandboxLimits
from agent.sandbox.running import run
from agent.shared.process import ProgramStart

ENV = {"PATH": os.environ["PATH"]}
LIMITS = SandboxLimits(seconds=20)


async def shell(command: str, seconds: float | None = None) -> str:
    result = await run(ProgramStart(["sh", "-c", command], ENV), LIMITS, seconds=seconds, letting_go=0.1)
    return f"{result.output}{result.exit_code}"


async def test_output_errors_and_code_come_back(tmp_path: Path) -> None:
    result = await run(ProgramStart(["sh", "-c", "pwd; echo told >&2; exit 3"], ENV, tmp_path), LIMITS)
    assert (result.output, result.exit_code) == (f"{tmp_path}\ntold\n", 3)


async def test_the_output_is_a_pipe() -> None:
    """Scripts write to /dev/stdout."""
    assert await shell(
        "echo one > /dev/stdout; echo two > /dev/stderr; readlink /proc/self/fd/1 | cut -c1-4"
    ) == ("one\ntwo\npipe\n0")


async def test_nothing_else_is_open_in_it() -> None:
    assert await shell("ls /proc/self/fd | tr '\\n' ' '") == "0 1 2 3 0", "3 is the listing's own"


async def test_an_engine_may_leave_somebody_behind(tmp_path: Path) -> None:
    """As podman does: its monitor goes on, and closes what it knows of."""
    script = tmp_path / "engine"
    script.write_text(
        f"#!{sys.executable}\n"
        "import os, sys, time\n"
        "print('started'); print('a word', file=sys.stderr); sys.stdout.flush()\n"
        "if os.fork() == 0:\n"
        "    os.setsid(); os.closerange(0, 3); time.sleep(5)\n"
    )
    script.chmod(0o700)
    answer = await engine.call_engine((str(script),), seconds=4)
    assert answer == engine.Answer(0, "started\n", "a word\n")


async def test_a_slow_engine_is_given_up() -> None:
    answer = await engine.call_engine(("sleep",), "30", seconds=0.2)
    assert answer == engine.Answer(None, "", "sleep did not respond within 0.2 seconds")


async def test_a_missing_one_is_named() -> None:
    with pytest.raises(SandboxUnavailable, match="no-such-engine is not installed"):
        await engine.call_engine(("no-such-engine",))


async def test_a_cancelled_one_is_ended(tmp_path: Path) -> None:
    task = asyncio.create_task(shell(f"echo $$ > {tmp_path}/pid; exec sleep 30"))
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        await asyncio.sleep(0.01)
    pid = int((tmp_path / "pid").read_text())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    while Path(f"/proc/{pid}").exists():
        await asyncio.sleep(0.01)
