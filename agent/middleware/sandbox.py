"""Gives a run its sandbox and the tools that work in it, and takes it back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest

from agent.core.interfaces.sandbox import Sandbox, SandboxProvider
from agent.core.run_context import RunContext
from agent.core.state import ThreadState
from agent.middleware.model_response import Handler, Request, Response, get_answer, with_system, with_update
from agent.middleware.thread_data import default_store
from agent.middleware.tool_journal import Result, ToolHandler
from agent.sandbox.local import LocalSandboxProvider
from agent.tools.budget import CHARACTERS, within_budget
from agent.tools.sandbox import PROMPT, present_files, sandbox_tools, using

REMEMBERED = 10_000


class BorrowedSandboxes:
    """A provider whose sandboxes are somebody else's to give up. See `SandboxProvider`."""

    def __init__(self, provider: SandboxProvider) -> None:
        self._provider = provider

    async def acquire(self, thread_id: str) -> str:
        """See `SandboxProvider`."""
        return await self._provider.acquire(thread_id)

    def get(self, sandbox_id: str) -> Sandbox | None:
        """See `SandboxProvider`."""
        return self._provider.get(sandbox_id)

    async def release(self, sandbox_id: str) -> None:
        """Not theirs to give up."""

    async def close(self) -> None:
        """Nor to end."""


class SandboxMiddleware(AgentMiddleware[Any, Any]):
    """Acquires the thread's sandbox when an answer calls tools, and releases it with the last answer.

    `sandbox` in the state has its id, stored with the answer, before any of its tools runs. Each tool call
    acquires again, since a run that goes on after a question or a crash starts with one. A run that fails, is
    cancelled or stops to ask ends without a last answer: then the call that ended it releases, once no other
    call of the thread is under way. What slips through (a killed process, a failure between two calls) is the
    provider's to give up. A run without tool calls never has one. Results of any tool that are longer than
    `characters` become a file in the sandbox and a synopsis. Hooks: `wrap_model_call` and `wrap_tool_call`;
    hooks of their own would be two steps of every run, with and without tools.
    """

    state_schema = ThreadState

    def __init__(
        self,
        *,
        provider: SandboxProvider | None = None,
        tools: Sequence[BaseTool] | None = None,
        characters: int = CHARACTERS,
    ) -> None:
        """`provider` is the local one below the folder `.roebot` otherwise, `tools` are all there are."""
        super().__init__()
        self._provider = provider or LocalSandboxProvider(default_store().folders)
        self.tools = list(sandbox_tools() if tools is None else tools)
        self._characters = characters
        self._calls: Counter[str] = Counter()
        self._ended: set[str] = set()

    def for_subagents(self) -> SandboxMiddleware:
        """One for subagents: they use the sandboxes of this one's runs, and never give one up.

        Files are presented by who speaks with people, so that tool is not theirs.
        """
        tools = [tool for tool in self.tools if tool is not present_files]
        return SandboxMiddleware(
            provider=BorrowedSandboxes(self._provider), tools=tools, characters=self._characters
        )

    async def awrap_model_call(
        self, request: Request, handler: Handler
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model, told where the files are; then acquire for the tools that it calls, or release."""
        if self.tools:
            request = with_system(request, PROMPT)
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
            answer = get_answer(response)
            calling = answer is not None and bool(answer.tool_calls)
        finally:
            if not calling:
                await self._release_when_idle(known)
        if not calling:
            return response
        sandbox_id = await self._provider.acquire(thread_id)
        self._ended.discard(sandbox_id)
        return response if sandbox_id == known else with_update(response, sandbox={"sandbox_id": sandbox_id})

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> Result:
        """Run a tool with the sandbox in use; a long result becomes a file."""
        thread_id = RunContext.of(request.runtime).thread_id  # type: ignore[arg-type]
        if thread_id is None:
            return await self._run_tool(request, handler, None)
        sandbox_id = await self._provider.acquire(thread_id)
        self._calls[sandbox_id] += 1
        ending = True
        try:
            result = await self._run_tool(request, handler, self._provider.get(sandbox_id))
            # Its result is the answer of the run, which no model sees.
            ending = request.tool is not None and request.tool.return_direct
            return result
        finally:
            self._calls[sandbox_id] -= 1
            await self._finish_call(sandbox_id, ending=ending)

    async def _run_tool(
        self, request: ToolCallRequest, handler: ToolHandler, sandbox: Sandbox | None
    ) -> Result:
        with using(sandbox):
            result = await handler(request)
        if not isinstance(result, ToolMessage) or not isinstance(result.content, str):
            return result
        call = request.tool_call
        name = f"{call['name']}-{call['id']}"
        text = await within_budget(result.content, name=name, sandbox=sandbox, limit=self._characters)
        return result if text is result.content else result.model_copy(update={"content": text})

    async def _finish_call(self, sandbox_id: str, *, ending: bool) -> None:
        """A tool call is over; one that ends the run has the last one release."""
        if not self._calls[sandbox_id]:
            del self._calls[sandbox_id]
        if ending or sandbox_id in self._ended:
            await self._release_when_idle(sandbox_id)

    async def _release_when_idle(self, sandbox_id: str) -> None:
        """The run ends: release now, or with the last call that is under way or begins late."""
        if not sandbox_id:
            return
        if len(self._ended) >= REMEMBERED:
            self._ended.pop()
        self._ended.add(sandbox_id)
        if sandbox_id not in self._calls and self._provider.get(sandbox_id) is not None:
            await self._provider.release(sandbox_id)
