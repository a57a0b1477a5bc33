"""Tools of the service, offered where the run's chat supports them."""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest

from agent.core.chat_facts import read_chat_facts
from agent.core.model_request import Handler, Request, Response, change_request
from agent.core.state import ThreadState
from agent.middleware.tool_calls import Result, ToolHandler
from agent.tools.service import SERVICE_TOOLS, UNAVAILABLE


class ServiceToolsMiddleware(AgentMiddleware[Any, Any]):
    """Adds the tools of the service, and shows those listed in the chat facts (`services`).

    Nobody answers a run without such facts, whatever the conversation's earlier ones told: it would wait for
    ever. Hooks: `wrap_model_call` for the list, `wrap_tool_call` refuses the others.
    """

    state_schema = ThreadState

    def __init__(self) -> None:
        super().__init__()
        self.tools: list[BaseTool] = list(SERVICE_TOOLS.values())

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        offered = _list_offered(request.runtime)
        shown = [tool for tool in request.tools if _is_usable(tool, offered)]
        return await handler(
            request if len(shown) == len(request.tools) else change_request(request, tools=shown)
        )

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> Result:
        name = request.tool_call["name"]
        if name not in SERVICE_TOOLS or name in _list_offered(request.runtime):
            return await handler(request)
        return ToolMessage(UNAVAILABLE, tool_call_id=request.tool_call["id"], name=name, status="error")


def _is_usable(tool: Any, offered: tuple[str, ...]) -> bool:
    name = tool.name if isinstance(tool, BaseTool) else ""
    return name not in SERVICE_TOOLS or name in offered


def _list_offered(runtime: Any) -> tuple[str, ...]:
    facts = read_chat_facts(runtime)
    return facts.services if facts is not None else ()
