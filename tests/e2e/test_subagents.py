"""Subagents seen from a chat: three at once, each state on show, one that hangs, all ended by /stop."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from bot.dispatch.reply import streaming
from tests.harness.delegation_agent import ANSWER, TRACES, configuration
from tests.harness.people import PlatformUser, at_work, on_platform
from tests.harness.waiters import until

pytestmark = [pytest.mark.may_block, pytest.mark.long]

FIVE = """Read the first: [delay=2.0] [reply=first-inner]
Read the second: [delay=0.2] [fail=auth]
Read the third: [delay=600]
Read the fourth: [delay=2.0] [reply=fourth-inner]
Read the fifth: [delay=2.0] [reply=fifth-inner]"""
STOP_SECONDS = 1.0


def plain(person: PlatformUser) -> list[str]:
    """All that the bot ever showed in the chat, without escapes."""
    shown = [each.replace("\\", "") for each in person.versions()]
    return [each for each in shown if each != FIVE]


async def test_the_chat_shows_each_state_of_five_and_three_run_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "PROGRESS_AFTER", 0.1)
    config = configuration(timeout_seconds=2.5)
    async with on_platform("telegram") as person, at_work(tmp_path, person, config):
        person.writes(FIVE)
        await until(lambda: person.texts() == [ANSWER], 40.0, lambda: f"{person.texts()}")
        await asyncio.sleep(0.3)
        assert person.texts() == [ANSWER], "only the answer stays"
    shown = plain(person)
    for state in ("▸ Read the first", "✓ Read the first", "✗ Read the second", "▸ Read the third"):
        assert any(state in each for each in shown), (state, shown)
    assert any("✗ Read the third ⏱" in each for each in shown), shown
    assert any("Read the fifth" in each for each in shown), shown
    assert all(each.count("▸") <= 3 for each in shown), ("three at once", shown)
    assert any("○ Read the fifth" in each for each in shown), "it waits for one of the first three"
    assert any("▸ Read the fifth" in each for each in shown), shown
    assert not any("inner" in each for each in shown), "nothing that a subagent says is for the chat"


async def test_stop_ends_all_of_them_within_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    monkeypatch.setenv(TRACES, str(traces))
    names = ("one", "two", "three")
    text = "\n".join(f'Hold {name}: [tool=hold {{"name": "{name}"}}]' for name in names)
    async with on_platform("telegram") as person, at_work(tmp_path, person, configuration()):
        person.writes(text)
        await until(lambda: len(list(traces.iterdir())) == 3, 40.0, lambda: f"{list(traces.iterdir())}")
        began = time.perf_counter()
        person.writes("/stop")
        await until(lambda: not list(traces.iterdir()), 20.0, lambda: f"{list(traces.iterdir())}")
        took = time.perf_counter() - began
        await until(lambda: "Stopped." in person.texts(), 20.0, lambda: f"{person.texts()}")
        assert took < STOP_SECONDS
        print(f"three subagents ended {took:.3f} s after /stop")
        await until(lambda: "(stopped)" in " ".join(person.texts()), 20.0, lambda: f"{person.texts()}")
        assert not any("▸" in each for each in person.texts())
