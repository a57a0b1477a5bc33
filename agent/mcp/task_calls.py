"""Calls that become tasks: the server responds immediately, and the result is fetched later.

Specification 2025-11-25, basic/utilities/tasks (SEP-1686): `tasks/result` waits for the end of the task and
delivers its questions; `tasks/get` returns the state meanwhile. The mcp package has types for these requests,
but sends them only through a deprecated interface.

Specification 2026-07-28, extension io.modelcontextprotocol/tasks (SEP-2663): any call may become a task;
`tasks/get` returns its state, questions and result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

import anyio
from mcp import ClientSession
from mcp import types as protocol
from mcp.shared.exceptions import McpError
from pydantic import ValidationError

from agent.mcp.call_watch import MAX_CALL_SECONDS, CallTimer, Report
from agent.mcp.client_session import InteractiveSession
from agent.mcp.listing import send
from agent.mcp.live_calls import Answer
from agent.mcp.rounds import answer_requests
from agent.mcp.stateless import RawRequest, RawResult

POLL_SECONDS = 1.0
SHORTEST_POLL, LONGEST_POLL = 0.1, 10.0
CANCEL_SECONDS = 1.0
Result = Mapping[str, Any]


async def call_as_task(
    session: ClientSession, tool: str, arguments: dict[str, Any], timer: CallTimer, report: Report
) -> Result:
    """Call a tool as a task and return the raw result. Raises McpError.

    Each state `working` restarts the call's time limit, as progress does. If the call is canceled, so is the
    task.
    """
    params = protocol.CallToolRequestParams(
        name=tool, arguments=arguments, task=protocol.TaskMetadata(ttl=int(MAX_CALL_SECONDS * 1000))
    )
    created = await send(session, protocol.CallToolRequest(params=params))
    task = created.get("task")
    if not isinstance(task, Mapping) or not isinstance(task.get("taskId"), str):
        return created
    request = protocol.GetTaskPayloadRequest(
        params=protocol.GetTaskPayloadRequestParams(taskId=task["taskId"])
    )
    result = asyncio.ensure_future(send(session, request, request_read_timeout_seconds=timedelta(days=1)))
    try:
        await _watch(session, task, result, timer, report)
        return await result
    except asyncio.CancelledError:
        params_of_task = protocol.CancelTaskRequestParams(taskId=task["taskId"])
        await _try_to_cancel(send(session, protocol.CancelTaskRequest(params=params_of_task)))
        raise
    finally:
        result.cancel()


async def _watch(
    session: ClientSession,
    task: Mapping[str, Any],
    result: asyncio.Future[Any],
    timer: CallTimer,
    report: Report,
) -> None:
    """Poll the state of a task until its result is available."""
    request = protocol.GetTaskRequest(params=protocol.GetTaskRequestParams(taskId=task["taskId"]))
    state: Mapping[str, Any] = task
    while True:
        await asyncio.wait([result], timeout=_pause(state.get("pollInterval")))
        if result.done():
            return
        try:
            state = await send(session, request)
        except McpError:
            # The result may have arrived in the meantime, and is more informative.
            return
        if state.get("status") == "working":
            _report_state(state, timer, report)


def _report_state(state: Result, timer: CallTimer, report: Report) -> None:
    timer.restart()
    message = state.get("statusMessage")
    report(None, None, message if isinstance(message, str) else None)


async def finish_task(session: InteractiveSession, task: Result, timer: CallTimer, report: Report) -> Result:
    """Follow the task that a call has become (2026-07-28), and return its result.

    Raises McpError if the task fails, and McpCallFailed if it asks for anything but an elicitation.
    """
    task_id, state = task.get("taskId"), task
    answers: dict[str, Answer] = {}
    try:
        while True:
            status = state.get("status")
            if status == "completed" and isinstance(state.get("result"), Mapping):
                return state["result"]  # type: ignore[no-any-return]
            if status == "failed":
                raise McpError(_read_error(state.get("error")))
            if status not in ("working", "input_required"):
                raise McpError(protocol.ErrorData(code=0, message=f"the task ended as {str(status)[:64]}"))
            if status == "working":
                _report_state(state, timer, report)
            entries = state.get("inputRequests")
            requests = entries if status == "input_required" and isinstance(entries, Mapping) else {}
            if new := {key: one for key, one in requests.items() if key not in answers}:
                responses = await answer_requests(session.server, new, session.ask)
                answers |= responses
                await _send_raw(session, "tasks/update", taskId=task_id, inputResponses=responses)
            else:
                await asyncio.sleep(_pause(state.get("pollIntervalMs")))
            state = await _send_raw(session, "tasks/get", taskId=task_id)
    except asyncio.CancelledError:
        await _try_to_cancel(_send_raw(session, "tasks/cancel", taskId=task_id))
        raise


async def _send_raw(session: InteractiveSession, method: str, **params: Any) -> dict[str, Any]:
    answer: RawResult = await session.send_request(
        RawRequest({"method": method, "params": params}), RawResult
    )
    return answer.root


def _read_error(error: object) -> protocol.ErrorData:
    try:
        return protocol.ErrorData.model_validate(error)
    except ValidationError:
        return protocol.ErrorData(code=0, message="the task failed")


async def _try_to_cancel(request: Awaitable[object]) -> None:
    """Wait for a request that cancels a task; without a response the task expires by its `ttl`."""
    with suppress(TimeoutError, McpError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        async with asyncio.timeout(CANCEL_SECONDS):
            await request


def _pause(milliseconds: object) -> float:
    """Return the polling interval in seconds, as suggested by the server."""
    if not isinstance(milliseconds, int | float):
        return POLL_SECONDS
    return min(max(milliseconds / 1000, SHORTEST_POLL), LONGEST_POLL)
