"""Gives a run its sandbox, and takes it back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse
from langgraph.prebuilt.tool_node import ToolCallRequest

from agent.context import RunContext
from agent.middleware.answers import Handler, Request, Response, answer_of, updating
from agent.middleware.thread_data import default_store
from agent.middleware.tool_journal import Result, ToolHandler
from agent.ports.sandbox import SandboxProvider
from agent.sandbox.local import LocalSandboxProvider
from agent.state import ThreadState

REMEMBERED = 10_000


class SandboxMiddleware(AgentMiddleware[Any, Any]):
    """Acquires the thread's sandbox when an answer calls tools, and releases it with the last answer.

    `sandbox` in the state has its id, stored with the answer, before any of its tools runs. Each tool call
    acquires again, since a run that goes on after a question or a crash starts with one. A run that fails, is
    cancelled or stops to ask ends without a last answer: then the call that ended it releases, once no other
    call of the thread is under way. What slips through (a killed process, a failure between two calls) is the
    provider's to give up. A run without tool calls never has one. Hooks: `wrap_model_call` and
    `wrap_tool_call`; hooks of their own would be two steps of every run, with and without tools.
    """

    state_schema = ThreadState

    def __init__(self, *, provider: SandboxProvider | None = None) -> None:
        """`provider` is the local one below the folder `.roebot` otherwise."""
        super().__init__()
        self._provider = provider or LocalSandboxProvider(default_store().folders)
        self._calls: Counter[str] = Counter()
        self._ended: set[str] = set()

    async def awrap_model_call(
        self, request: Request, handler: Handler
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model, then acquire for the tools that it calls, or release."""
        thread_id = RunContext.of(request.runtime).thread_id
        if thread_id is None:
            return await handler(request)
        state: Mapping[str, Any] = request.state
        known = (state.get("sandbox") or {}).get("sandbox_id", "")
        # A model is asked: whatever ended a run before, this one goes on.
        self._ended.discard(known)
        calling = False
        try:
            response = await handler(request)
            answer = answer_of(response)
            calling = answer is not None and bool(answer.tool_calls)
        finally:
            if not calling:
                await self._end(known)
        if not calling:
            return response
        sandbox_id = await self._provider.acquire(thread_id)
        self._ended.discard(sandbox_id)
        return response if sandbox_id == known else updating(response, sandbox={"sandbox_id": sandbox_id})

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> Result:
        """Run a tool with the sandbox in use."""
        thread_id = RunContext.of(request.runtime).thread_id  # type: ignore[arg-type]
        if thread_id is None:
            return await handler(request)
        sandbox_id = await self._provider.acquire(thread_id)
        self._calls[sandbox_id] += 1
        ending = True
        try:
            result = await handler(request)
            # Its result is the answer of the run, which no model sees.
            ending = request.tool is not None and request.tool.return_direct
            return result
        finally:
            self._calls[sandbox_id] -= 1
            await self._left(sandbox_id, ending=ending)

    async def _left(self, sandbox_id: str, *, ending: bool) -> None:
        """A tool call is over; one that ends the run has the last one release."""
        if not self._calls[sandbox_id]:
            del self._calls[sandbox_id]
        if ending or sandbox_id in self._ended:
            await self._end(sandbox_id)

    async def _end(self, sandbox_id: str) -> None:
        """The run ends: release now, or with the last call that is under way or begins late."""
        if not sandbox_id:
            return
        if len(self._ended) >= REMEMBERED:
            self._ended.pop()
        self._ended.add(sandbox_id)
        if sandbox_id not in self._calls and self._provider.get(sandbox_id) is not None:
            await self._provider.release(sandbox_id)
