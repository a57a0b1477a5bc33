"""Execution of tool calls: errors become results that the model can read, and a journal prevents repetition.

    the call is checkpointed -> begin -> the tool runs -> its result is checkpointed
    -> the next model call sees it -> finish

A journal entry stays until a model has answered with the result in view and the checkpoint with that result
is on disk. So whenever the process is killed, either the call is in the journal or its result is in a
checkpoint.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import structlog
from langchain.agents.middleware import ToolErrorMiddleware, ToolRetryMiddleware
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import ExecutionInfo
from langgraph.store.base import BaseStore, GetOp, PutOp
from langgraph.types import Command

from agent.core.checkpoint_barrier import wait_for_checkpoint
from agent.core.interfaces import ToolJournal
from agent.core.model_request import Handler, Request, Response
from agent.core.run_context import RunContext
from agent.errors import AgentError, hide_host_folders, redact_line
from agent.middleware.answer_calls import make_call_key
from agent.sandbox.paths import mask_folders
from agent.shared.envelope import mark_tags
from agent.shared.recent_items import RecentItems

log = structlog.get_logger(__name__)
ERROR_CHARACTERS = 1_000
FAILED = "The tool {tool} failed: {detail}"


class ToolErrorHandlingMiddleware(ToolErrorMiddleware[Any, Any]):
    """Turns a tool's exception into an error result and never repeats a call with possible effects.

    The text is the exception's message without keys and host paths. `retry` is langchain's
    ToolRetryMiddleware, or the number of retries of a call that raised; retries count as one recorded call.
    The journal (see the module docstring) is stored in the graph's store, or in memory without one. A call
    that was started before gets "interrupted (outcome unknown)" as its result, unless its tool declares
    `{"idempotent": True}` in its metadata. Interrupts pass. Hooks: `wrap_tool_call`, and `wrap_model_call` to
    delete calls whose results a model has answered.
    """

    def __init__(self, *, retry: ToolRetryMiddleware | int = 0, journal: ToolJournal | None = None) -> None:
        super().__init__(on_error=describe_tool_error)
        if isinstance(retry, int):
            self._retry = ToolRetryMiddleware(max_retries=retry, on_failure="error") if retry else None
        else:
            self._retry = retry
        self._journal = journal
        self._memory = MemoryJournal()

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> Result:
        run = handler if self._retry is None else partial(self._retry.awrap_tool_call, handler=handler)
        context = RunContext.of(request.runtime)  # type: ignore[arg-type]
        journal = self._journal_of(request.runtime.store)
        recorded = partial(run_journaled, journal, context.thread_id or "", handler=run)
        return await super().awrap_tool_call(request, recorded)

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        response = await handler(request)
        journal = self._journal_of(request.runtime.store)
        thread_id = RunContext.of(request.runtime).thread_id or ""
        step = request.runtime.execution_info
        await forget_answered_calls(journal, thread_id, request.state["messages"], request.tools, step)
        return response

    def _journal_of(self, store: BaseStore | None) -> ToolJournal:
        if self._journal is not None:
            return self._journal
        return self._memory if store is None else StoreJournal(store)


def describe_tool_error(error: Exception, request: ToolCallRequest) -> str:
    """Return the error text for the model and log the failure."""
    tool = request.tool_call["name"]
    folders = (request.state or {}).get("thread_data")
    text = mask_folders(str(error), folders) if folders else str(error)
    detail = redact_line(hide_host_folders(text), most=ERROR_CHARACTERS)
    log.warning("tool_failed", tool=tool, error=type(error).__name__, detail=detail)
    if " " not in detail and not isinstance(error, AgentError):
        # Of a KeyError the message is only the key.
        detail = ": ".join(filter(None, [_kind_in_words(error), detail]))
    return FAILED.format(tool=tool, detail=mark_tags(detail))


def _kind_in_words(error: Exception) -> str:
    """Return the kind of error in words, such as "key error" for a KeyError."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", type(error).__name__).lower()


NAMESPACE = "tool_journal"
INTERRUPTED = (
    "The tool {tool} was interrupted (outcome unknown): it was running when the agent stopped, and may have "
    "done all, some or none of its work. It was not run again. Check what it did before you repeat it."
)
MAX_ENTRIES = 10_000
Result = ToolMessage | Command[Any]
ToolHandler = Callable[[ToolCallRequest], Awaitable[Result]]


class StoreJournal:
    """The journal in a LangGraph store; as durable as that store."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    async def begin(self, thread_id: str, call_id: str) -> bool:
        namespace = (NAMESPACE, thread_id)
        # One transaction: stores read before they write, whatever the order of the batch.
        found, _ = await self._store.abatch(
            [GetOp(namespace, call_id), PutOp(namespace, call_id, {"begun": True}, index=False)]
        )
        return found is not None

    async def finish(self, thread_id: str, call_id: str) -> None:
        await self._store.adelete((NAMESPACE, thread_id), call_id)


class MemoryJournal:
    """The journal of a process, for graphs without a store; drops the oldest entries beyond `max_entries`."""

    def __init__(self, *, max_entries: int = MAX_ENTRIES) -> None:
        self._begun = RecentItems[tuple[str, str], None](max_entries)

    async def begin(self, thread_id: str, call_id: str) -> bool:
        key = (thread_id, call_id)
        if key in self._begun:
            return True
        self._begun[key] = None
        return False

    async def finish(self, thread_id: str, call_id: str) -> None:
        self._begun.pop((thread_id, call_id), None)


def is_idempotent(tool: BaseTool) -> bool:
    """Return whether the tool's metadata or extras contain `{"idempotent": True}`, so that it may run
    twice.
    """
    said = (tool.metadata or {}, tool.extras or {})
    return any(part.get("idempotent") is True for part in said)


async def run_journaled(
    journal: ToolJournal, thread_id: str, request: ToolCallRequest, handler: ToolHandler
) -> Result:
    """Run the call unless it has already been started. Raises CheckpointLost."""
    tool = request.tool
    if tool is None or is_idempotent(tool):
        return await handler(request)
    await wait_for_checkpoint(request.runtime.execution_info)
    call_id = make_call_key(request.state["messages"], request.tool_call["id"])
    if await journal.begin(thread_id, call_id):
        text = INTERRUPTED.format(tool=tool.name)
        return ToolMessage(text, tool_call_id=request.tool_call["id"], name=tool.name, status="error")
    try:
        return await handler(request)
    except GraphBubbleUp:
        # The tool interrupts to ask a person; langgraph runs it again from the start with the answer.
        await journal.finish(thread_id, call_id)
        raise


async def forget_answered_calls(
    journal: ToolJournal,
    thread_id: str,
    messages: Sequence[AnyMessage],
    tools: Sequence[Any],
    step: ExecutionInfo | None,
) -> None:
    """Delete the entries of the last message with calls, since this model step has seen the results.

    They are deleted once the checkpoint that the step started from is stored. Raises CheckpointLost.
    """
    calling = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    if calling is None or not calling.tool_calls:
        return
    known = {tool.name: tool for tool in tools if isinstance(tool, BaseTool)}
    found = [known.get(call["name"]) for call in calling.tool_calls]
    begun = [
        call["id"]
        for call, tool in zip(calling.tool_calls, found, strict=True)
        if tool is not None and not is_idempotent(tool)
    ]
    if begun:
        await wait_for_checkpoint(step)
    for call_id in begun:
        await journal.finish(thread_id, make_call_key(messages, call_id))
