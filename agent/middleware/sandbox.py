"""Acquisition of a run's sandbox with its tools, and its release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest

from agent.core.interfaces import CommandResult, DescribesSandboxes, Sandbox, SandboxFacts, SandboxProvider
from agent.core.model_request import AnyResponse, Handler, Request
from agent.core.run_context import RunContext
from agent.core.state import ThreadState
from agent.middleware.model_response import get_answer, with_system, with_update
from agent.middleware.thread_files import default_store
from agent.middleware.tool_calls import Result, ToolHandler
from agent.sandbox.local import LocalSandboxProvider
from agent.sandbox.prompt_section import render_sandbox_section
from agent.tools.sandbox import present_files, sandbox_tools, use_sandbox

REMEMBERED = 10_000


def describe_sandboxes(provider: object) -> SandboxFacts:
    """Return the facts about a provider's sandboxes that the model reads."""
    return provider.facts if isinstance(provider, DescribesSandboxes) else SandboxFacts()


class BorrowedSandboxes:
    """A provider that shares another one's sandboxes and never releases them."""

    def __init__(self, provider: SandboxProvider) -> None:
        self._provider = provider
        self.facts = describe_sandboxes(provider)

    async def acquire(self, thread_id: str) -> str:
        return await self._provider.acquire(thread_id)

    def get(self, sandbox_id: str) -> Sandbox | None:
        return self._provider.get(sandbox_id)

    async def release(self, sandbox_id: str) -> None:
        """Do nothing: the owner releases it."""

    async def close(self) -> None:
        """Do nothing: the owner closes it."""


class SandboxMiddleware(AgentMiddleware[Any, Any]):
    """Acquires the thread's sandbox when an answer calls tools and releases it after the last answer.

    `sandbox` in the state holds its id, stored with the answer before any of its tools runs. Each tool call
    acquires again, since a run that resumes after a question or a crash starts with one. A run that fails, is
    cancelled or stops to ask ends without a last answer: then the call that ended it releases, once no other
    call of the thread is running. The provider handles the rest (a killed process, a failure between two
    calls). A run without tool calls never has a sandbox. Hooks: `wrap_model_call` and `wrap_tool_call`;
    separate hooks would be two steps of every run, with and without tools.
    """

    state_schema = ThreadState

    def __init__(
        self,
        *,
        provider: SandboxProvider | None = None,
        tools: Sequence[BaseTool] | None = None,
        prompt: str | None = None,
    ) -> None:
        """`provider` defaults to the local one under `.roebot`, `tools` to all sandbox tools.

        `prompt` explains the sandbox to the model, if there are tools; None: the built-in explanation.
        """
        super().__init__()
        self._provider = provider or LocalSandboxProvider(default_store().folders)
        self.tools = list(sandbox_tools() if tools is None else tools)
        self._prompt = self._render_prompt() if prompt is None else prompt
        self._calls: Counter[str] = Counter()
        self._ended: set[str] = set()
        self._network = describe_sandboxes(self._provider).network

    def for_subagents(self) -> SandboxMiddleware:
        """Return a middleware for subagents that uses these sandboxes and never releases one.

        Presenting files is left to the agent that speaks with people.
        """
        tools = [tool for tool in self.tools if tool is not present_files]
        provider = BorrowedSandboxes(self._provider)
        prompt = self._render_prompt(for_subagent=True)
        return SandboxMiddleware(provider=provider, tools=tools, prompt=prompt)

    def _render_prompt(self, *, for_subagent: bool = False) -> str:
        names = [tool.name for tool in self.tools]
        provider: object = self._provider
        return render_sandbox_section(names, describe_sandboxes(provider), for_subagent=for_subagent)

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        if self.tools:
            request = with_system(request, self._prompt)
        thread_id = RunContext.of(request.runtime).thread_id
        if thread_id is None:
            return await handler(request)
        state: Mapping[str, Any] = request.state
        known = (state.get("sandbox") or {}).get("sandbox_id", "")
        # A model call means that the run continues, even if an earlier one ended it.
        self._ended.discard(known)
        calling = False
        try:
            attempt = partial(self._try, thread_id, known)
            with use_sandbox(self._provider.get(known), network=self._network, attempt=attempt):
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
        thread_id = RunContext.of(request.runtime).thread_id  # type: ignore[arg-type]
        if thread_id is None:
            with use_sandbox(None):
                return await handler(request)
        sandbox_id = await self._provider.acquire(thread_id)
        self._calls[sandbox_id] += 1
        ending = True
        try:
            with use_sandbox(self._provider.get(sandbox_id), network=self._network):
                result = await handler(request)
            # The tool's result is the run's answer, so no model call follows.
            ending = request.tool is not None and request.tool.return_direct
            return result
        finally:
            self._calls[sandbox_id] -= 1
            await self._finish_call(sandbox_id, ending=ending)

    async def _try(self, thread_id: str, known: str, command: str) -> CommandResult | None:
        """Run a command in the thread's sandbox, and release it unless the run has it. Raises
        SandboxUnavailable.
        """
        sandbox_id = await self._provider.acquire(thread_id)
        try:
            sandbox = self._provider.get(sandbox_id)
            return await sandbox.execute_command(command) if sandbox else None
        finally:
            if sandbox_id != known:
                await self._release_when_idle(sandbox_id)

    async def _finish_call(self, sandbox_id: str, *, ending: bool) -> None:
        """Count a completed tool call; the last call of a finished run releases the sandbox."""
        if not self._calls[sandbox_id]:
            del self._calls[sandbox_id]
        if ending or sandbox_id in self._ended:
            await self._release_when_idle(sandbox_id)

    async def _release_when_idle(self, sandbox_id: str) -> None:
        """Mark the run as finished and release the sandbox now, or after its last call."""
        if not sandbox_id:
            return
        if len(self._ended) >= REMEMBERED:
            self._ended.pop()
        self._ended.add(sandbox_id)
        if sandbox_id not in self._calls and self._provider.get(sandbox_id) is not None:
            await self._provider.release(sandbox_id)
