"""The agent works before it answers: people see on what, and in the end only the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.dispatch.reply import streaming
from roebot_testing.agent.graphs_working import ANSWER, SUBAGENT, TODOS, working
from roebot_testing.emulators.slack import SlackEmulator
from tests.harness.people import PlatformUser, at_work
from tests.harness.waiters import until
from tests.harness.wires import SlackWire
from tests.runtime.serving import Served, serve

pytestmark = pytest.mark.may_block


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Served]:
    async with serve(tmp_path / "agent", sources={"working": lambda: working}) as served:
        yield served


async def test_the_work_is_listed_while_it_lasts(
    tmp_path: Path, driver: PlatformUser, agent: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "PROGRESS_AFTER", 0.5)
    runtime = f'runtime: {{url: "{agent.url}", assistant_id: working, api_key: {agent.token}}}'
    async with at_work(tmp_path, driver, runtime):
        driver.writes("[pace=1.5] what happened?")
        await until(lambda: driver.texts() == [ANSWER], 30.0, lambda: f"{driver.texts()}")
        await asyncio.sleep(0.5)
        assert driver.texts() == [ANSWER]
    listed = driver.versions()
    assert any("Ask a colleague" in found for found in listed)
    assert any(SUBAGENT in found.replace("\\", "") for found in listed)
    # One line has room for what is in progress; lists show what is done, too.
    sign = "▸" if driver.platform == "discord" else "✓"
    assert any(f"{sign} Read the *figures*" in found.replace("\\", "") for found in listed)


class AtSlack:
    """What stands in the chat with the bot."""

    def __init__(self, emulator: SlackEmulator) -> None:
        self._emulator = emulator
        self.seen: list[list[tuple[str, str]]] = []

    def reply(self) -> dict[str, Any]:
        """The bot's first message; its list is noted where it is a new one."""
        found = [one for one in self._emulator.view("U0000001")["messages"] if one["from_bot"]]
        if not found:
            return {"text": "", "streaming": False}
        reply = found[0]
        tasks = [(task["title"], task["status"]) for task in reply["tasks"]]
        if tasks not in self.seen[-1:]:
            self.seen.append(tasks)
        return dict(reply)

    def ended(self) -> bool:
        reply = self.reply()
        return bool(reply["text"]) and not reply["streaming"]


async def test_on_slack_the_work_is_its_own_list(
    tmp_path: Path, agent: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "PROGRESS_AFTER", 0.5)
    runtime = f'runtime: {{url: "{agent.url}", assistant_id: working, api_key: {agent.token}}}'
    async with SlackWire.serve() as wire, at_work(tmp_path, PlatformUser(wire), runtime):
        emulator = wire.emulator
        chat = AtSlack(emulator)
        emulator.people.says("[pace=1.5] what happened?")
        await until(chat.ended, 30.0, lambda: f"{chat.reply()}")
        reply = chat.reply()
    assert (reply["text"], reply["edits"], reply["streamed"]) == (ANSWER, 0, True)
    listed = [dict(tasks) for tasks in chat.seen]
    assert listed[0][TODOS[0]] == "in_progress" and listed[0][TODOS[2]] == "pending"
    assert any(tasks.get(SUBAGENT) == "in_progress" for tasks in listed)
    assert [listed[-1][todo] for todo in TODOS] == ["complete"] * 3
    assert set(listed[-1].values()) <= {"complete", "error"}
    called = emulator.transcript.calls
    assert called["chat.startStream"] == called["chat.stopStream"] == 1
    assert called["chat.update"] == called["chat.postMessage"] == 0
    assert emulator.counters()["limited"] == 0


async def test_on_slack_a_stop_leaves_nothing_in_progress(
    tmp_path: Path, agent: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "PROGRESS_AFTER", 0.3)
    runtime = f'runtime: {{url: "{agent.url}", assistant_id: working, api_key: {agent.token}}}'
    async with SlackWire.serve() as wire, at_work(tmp_path, PlatformUser(wire), runtime):
        emulator = wire.emulator
        chat = AtSlack(emulator)
        asked = emulator.people.says("[pace=20] what happened?")
        await until(lambda: chat.reply() and any(chat.seen), 20.0, lambda: f"{chat.seen}")
        emulator.people.stops(asked.channel, asked.ts)
        await until(chat.ended, 20.0, lambda: f"{chat.reply()}")
    last = dict(chat.seen[-1])
    assert last[TODOS[0]] == "error"
    assert "in_progress" not in last.values()
