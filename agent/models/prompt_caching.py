"""Reuse of the part that a request shares with the conversation's previous request.

Anthropic's models cache the request up to a marked block
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching), also through OpenRouter
(https://openrouter.ai/docs/features/prompt-caching). OpenAI and Mistral cache by themselves, more often with
a key (https://developers.openai.com/api/docs/guides/prompt-caching,
https://docs.mistral.ai/inference/conversations/advanced/prompt-caching); Google, DeepSeek and Groq without.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import BaseTool

from agent.core.model_request import Handler, Request, Response, change_request
from agent.core.run_context import RunContext
from agent.core.system_message import SHARED, split_system
from agent.models.wire_messages import MARK, UNMARKED_TAIL

Lifetime = Literal["5m", "1h"]
KEY_DIGITS = 32
SEARCH = "tool_search"
"""Name of the tool that adds others to the list."""
_MARKABLE = frozenset({"text", "image", "image_url", "document", "file"})
_PACKAGE = "langchain_anthropic."


class PromptCachingMiddleware(AgentMiddleware[Any, Any]):
    """Marks the part that the next request will repeat, or identifies the conversation, as the provider
    requires.

    Anthropic's API takes four marks. Two are the last message and the one that was last in the previous
    request, which is found however many blocks came in between; the API itself looks back 20 blocks. One is
    the part of the system prompt that all conversations share. The fourth is the end of the system prompt,
    or, if tools can be added to the list by search, the last tool that every request has. Messages of
    middleware at the end, which are not stored, are not marked. A request with marks of somebody else is left
    as it is. Hook: `wrap_model_call`, directly around the model, since a fallback can have another provider.
    """

    def __init__(self, *, lifetime: Lifetime = "5m") -> None:
        """`lifetime` is the cache lifetime at Anthropic."""
        super().__init__()
        self._mark = {"type": "ephemeral"} | ({} if lifetime == "5m" else {"ttl": lifetime})

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        return await handler(self._prepare(request))

    def _prepare(self, request: Request) -> Request:
        model = request.model
        if is_anthropic(model):
            return request if _has_marks(request) else self._mark_request(request)
        settings: dict[str, Any] = {}
        thread = RunContext.of(request.runtime).thread_id
        if thread is not None and getattr(model, "takes_cache_key", False):
            # The thread's name can contain a person's id.
            settings["prompt_cache_key"] = hashlib.sha256(thread.encode()).hexdigest()[:KEY_DIGITS]
        if getattr(model, "marks_cache", False):
            settings |= {MARK: self._mark, UNMARKED_TAIL: count_tail(request.messages)}
            system = request.system_message
            settings |= {SHARED: 0 if system is None else len(split_system(system)[0])}
        if not settings:
            return request
        return change_request(request, model_settings={**settings, **request.model_settings})

    def _mark_request(self, request: Request) -> Request:
        places = find_marked(request.messages, count_tail(request.messages))
        messages = [
            _with_blocks(message, self._mark if at in places else None)
            for at, message in enumerate(request.messages)
        ]
        state: Mapping[str, Any] = request.state
        promoted = frozenset(state.get("promoted_tools") or ())
        tools, system = request.tools, request.system_message
        is_list_growing = any(isinstance(one, BaseTool) and one.name == SEARCH for one in tools)
        if is_list_growing or system is None:
            tools = _mark_last_tool(tools, promoted, self._mark)
        if system is not None:
            system = _mark_system(system, self._mark, ends=1 if is_list_growing else 2)
        return change_request(request, messages=messages, system_message=system, tools=tools)


def _mark_system(system: SystemMessage, mark: dict[str, str], *, ends: int) -> SystemMessage:
    """Return the prompt in blocks, with marks at the ends of its first `ends` parts."""
    parts = list(filter(str.strip, split_system(system)))
    if not parts:
        marked = _with_blocks(system, mark)
        return marked if isinstance(marked, SystemMessage) else system
    blocks: list[str | dict[Any, Any]] = [{"type": "text", "text": part} for part in parts]
    marks: list[str | dict[Any, Any]] = [{"type": "text", "text": part, MARK: mark} for part in parts]
    return system.model_copy(update={"content": [*marks[:ends], *blocks[ends:]]})


def is_anthropic(model: BaseChatModel) -> bool:
    """Return whether the model belongs to langchain_anthropic, without importing that package."""
    return any(f"{kind.__module__}.".startswith(_PACKAGE) for kind in type(model).__mro__)


def count_tail(messages: Sequence[BaseMessage]) -> int:
    """Return the number of trailing messages that middleware added only to this request."""
    return next((at for at, m in enumerate(reversed(messages)) if not _is_added(m)), len(messages))


def find_marked(messages: Sequence[BaseMessage], tail: int) -> set[int]:
    """Return the positions of the last message before the tail, and of the last one in the previous
    request.
    """
    last = len(messages) - tail - 1
    answer = next((at for at in range(last, -1, -1) if isinstance(messages[at], AIMessage)), 0)
    return {place for place in (last, answer - 1) if place >= 0}


def _is_added(message: BaseMessage) -> bool:
    source = message.additional_kwargs.get("lc_source")
    return isinstance(message, HumanMessage) and source not in (None, "summarization")


def _has_marks(request: Request) -> bool:
    found = [*request.messages, *([request.system_message] if request.system_message else [])]
    blocks = (block for message in found if isinstance(message.content, list) for block in message.content)
    settings = MARK in request.model_settings
    return settings or any(isinstance(block, dict) and MARK in block for block in blocks)


def _with_blocks(message: AnyMessage | SystemMessage, mark: dict[str, str] | None) -> AnyMessage:
    """Return the message with its content as blocks, the last of which has the mark.

    Messages without a mark get blocks too, so that a message is the same in later requests.
    """
    if not isinstance(message, HumanMessage | SystemMessage | ToolMessage):
        return message
    blocks = _to_blocks(message.content)
    if mark is not None:
        markable = [at for at, block in enumerate(blocks) if block.get("type") in _MARKABLE]
        if markable:
            blocks[markable[-1]] = {**blocks[markable[-1]], MARK: mark}
    content: Any = blocks or message.content
    return message.model_copy(update={"content": content})


def _to_blocks(content: str | list[str | dict[Any, Any]]) -> list[dict[Any, Any]]:
    parts = [content] if isinstance(content, str) else content
    blocks = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    return [block for block in blocks if block.get("type") != "text" or str(block.get("text") or "").strip()]


@dataclass(frozen=True, slots=True)
class _Place:
    at: int
    tool: BaseTool


def _mark_last_tool(
    tools: Sequence[BaseTool | dict[str, Any]], promoted: frozenset[str], mark: dict[str, str]
) -> list[BaseTool | dict[str, Any]]:
    """Return the tools with a mark on the last one that was not promoted; promoted tools come last."""
    found = [_Place(at, one) for at, one in enumerate(tools) if isinstance(one, BaseTool)]
    lasting = [place for place in found if place.tool.name not in promoted]
    if not lasting:
        return list(tools)
    last = lasting[-1]
    marked = last.tool.model_copy(update={"extras": {**(last.tool.extras or {}), MARK: mark}})
    return [*tools[: last.at], marked, *tools[last.at + 1 :]]
