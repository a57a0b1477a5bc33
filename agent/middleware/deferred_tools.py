"""Deferred tools: a long tool list stays out of the prompt, and the model searches for what it needs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command
from pydantic import BaseModel, Field

from agent.config.harness import DEFERRED_TOOLS_THRESHOLD
from agent.core.interfaces import ToolCatalogue
from agent.core.model_request import Handler, Request, Response, change_request
from agent.core.state import ThreadState
from agent.core.tool_order import ORDER, Order
from agent.middleware.model_response import with_system
from agent.middleware.tool_calls import Result, ToolHandler
from agent.tools.catalogue import ListedTools

NAME = "tool_search"
FOUND = 5
LISTED = 300
LINE = 200
DESCRIPTION = """Find tools that are not in your list, and add them to it.

Describe what you want to do in a few words, or give tool names separated by commas. You can call the tools
that are found in your next answer."""
PROMPT = """You have more tools than your list shows at first. Find them with `tool_search` before you say
that you can't do something. They are: {names}."""
HIDDEN = "The tool {name} is not in your list yet. Find it with `tool_search` first, then call it."
NOTHING = "No matching tool was found. Try other words, or continue without one."


class ToolSearchArgs(BaseModel):
    """Arguments of `tool_search`."""

    query: str = Field(description="A few words for what you want to do, or tool names separated by commas.")


class DeferredToolFilterMiddleware(AgentMiddleware[Any, Any]):
    """Shows the first `threshold` tools and those in `always`; `tool_search` provides the others.

    Found tools come last in the list, and the prompt names all of the others throughout: providers cache
    requests up to the first change, and a tool that was found changes the list only once.

    Found tools are added to the thread's `promoted_tools`, so other threads are unaffected. Up to `threshold`
    tools nothing is hidden and there is no search. A call of a hidden tool is refused, since the model has
    not seen its arguments. `catalogue` defaults to a search over the agent's tools. Hooks: `wrap_model_call`
    for the list, `wrap_tool_call` for the refusal; the tool writes the state.
    """

    state_schema = ThreadState

    def __init__(
        self,
        *,
        threshold: int = DEFERRED_TOOLS_THRESHOLD,
        always: Collection[str] = (),
        catalogue: ToolCatalogue | None = None,
    ) -> None:
        """Raises ValueError for a threshold below 1."""
        super().__init__()
        if threshold < 1:
            raise ValueError(f"The threshold must be at least 1, not {threshold}.")
        self._threshold, self._always, self._catalogue = threshold, frozenset(always), catalogue
        search = StructuredTool.from_function(
            coroutine=self._search_tools,
            name=NAME,
            description=DESCRIPTION,
            args_schema=ToolSearchArgs,
            infer_schema=False,
        )
        search.metadata = {"idempotent": True, ORDER: Order.FREE}
        self.tools: list[BaseTool] = [search]

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        deferred = self._hidden_tools(request.tools, {})
        drop = deferred or {NAME}
        kept = [tool for tool in request.tools if isinstance(tool, dict) or tool.name not in drop]
        found = self._promoted_tools(request.tools, request.state, deferred)
        request = change_request(request, tools=[*kept, *found])
        if deferred:
            names = sorted(deferred)
            more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
            request = with_system(request, PROMPT.format(names=", ".join(names[:LISTED]) + more))
        return await handler(request)

    @staticmethod
    def _promoted_tools(tools: Sequence[Any], state: Any, deferred: Collection[str]) -> list[BaseTool]:
        """Return the tools added by searches, in search order."""
        known = {tool.name: tool for tool in tools if isinstance(tool, BaseTool)}
        return [known[name] for name in state.get("promoted_tools") or () if name in deferred]

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> Result:
        call = request.tool_call
        if call["name"] in self._hidden_tools(request.runtime.tools, request.state):
            text = HIDDEN.format(name=call["name"])
            return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")
        return await handler(request)

    def _hidden_tools(self, tools: Sequence[Any], state: Any) -> set[str]:
        names = [tool.name for tool in tools if isinstance(tool, BaseTool) and tool.name != NAME]
        shown = {*names[: self._threshold], *self._always, *(state.get("promoted_tools") or ())}
        return set(names) - shown

    async def _search_tools(self, query: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
        hidden = self._hidden_tools(runtime.tools, runtime.state)
        catalogue = self._catalogue or ListedTools(tool for tool in runtime.tools if tool.name in hidden)
        found = [entry for entry in catalogue.search(query, limit=FOUND) if entry.name in hidden]
        lines = [f"- {entry.name}: {' '.join(entry.description.split())[:LINE]}" for entry in found]
        text = "\n".join(["Added to your list:", *lines]) if found else NOTHING
        message = ToolMessage(text, tool_call_id=runtime.tool_call_id or "", name=NAME)
        return Command(update={"messages": [message], "promoted_tools": [entry.name for entry in found]})
