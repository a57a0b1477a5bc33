"""Sessions with a real server: pooled, restarted, isolated; over each transport."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.core.tool_order import Order, read_order
from agent.errors import McpCallFailed, McpUnavailable
from agent.mcp.http_client import CANT_REACH
from agent.mcp.pool import McpPool
from agent.mcp.server import MAX_BACKOFF, MAX_SESSIONS
from agent.mcp.session import SessionTimeouts
from tests.harness.mcp import PATIENT, Time, call, children, configured, named, our_server, ours, pooled

TRANSPORTS = ["stdio", "http", pytest.param("sse", marks=pytest.mark.long)]
Made = dict[str, Any]


@pytest.fixture(params=TRANSPORTS)
async def entry(request: pytest.FixtureRequest) -> AsyncIterator[Made]:
    """The configuration of our server over each transport."""
    async with over(request.param) as (made, _):
        yield made


@asynccontextmanager
async def over(transport: str, **more: Any) -> AsyncIterator[tuple[Made, Callable[[int], None]]]:
    """The server, and what kills it (given its pid where it is a program of the pool's)."""
    if transport == "stdio":
        yield ours(**more), lambda pid: os.kill(pid, signal.SIGKILL)
        return
    async with our_server(transport) as (port, process):
        path = "mcp" if transport == "http" else "sse"
        url = f"http://127.0.0.1:{port}/{path}"
        yield {"type": transport, "url": url, **more}, lambda _: process.kill()


async def until(true: Callable[[], bool]) -> None:
    """Wait for what has to come."""
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


async def test_the_tools_of_a_server(entry: Made) -> None:
    async with pooled() as pool:
        servers = configured(test=entry)
        found = await pool.load_tools(servers)
        tools = named(found)
        assert set(tools) >= {"test_add", "test_recall", "test_hang"}
        assert tools["test_add"].description == "Add two numbers."
        assert tools["test_add"].args["a"]["type"] == "integer"
        assert (tools["test_add"].metadata or {})["idempotent"] is True
        assert "idempotent" not in (tools["test_remember"].metadata or {})
        orders = [read_order(tools[name]) for name in ("test_add", "test_remember")]
        assert orders == [Order.FREE, Order.IN_TURN]
        assert await call(tools, "test_add", a=2, b=3) == "5"
        assert await pool.load_tools(servers) is found, "nothing changed"


async def test_one_session_serves_all_calls_of_a_conversation(entry: Made) -> None:
    async with pooled() as pool:
        tools = named(await pool.load_tools(configured(test=entry)))
        await call(tools, "test_remember", key="a", value="1")
        assert await call(tools, "test_recall", key="a") == "1"
        assert pool.servers["test"].open_sessions == 1
        assert len(set(await asyncio.gather(*(call(tools, "test_pid") for _ in range(8))))) == 1


async def test_conversations_do_not_share_a_program() -> None:
    async with pooled() as pool:
        tools = named(await pool.load_tools(configured(test=ours(), one=ours(scope="shared"))))
        started = len(children())
        await call(tools, "test_remember", "anna", key="a", value="1")
        assert len(children()) == started, "the program that listed the tools serves the first conversation"
        assert await call(tools, "test_recall", "ben", key="a") == "nothing"
        assert await call(tools, "test_recall", "anna", key="a") == "1"
        assert await call(tools, "test_pid", "anna") != await call(tools, "test_pid", "ben")
        await call(tools, "one_remember", "anna", key="a", value="2")
        assert await call(tools, "one_recall", "ben", key="a") == "2"


async def test_an_error_of_a_tool_is_its_answer(entry: Made) -> None:
    async with pooled() as pool:
        tools = named(await pool.load_tools(configured(test=entry)))
        assert "no such thing" in await call(tools, "test_fail")
        assert await call(tools, "test_add", a=1, b=1) == "2"


async def test_a_long_answer_arrives_whole() -> None:
    """The agent's chain cuts it, since only there is a place for the whole."""
    async with pooled() as pool:
        tools = named(await pool.load_tools(configured(test=ours())))
        assert await call(tools, "test_much", characters=150_000) == "x" * 150_000


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_server_that_is_killed_in_mid_call(tmp_path: Path, transport: str) -> None:
    async with over(transport) as (entry, kill), pooled() as pool:
        tools = named(await pool.load_tools(configured(test=entry, other=ours())))
        pid = int(await call(tools, "test_pid"))
        waiting = asyncio.create_task(call(tools, "test_hang", mark=str(tmp_path / "arrived")))
        await until((tmp_path / "arrived").exists)
        kill(pid)
        with pytest.raises(McpCallFailed, match=r"during the call.*may have had an effect"):
            await waiting
        assert await call(tools, "other_add", a=1, b=2) == "3", "others go on"
        if transport == "stdio":
            assert int(await call(tools, "test_pid")) != pid, "it is started again"


@pytest.mark.guard(
    "a call of an MCP server's tool is not repeated if it may have arrived",
    "agent/mcp/session.py",
    "if why in _NEVER_DELIVERED and self.active_calls <= 1:",
    "if why in _NEVER_DELIVERED:",
    against="a call made twice",
)
async def test_calls_that_may_have_arrived_are_not_made_again(tmp_path: Path) -> None:
    """Of several calls, only one had a connection that failed; which one is not known."""
    async with pooled() as pool:
        tools = named(await pool.load_tools(configured(test=ours())))
        marks = [tmp_path / "a", tmp_path / "b"]
        waiting = [asyncio.create_task(call(tools, "test_hang", mark=str(mark))) for mark in marks]
        await until(lambda: all(mark.exists() for mark in marks))
        for mark in marks:
            mark.unlink()
        [session] = pool.servers["test"]._sessions.values()
        session.mark_broken(CANT_REACH)
        for one in waiting:
            with pytest.raises(McpCallFailed, match="may have had an effect"):
                await asyncio.wait_for(one, 30)
        assert not any(mark.exists() for mark in marks)


async def test_the_last_words_of_a_program_are_told() -> None:
    async with pooled() as pool:
        tools = named(await pool.load_tools(configured(test=ours())))
        with pytest.raises(McpCallFailed, match="stderr: RuntimeError: out of cheese"):
            await call(tools, "test_crash")


async def test_a_program_that_died_between_calls_is_started_again() -> None:
    async with pooled() as pool:
        tools = named(await pool.load_tools(configured(test=ours())))
        first = int(await call(tools, "test_pid"))
        [session] = pool.servers["test"]._sessions.values()
        os.kill(first, signal.SIGKILL)
        await until(lambda: not session._session._write_stream.statistics().open_send_streams)
        assert int(await call(tools, "test_pid")) != first


async def test_a_server_that_comes_back_is_used_again() -> None:
    async with pooled() as pool:
        async with our_server("http") as (port, _):
            servers = configured(test={"url": f"http://127.0.0.1:{port}/mcp"})
            tools = named(await pool.load_tools(servers))
            assert await call(tools, "test_add", a=1, b=1) == "2"
        with pytest.raises(McpUnavailable, match="can't be reached"):
            await call(tools, "test_add", a=1, b=1)
        time = pool.servers["test"]._retry_at
        async with our_server("http", str(port)):
            pool.servers["test"]._clock = lambda: time + 1
            assert await call(tools, "test_add", a=1, b=1) == "2"


@pytest.mark.long
async def test_a_server_that_was_restarted_is_used_at_once() -> None:
    """Its new process doesn't know the session, so that the call is made in a new one."""
    async with pooled() as pool:
        async with our_server("http") as (port, _):
            servers = configured(test={"url": f"http://127.0.0.1:{port}/mcp"})
            tools = named(await pool.load_tools(servers))
            first = await call(tools, "test_pid")
        async with our_server("http", str(port)):
            assert await call(tools, "test_pid") != first


async def test_a_server_that_keeps_breaking_is_started_after_pauses() -> None:
    time = Time()
    async with pooled(clock=time) as pool:
        tools = named(await pool.load_tools(configured(test=ours())))
        for _ in range(2):
            with pytest.raises(McpCallFailed):
                await call(tools, "test_crash")
        with pytest.raises(McpUnavailable, match=r"crashed several times\. Next attempt in 1 seconds"):
            await call(tools, "test_add", a=1, b=1)
        time.now += 2
        assert await call(tools, "test_add", a=1, b=1) == "2"
        with pytest.raises(McpCallFailed):
            await call(tools, "test_crash")
        assert await call(tools, "test_add", a=1, b=1) == "2", "at once after a call that went well"


def hurry(pool: McpPool, seconds: float, *, pong: float = PATIENT) -> None:
    """From now on the sessions that are open wait no longer than this."""
    for session in pool.servers["test"]._sessions.values():
        session._limits = SessionTimeouts(PATIENT, seconds, pong)


async def test_a_call_that_takes_too_long(entry: Made) -> None:
    async with pooled() as pool:
        tools = named(await pool.load_tools(configured(test=entry)))
        await call(tools, "test_remember", key="a", value="1")
        hurry(pool, 0.2)
        with pytest.raises(McpCallFailed, match=r"did not respond within 0\.2 seconds"):
            await call(tools, "test_hang")
        hurry(pool, PATIENT)
        assert await call(tools, "test_recall", key="a") == "1", "it lives, and is kept"


async def test_a_server_that_hangs_is_given_up() -> None:
    async with pooled() as pool:
        tools = named(await pool.load_tools(configured(test=ours())))
        first = int(await call(tools, "test_pid"))
        hurry(pool, 0.2, pong=0.2)
        with pytest.raises(McpCallFailed, match="did not respond"):
            await call(tools, "test_freeze")
        assert int(await call(tools, "test_pid")) != first
        await until(lambda: first not in children())


async def test_a_call_that_is_given_up_by_its_run_leaves_the_session() -> None:
    async with pooled() as pool:
        tools = named(await pool.load_tools(configured(test=ours())))
        first = await call(tools, "test_pid")
        waiting = asyncio.create_task(call(tools, "test_hang"))
        await until(lambda: any(s.active_calls for s in pool.servers["test"]._sessions.values()))
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await call(tools, "test_pid") == first


BROKEN = [
    ({"command": "/no/such/program"}, "can't be started: its command is not installed, or is not on PATH"),
    (
        {"command": sys.executable, "args": ["-c", "raise SystemExit('bad day')"]},
        "ended while starting: bad day",
    ),
    ({"command": sys.executable, "args": ["-c", "print('hello')"]}, "ended before it listed its tools"),
    ({"url": "http://127.0.0.1:9/mcp"}, "can't be reached"),
    ({"type": "sse", "url": "http://127.0.0.1:9/sse"}, "can't be reached"),
]


@pytest.mark.parametrize(("broken", "why"), BROKEN)
async def test_a_server_that_can_not_be_started_takes_no_other_down(broken: Made, why: str) -> None:
    time = Time()
    async with pooled(clock=time) as pool:
        servers = configured(bad=broken, good=ours())
        tools = named(await pool.load_tools(servers))
        assert "good_add" in tools
        assert not [name for name in tools if name.startswith("bad")]
        assert why in pool.servers["bad"].problem
        assert not pool.servers["bad"].needs_listing(), "not at once"
        time.now += 2
        assert pool.servers["bad"].needs_listing()


async def test_a_server_that_is_away_for_days_is_tried_again_at_the_longest_pause() -> None:
    time = Time()
    async with pooled(clock=time) as pool:
        servers = configured(bad={"url": "http://127.0.0.1:9/mcp"})
        await pool.load_tools(servers)
        pool.servers["bad"]._failures = 2000
        time.now += 2
        await pool.load_tools(servers)
        assert "can't be reached" in pool.servers["bad"].problem
        assert pool.servers["bad"]._retry_at == time.now + MAX_BACKOFF


async def test_a_server_that_does_not_start_in_time_is_not_waited_for() -> None:
    sleeper = {"command": sys.executable, "args": ["-c", "import time; time.sleep(600)"]}
    async with pooled(start_wait=0.1) as pool:
        assert not (await pool.load_tools(configured(slow=sleeper))).tools
        assert not (await pool.load_tools(configured(slow=sleeper))).tools


async def test_a_server_whose_start_takes_too_long_is_ended() -> None:
    sleeper = {
        "command": sys.executable,
        "args": ["-c", "import time; time.sleep(600)"],
        "start_seconds": 0.3,
    }
    async with pooled() as pool:
        await pool.load_tools(configured(slow=sleeper))
        assert "did not start within 0.3 seconds" in pool.servers["slow"].problem
        await until(lambda: not children())


async def test_a_slow_server_joins_a_later_run() -> None:
    async with pooled(start_wait=0.0) as pool:
        servers = configured(test=ours())
        await pool.load_tools(servers)
        await until(lambda: pool.servers["test"].tools is not None)
        assert "test_add" in named(await pool.load_tools(servers))


async def test_two_first_runs_both_get_the_tools() -> None:
    async with pooled() as pool:
        servers = configured(test=ours())
        one, other = await asyncio.gather(pool.load_tools(servers), pool.load_tools(servers))
        assert "test_add" in named(one)
        assert "test_add" in named(other)
        assert len(children()) == 1


async def test_a_list_that_changes_is_asked_for_again(entry: Made) -> None:
    async with pooled() as pool:
        servers = configured(test=entry)
        tools = named(await pool.load_tools(servers))
        assert "test_extra" not in tools
        await call(tools, "test_grow")
        await until(pool.servers["test"].needs_listing)
        again = named(await pool.load_tools(servers))
        assert await call(again, "test_extra") == "extra"


async def test_idle_sessions_are_closed_and_opened_again() -> None:
    time, naps = Time(), asyncio.Queue[float]()
    wake = asyncio.Event()

    async def sleep(seconds: float) -> None:
        naps.put_nowait(seconds)
        await wake.wait()
        wake.clear()

    async with pooled(clock=time, sleep=sleep, idle_seconds=60) as pool:
        tools = named(await pool.load_tools(configured(test=ours())))
        first = await call(tools, "test_pid")
        await naps.get()
        time.now += 59
        wake.set()
        await naps.get()
        assert pool.servers["test"].open_sessions == 1
        time.now += 1
        wake.set()
        await naps.get()
        assert not children()
        assert await call(tools, "test_pid") != first


async def test_no_more_sessions_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.mcp.server.MAX_SESSIONS", 2)
    assert MAX_SESSIONS > 2
    async with pooled() as pool:
        tools = named(await pool.load_tools(configured(test=ours())))
        first = await call(tools, "test_pid", "a")
        await call(tools, "test_pid", "b")
        await call(tools, "test_pid", "c")
        assert len(children()) == 2
        assert await call(tools, "test_pid", "a") != first, "the one unused for longest gave way"
        busy = [asyncio.create_task(call(tools, "test_hang", thread)) for thread in ("a", "c")]
        await until(lambda: sum(s.active_calls for s in pool.servers["test"]._sessions.values()) == 2)
        with pytest.raises(McpUnavailable, match="in use by too many conversations"):
            await call(tools, "test_pid", "d")
        for task in busy:
            task.cancel()
        await asyncio.wait(busy)


async def test_a_changed_configuration_is_applied_without_a_restart(entry: Made) -> None:
    async with pooled() as pool:
        tools = named(await pool.load_tools(configured(kept=ours(), test=entry)))
        kept = await call(tools, "kept_pid")
        assert not (await pool.load_tools(configured(kept=ours(), test={**entry, "enabled": False}))).select(
            frozenset({"test"})
        )
        with pytest.raises(McpUnavailable, match="is switched off"):
            await call(tools, "test_add", a=1, b=1)
        again = named(await pool.load_tools(configured(kept=ours(), test={**entry, "timeout_seconds": 59})))
        assert await call(again, "test_add", a=1, b=1) == "2"
        assert await call(again, "kept_pid") == kept, "the others keep their sessions"


async def test_the_environment_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-service")
    async with pooled() as pool:
        tools = named(await pool.load_tools(configured(test=ours(env={"OWN": "x"}))))
        assert await call(tools, "test_variable", name="OWN") == "x"
        assert await call(tools, "test_variable", name="OPENAI_API_KEY") == "unset"
        assert await call(tools, "test_variable", name="PATH") != "unset"


async def test_many_servers_at_once() -> None:
    async with AsyncExitStack() as stack:
        pool: McpPool = await stack.enter_async_context(pooled())
        servers = configured(**{f"s{number}": ours() for number in range(4)})
        tools = named(await pool.load_tools(servers))
        answers = await asyncio.gather(*(call(tools, f"s{n}_add", a=n, b=1) for n in range(4)))
        assert answers == ["1", "2", "3", "4"]
