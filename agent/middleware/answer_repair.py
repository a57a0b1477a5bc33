"""Repair a model's answer before anything reads it: calls written as text, ids, broken characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import structlog
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.messages.tool import tool_call
from langchain_core.tools import BaseTool

from agent.core.valid_text import clean_strings, is_valid_text
from agent.core.written_calls import read_written_calls
from agent.middleware.call_ids import with_ids, with_unique_ids
from agent.middleware.model_response import Handler, Request, Response, get_answer, with_answer

log = structlog.get_logger(__name__)


class AnswerRepairMiddleware(AgentMiddleware[Any, Any]):
    """Repairs answers and, for each call, the messages of the thread.

    - Calls that the model wrote as text become calls (`agent.core.written_calls`).
    - Each call gets an id of its own (`agent.middleware.call_ids`).
    - Lone surrogates are replaced (`agent.core.valid_text`), also in results of tools.

    Hook: `wrap_model_call`, close to the model, since all other middleware works with the calls and their
    ids. Stored messages stay as they are; those of older threads are repaired for each call.
    """

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        """Call the model with valid messages and return a valid answer."""
        response = await handler(request.override(messages=repair_messages(request.messages)))
        answer = get_answer(response)
        if answer is None:
            return response
        names = {name_of_tool(tool) for tool in request.tools}
        repaired = with_ids(read_calls(_with_valid_texts(answer), names))
        return response if repaired is answer else with_answer(response, repaired)


def repair_messages(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages with unique ids of calls and with valid texts."""
    return [_with_valid_texts(message) for message in with_unique_ids(messages)]


def read_calls(answer: AIMessage, known: set[str]) -> AIMessage:
    """Return the answer with the calls that it wrote as text; the same one if there are none."""
    if answer.tool_calls or answer.invalid_tool_calls or not known:
        return answer
    found = read_written_calls(answer.text, known)
    if found is None:
        return answer
    log.info("tool_calls_read_from_text", tools=sorted({name for name, _ in found.calls}))
    calls = [tool_call(name=name, args=args, id=f"call_{uuid4().hex[:24]}") for name, args in found.calls]
    return answer.model_copy(update={"content": found.text, "tool_calls": calls})


def name_of_tool(tool: BaseTool | Mapping[str, Any]) -> str:
    """Return the name of a tool, also of one that a provider runs, which is described as a mapping."""
    if isinstance(tool, BaseTool):
        return tool.name
    function = tool.get("function")
    return str(function.get("name") if isinstance(function, Mapping) else tool.get("name", ""))


def _with_valid_texts(message: Any) -> Any:
    """Return the message with valid texts, the same one if they are."""
    names = ("content", "tool_calls", "invalid_tool_calls", "additional_kwargs")
    parts = {name: value for name in names if (value := getattr(message, name, None))}
    return message if is_valid_text(parts) else message.model_copy(update=clean_strings(parts))
