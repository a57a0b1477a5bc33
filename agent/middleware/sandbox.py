"""Gives a run its sandbox, and takes it back."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime

from agent.context import RunContext
from agent.middleware.answers import Handler, Request, Response
from agent.middleware.thread_data import default_store
from agent.middleware.tool_journal import Result, ToolHandler
from agent.ports.sandbox import Sandbox, SandboxProvider
from agent.sandbox.local import LocalSandboxProvider
from agent.state import ThreadState

REMEMBERED = 10_000


class Borrowed:
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


class SandboxMiddleware(AgentMiddleware[Any, Any]):
    """Acquires the thread's sandbox before a run and releases it after; `sandbox` in the state has its id.

    A run that fails, is cancelled or stops to ask ends without `after_agent`: then the model or tool call
    that ended it releases, once no other call of the thread is under way. A run that goes on after an answer
    starts without `before_agent`: its next call acquires again, under the same id. What slips through (a
    killed process, a failure between two calls) is the provider's to give up. Hooks: `before_agent` and
    `after_agent`, since tools find their sandbox by the state; `wrap_model_call` and `wrap_tool_call` for
    runs that end or begin without them.
    """

    state_schema = ThreadState

    def __init__(self, *, provider: SandboxProvider | None = None) -> None:
        """`provider` is the local one below the folder `.roebot` otherwise."""
        super().__init__()
        self._provider = provider or LocalSandboxProvider(default_store().folders)
        self._calls: Counter[str] = Counter()
        self._ended: set[str] = set()

    def shared(self) -> SandboxMiddleware:
        """One for subagents: they use the sandboxes of this one's runs, and never give one up."""
        return SandboxMiddleware(provider=Borrowed(self._provider))

    async def abefore_agent(self, state: ThreadState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Acquire."""
        thread_id = RunContext.of(runtime).thread_id
        if thread_id is None:
            return None
        reference = {"sandbox_id": await self._provider.acquire(thread_id)}
        return None if state.get("sandbox") == reference else {"sandbox": reference}

    async def aafter_agent(self, state: ThreadState, runtime: Runtime[Any]) -> None:
        """Release."""
        if reference := state.get("sandbox"):
            await self._provider.release(reference["sandbox_id"])

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        """Call the model with the sandbox in use."""
        # A model is asked: whatever ended a run before, this one goes on.
        state: Mapping[str, Any] = request.state
        self._ended.discard((state.get("sandbox") or {}).get("sandbox_id", ""))
        async with self._used(RunContext.of(request.runtime).thread_id):
            return await handler(request)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> Result:
        """Run a tool with the sandbox in use."""
        async with self._used(RunContext.of(request.runtime).thread_id):  # type: ignore[arg-type]
            return await handler(request)

    @asynccontextmanager
    async def _used(self, thread_id: str | None) -> AsyncIterator[None]:
        """Hold the sandbox for one call; a call that ends the run gives it up with the last one."""
        if thread_id is None:
            yield
            return
        sandbox_id = await self._provider.acquire(thread_id)
        self._calls[sandbox_id] += 1
        try:
            yield
        except BaseException:
            if len(self._ended) >= REMEMBERED:
                self._ended.pop()
            self._ended.add(sandbox_id)
            raise
        finally:
            self._calls[sandbox_id] -= 1
            if not self._calls[sandbox_id]:
                del self._calls[sandbox_id]
                if sandbox_id in self._ended:
                    await self._provider.release(sandbox_id)
