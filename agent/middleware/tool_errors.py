"""Report a failing tool to the model, so that the run continues."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import structlog
from langchain.agents.middleware import ToolErrorMiddleware, ToolRetryMiddleware
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.store.base import BaseStore

from agent.core.interfaces import ToolJournal
from agent.core.redaction import redact_line
from agent.core.run_context import RunContext
from agent.middleware.model_response import Handler, Request, Response
from agent.middleware.tool_journal import (
    MemoryJournal,
    Result,
    StoreJournal,
    ToolHandler,
    forget_answered_calls,
    run_journaled,
)

log = structlog.get_logger(__name__)
_HOST_FOLDERS = re.compile(r"(?<![\w.:/~])(?:~|[A-Za-z]:)?[/\\](?!mnt/)(?:[\w.@+ -]+[/\\])+")
FAILED = "The tool {tool} failed: {error}: {detail}"


class ToolErrorHandlingMiddleware(ToolErrorMiddleware[Any, Any]):
    """Turns a tool's exception into an error result and never repeats a call with possible effects.

    The text names the exception's class and its message without keys and host paths. `retry` is langchain's
    ToolRetryMiddleware, or the number of retries of a call that raised; retries count as one recorded call.
    The journal (see `tool_journal`) is stored in the graph's store, or in memory without one. A call that was
    started before gets "interrupted, outcome unknown" as its result, unless its tool declares `{"idempotent":
    True}` in its metadata. Interrupts pass. Hooks: `wrap_tool_call`, and `wrap_model_call` to delete calls
    whose results a model has answered.
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
        """Run the tool with journal and retries."""
        run = handler if self._retry is None else partial(_run_with_retry, self._retry, handler)
        context = RunContext.of(request.runtime)  # type: ignore[arg-type]
        journal = self._journal_of(request.runtime.store)
        recorded = partial(run_journaled, journal, context.thread_id or "", handler=run)
        return await super().awrap_tool_call(request, recorded)

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        """Call the model, then delete the journal entries of the results it has seen."""
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
    detail = redact_line(_HOST_FOLDERS.sub("…/", str(error))) or "(no message)"
    log.warning("tool_failed", tool=tool, error=type(error).__name__, detail=detail)
    return FAILED.format(tool=tool, error=type(error).__name__, detail=detail)


async def _run_with_retry(
    retry: ToolRetryMiddleware, handler: ToolHandler, request: ToolCallRequest
) -> Result:
    return await retry.awrap_tool_call(request, handler)
