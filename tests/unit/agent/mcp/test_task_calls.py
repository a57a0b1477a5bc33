"""A tool that works only as a task is called, watched and fetched."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from mcp import types as protocol
from mcp.shared.exceptions import McpError

from agent.mcp.call_watch import CallTimer
from agent.mcp.stateless import RawResult
from agent.mcp.task_calls import call_as_task

DONE = {"content": [{"type": "text", "text": "report"}]}
TASK = {"task": {"taskId": "t1", "status": "working", "pollInterval": 1}}


class Session:
    """Answers as a server with tasks; the result comes after these states."""

    refuses_cancel = False

    def __init__(self, created: Mapping[str, Any], *states: Mapping[str, Any] | McpError) -> None:
        self.created, self.states = created, list(states)
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.ended = asyncio.Event()

    async def send_request(self, request: Any, *_: Any, **__: Any) -> RawResult:
        one = request.root
        self.asked.append((one.method, one.params.model_dump(exclude_none=True)))
        if one.method == "tools/call":
            return RawResult(dict(self.created))
        if one.method == "tasks/cancel":
            if self.refuses_cancel:
                raise McpError(protocol.ErrorData(code=-32602, message="Task is already completed"))
            return RawResult({"taskId": "t1", "status": "cancelled"})
        if one.method == "tasks/result":
            await self.ended.wait()
            return RawResult(DONE)
        state = self.states.pop(0)
        if not self.states:
            self.ended.set()
        if isinstance(state, McpError):
            raise state
        return RawResult(dict(state))


class Timer(CallTimer):
    """Counts how often the time starts again."""

    restarts = 0

    def restart(self) -> None:
        self.restarts += 1


async def run(session: Any) -> tuple[Any, list[Any], int]:
    told: list[Any] = []
    timer = Timer()
    result = await call_as_task(session, "research", {"topic": "x"}, timer, lambda *parts: told.append(parts))
    return result, told, timer.restarts


async def test_a_task_is_watched_until_its_result_is_there() -> None:
    working = {"taskId": "t1", "status": "working", "pollInterval": 1}
    session = Session(
        TASK, {**working, "statusMessage": "Reading"}, {**working, "status": "input_required"}, working
    )
    result, told, restarts = await run(session)
    assert result == DONE
    assert told == [(None, None, "Reading"), (None, None, None)]
    assert restarts == 2, "a person is waited for without it"
    [(method, call), *rest] = session.asked
    assert (method, call["name"], call["arguments"]) == ("tools/call", "research", {"topic": "x"})
    assert call["task"] == {"ttl": 3_600_000}
    assert {method for method, _ in rest} == {"tasks/get", "tasks/result"}
    assert all(parts["taskId"] == "t1" for _, parts in rest)


async def test_a_server_may_answer_at_once() -> None:
    session = Session(DONE)
    assert (await run(session))[0] == DONE
    assert len(session.asked) == 1


async def test_an_unknown_state_does_not_hide_the_result() -> None:
    error = McpError(protocol.ErrorData(code=-32602, message="Task not found"))
    assert (await run(Session(TASK, error)))[0] == DONE


@pytest.mark.parametrize("refuses", [False, True])
async def test_a_call_that_is_given_up_cancels_its_task(refuses: bool) -> None:
    session = Session(TASK, *[{"status": "working", "pollInterval": 1}] * 1_000)
    session.refuses_cancel = refuses
    running = asyncio.create_task(run(session))
    while len(session.asked) < 3:
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1
    assert session.asked[-1] == ("tasks/cancel", {"taskId": "t1"})
