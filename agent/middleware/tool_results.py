"""Conversion of every tool result into text that any provider accepts.

A result is part of every later request, and several providers accept only text in one; all reject a damaged
or oversized image. An image is shown once, in a message of its own, if it is within the limits of the
strictest provider, and left out if the provider still rejects it. So a thread can change to any provider.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from agent.core.model_request import Handler, Request, Response, change_request
from agent.middleware.clarification import ask_clarification
from agent.middleware.tool_calls import Result, ToolHandler
from agent.shared.approval_words import IS_REJECTED
from agent.shared.envelope import MARK, TAGS, mark_tags
from agent.tools.budget import CHARACTERS
from agent.tools.result_content import clean_text, describe_content, read_parts
from agent.tools.result_files import EMPTY, render_parts
from agent.tools.sandbox import find_sandbox

_UNMARKED = re.compile(rf"<(?=/?(?:{'|'.join(TAGS)})[\s/>])")
"""The bracket of a plain tag, which `mark_tags` would have marked; to search for all of them takes long."""


class ToolResultMiddleware(AgentMiddleware[Any, Any]):
    """Converts each tool result into text of up to about `characters`.

    Images, audio and other files in a result are stored in the sandbox, and the text names them; an image is
    also shown to a model with vision, through ViewImageMiddleware, which has to be around this middleware.
    Longer text becomes a file, and its beginning and end. Nothing in a result passes for a person's message,
    except for what `ask_clarification` returns: tags are marked, and `CallRepairMiddleware` takes the
    marks out of what the model writes back. Results in other forms, which earlier versions stored, are shown
    to the model as text: providers reject many of them, and then every request of the thread. Tags that
    earlier versions stored without a mark are shown with it, unless they are disguised. Hooks:
    `wrap_tool_call` and `wrap_model_call`; what is stored of earlier results does not change.
    """

    def __init__(self, *, characters: int = CHARACTERS) -> None:
        super().__init__()
        self._characters = characters

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        if all(_is_plain(message) for message in request.messages):
            return await handler(request)
        messages = [message if _is_plain(message) else _to_plain(message) for message in request.messages]
        return await handler(change_request(request, messages=messages))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> Result:
        result = await handler(request)
        if isinstance(result, ToolMessage):
            return await self._to_text(result, request)
        update = result.update
        if not isinstance(update, dict) or not isinstance(update.get("messages"), list):
            return result
        messages = [
            await self._to_text(message, request) if isinstance(message, ToolMessage) else message
            for message in update["messages"]
        ]
        changed: Command[Any] = replace(result, update={**update, "messages": messages})
        return changed

    async def _to_text(self, message: ToolMessage, request: ToolCallRequest) -> ToolMessage:
        if isinstance(message.content, str):
            parts: Sequence[Any] = [clean_text(message.content)]
        else:
            parts = await asyncio.to_thread(read_parts, message.content)
        text = await render_parts(
            parts,
            tool=request.tool_call["name"],
            call_id=str(request.tool_call["id"]),
            sandbox=find_sandbox(),
            limit=self._characters,
        )
        if request.tool is not ask_clarification:
            text = mark_tags(text)
        return message if text == message.content else message.model_copy(update={"content": text})


def _is_plain(message: AnyMessage) -> bool:
    if not isinstance(message, ToolMessage):
        return True
    if not isinstance(message.content, str) or not message.content.strip():
        return False
    return _holds_words(message) or not _UNMARKED.search(message.content)


def _holds_words(message: AnyMessage) -> bool:
    """Return whether a result contains a person's message: their answer, or their reason for rejecting a
    call.
    """
    is_answer = isinstance(message, ToolMessage) and message.name == ask_clarification.name
    return is_answer or bool(message.additional_kwargs.get(IS_REJECTED))


def _to_plain(message: AnyMessage) -> AnyMessage:
    text = describe_content(message.content)
    if not _holds_words(message):
        text = _UNMARKED.sub(f"<{MARK}", text)
    return message.model_copy(update={"content": text if text.strip() else EMPTY})
