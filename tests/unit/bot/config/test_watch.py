"""Reload while the service runs: real files, a manual clock."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bot.config import Config, ConfigErrors, ConfigWatcher, LoadedConfig, Rejected, Reloaded, load_config

if TYPE_CHECKING:
    from .conftest import Folder

V = "config_version: 1\n"
FIRST = V + "limits: {queue: 1}\n"


class StepClock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[float] = asyncio.Queue()
        self._go: asyncio.Queue[None] = asyncio.Queue()

    def now(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.asked.put_nowait(seconds)
        await self._go.get()

    async def step(self) -> float:
        """Wait until somebody sleeps, then wake it; how long it wanted to sleep."""
        seconds = await self.asked.get()
        self._go.put_nowait(None)
        return seconds


def watcher(folder: Folder, loaded: LoadedConfig, env: dict[str, str] | None = None) -> ConfigWatcher:
    return ConfigWatcher(loaded, explicit=None, env=env or {}, cwd=folder.path, clock=StepClock())


async def looks(watch: ConfigWatcher, times: int = 3) -> list[object]:
    return [outcome for _ in range(times) if (outcome := await watch.look()) is not None]


async def test_an_unchanged_file_is_no_news(folder: Folder) -> None:
    watch = watcher(folder, await asyncio.to_thread(folder.load, FIRST))
    assert await looks(watch) == []
    os.utime(folder.file, ns=(1, 1))
    assert await looks(watch) == []


async def test_a_change_is_taken_when_two_looks_agree(folder: Folder) -> None:
    watch = watcher(folder, await asyncio.to_thread(folder.load, FIRST))
    assert await looks(watch) == []
    folder.write(V + "limits: {queue: 2}\n")
    assert await watch.look() is None
    outcome = await watch.look()
    assert isinstance(outcome, Reloaded)
    assert outcome.sections == {"limits"}
    assert outcome.loaded.config.limits.queue == 2
    assert watch.current is outcome.loaded
    assert await looks(watch) == []


async def test_a_file_that_is_still_being_written_is_left_alone(folder: Folder) -> None:
    watch = watcher(folder, await asyncio.to_thread(folder.load, FIRST))
    for part in (
        "limits: {que",
        "limits: {queue: 2}\naccess: {def",
        "limits: {queue: 2}\naccess: {default: allow}\n",
    ):
        folder.write(V + part)
        assert await watch.look() is None
    (outcome,) = await looks(watch)
    assert isinstance(outcome, Reloaded)
    assert outcome.sections == {"limits", "access"}


async def test_a_change_before_the_first_look_is_seen(folder: Folder) -> None:
    watch = watcher(folder, await asyncio.to_thread(folder.load, FIRST))
    folder.write(V + "limits: {queue: 2}\n")
    (outcome,) = await looks(watch)
    assert isinstance(outcome, Reloaded)


async def test_a_bad_file_keeps_the_last_good_one_and_is_told_once(folder: Folder) -> None:
    watch = watcher(folder, await asyncio.to_thread(folder.load, FIRST))
    good = watch.current
    folder.write(V + "limits: {queue: none}\n")
    (outcome,) = await looks(watch, 5)
    assert isinstance(outcome, Rejected)
    assert str(outcome.errors).startswith("config.yaml:2: limits.queue: expected a whole number")
    assert watch.current is good
    folder.write(FIRST)
    (outcome,) = await looks(watch, 5)
    assert isinstance(outcome, Reloaded)
    assert outcome.sections == frozenset()


async def test_a_file_that_disappears_is_bad_and_another_is_not_taken_for_it(folder: Folder) -> None:
    (folder.path.parent / "config.yaml").write_text(V + "access: {default: allow}\n")
    watch = watcher(folder, await asyncio.to_thread(folder.load, FIRST))
    folder.file.unlink()
    (outcome,) = await looks(watch, 5)
    assert isinstance(outcome, Rejected)
    assert str(outcome.errors) == "config.yaml: cannot be read: No such file or directory"
    assert watch.current.config.limits.queue == 1
    folder.write(V + "limits: {queue: 3}\n")
    (outcome,) = await looks(watch, 5)
    assert isinstance(outcome, Reloaded)


async def test_a_file_that_appears_is_taken_up(folder: Folder) -> None:
    loaded = await asyncio.to_thread(load_config, None, {}, folder.path)
    assert loaded.path is None
    watch = watcher(folder, loaded)
    assert await looks(watch) == []
    folder.write(V + "server: {port: 1}\n")
    (outcome,) = await looks(watch)
    assert isinstance(outcome, Reloaded)
    assert outcome.sections == {"server"}
    assert watch.current.path == folder.file


async def test_a_variable_that_points_nowhere_is_no_change(folder: Folder) -> None:
    env = {"ROEBOT_CONFIG_PATH": "gone.yaml"}
    watch = watcher(folder, LoadedConfig(Config()), env)
    assert await looks(watch) == []
    outcome = await watch.reload()
    assert isinstance(outcome, Rejected)
    assert "there is no such file" in str(outcome.errors)


async def test_accounts_change_one_by_one(folder: Folder) -> None:
    account = "{platform: telegram, bot_token: '%s'}"
    text = V + f"channels:\n  a: {account % '1:a'}\n  b: {account % '2:b'}\n"
    watch = watcher(folder, await asyncio.to_thread(folder.load, text))
    folder.write(V + f"channels:\n  a: {account % '1:a'}\n  b: {account % '2:new'}\n  c: {account % '3:c'}\n")
    outcome = await watch.reload()
    assert isinstance(outcome, Reloaded)
    assert outcome.sections == {"channels.b", "channels.c"}
    folder.write(V)
    outcome = await watch.reload()
    assert isinstance(outcome, Reloaded)
    assert outcome.sections == {"channels.a", "channels.b", "channels.c"}
    assert await looks(watch) == []


async def test_run_reports_until_it_is_stopped(folder: Folder) -> None:
    loaded = await asyncio.to_thread(folder.load, FIRST)
    clock = StepClock()
    watch = ConfigWatcher(loaded, explicit=folder.file, env={}, cwd=folder.path, clock=clock, interval=2.5)
    reports: asyncio.Queue[object] = asyncio.Queue()
    running = asyncio.create_task(watch.run(reports.put))
    assert await clock.step() == 2.5
    folder.write(V + "limits: {queue: 9}\n")
    await clock.step()
    await clock.step()
    outcome = await reports.get()
    assert isinstance(outcome, Reloaded)
    assert outcome.loaded.config.limits.queue == 9
    await clock.asked.get()
    watch.stop()
    await running
    assert reports.empty()


async def test_run_can_be_cancelled_in_its_pause(folder: Folder) -> None:
    clock = StepClock()
    watch = ConfigWatcher(
        await asyncio.to_thread(folder.load, FIRST), explicit=None, env={}, cwd=folder.path, clock=clock
    )
    running = asyncio.create_task(watch.run(asyncio.Queue[object]().put))
    assert await clock.asked.get() == 1.0
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(asyncio.all_tasks()) == 1


def test_an_explicit_path_that_is_missing_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors):
        load_config(tmp_path / "no.yaml", {}, tmp_path)


@pytest.mark.parametrize("content", ["", " \n\n", "\ufeff\n"])
async def test_a_file_that_was_emptied_leaves_the_last_good(folder: Folder, content: str) -> None:
    watch = watcher(folder, await asyncio.to_thread(folder.load, FIRST))
    folder.write(content)
    (outcome,) = await looks(watch)
    assert isinstance(outcome, Rejected)
    assert str(outcome.errors).startswith("config.yaml: is empty")
    assert "write {}" in str(outcome.errors)
    assert watch.current.config.limits.queue == 1
    folder.write("{}")
    (outcome,) = await looks(watch)
    assert isinstance(outcome, Reloaded)
    assert outcome.loaded.config == Config()


async def test_a_file_that_is_empty_from_the_start_may_stay_so(folder: Folder) -> None:
    watch = watcher(folder, await asyncio.to_thread(folder.load, ""))
    folder.write("\n")
    (outcome,) = await looks(watch)
    assert isinstance(outcome, Reloaded)


async def test_the_agents_that_accounts_name_have_to_be_there(folder: Folder) -> None:
    text = V + "channels: {web: {agent: Poet}}\n"
    loaded = await asyncio.to_thread(folder.load, FIRST)
    watch = ConfigWatcher(loaded, explicit=None, env={}, cwd=folder.path, clock=StepClock(), home=folder.path)
    folder.write(text)
    (outcome,) = await looks(watch)
    assert isinstance(outcome, Rejected)
    told = "unknown agent; create the folder agents/Poet in the data directory"
    assert str(outcome.errors) == f"config.yaml:2: channels.web.agent: {told}"
    (folder.path / "agents" / "coder").mkdir(parents=True)
    outcome = await watch.reload()
    assert isinstance(outcome, Rejected)
    assert "expected coder, or create the folder agents/Poet" in str(outcome.errors)
    (folder.path / "agents" / "poet").mkdir()
    assert isinstance(await watch.reload(), Reloaded)
    folder.write(text.replace("Poet", "nobody") + "runtime: {url: 'http://127.0.0.1:1'}\n")
    assert isinstance(await watch.reload(), Reloaded), "the agents are elsewhere"
