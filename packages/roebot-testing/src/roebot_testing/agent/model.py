"""A chat model that follows a script, streaming natively on the event loop."""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, BaseRunManager, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    message_chunk_to_message,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langgraph.constants import TAG_NOSTREAM
from pydantic import Field, PrivateAttr

from agent.shared.envelope import without_envelopes
from roebot_testing.agent.script import Script, ToolUse, make_fault, parse_markers, read_environment


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call of the model: its messages, the system message first, and the tools it could see."""

    messages: tuple[BaseMessage, ...]
    tools: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        """Return the text of each message."""
        return [message.text for message in self.messages]


class ScriptedChatModel(BaseChatModel):
    """Answers according to a `Script`; without a script it echoes the user's messages since the last answer.

    With `steps` each call takes the next of them, and every call after the last one takes the last. `calls`
    is what it was given so far, the last `remember` times. `environ` and `sleep` are injected so that tests
    stay in control; see `roebot_testing.agent.script` for what markers and variables mean. They steer answers
    to people: calls that middleware makes for itself (tagged `nostream`) follow the script alone.
    """

    script: Script = Field(default_factory=Script)
    steps: Sequence[Script] = ()
    environ: Mapping[str, str] = Field(default_factory=lambda: os.environ, exclude=True)
    sleep: Callable[[float], Awaitable[None]] = Field(default=asyncio.sleep, exclude=True)
    model_name: str = "scripted"
    remember: int = 32
    _calls: deque[RecordedCall] = PrivateAttr(default_factory=deque)
    _count: int = PrivateAttr(default=0)

    @property
    def calls(self) -> list[RecordedCall]:
        """Return the recorded calls, the newest last."""
        return list(self._calls)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, Any]:
        """Accept any tools; the script decides which are called."""
        return self.bind(**kwargs, seen_tools=tuple(_tool_name(tool) for tool in tools))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        script, chunks = self._prepare_answer(messages, kwargs, run_manager)
        if script.delay:
            await self.sleep(script.delay)
        for count, chunk in enumerate(chunks):
            _fail_at(script, count)
            if count and script.every:
                await self.sleep(script.every)
            yield chunk
        _fail_at(script, len(chunks), last=True)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _join_chunks([chunk async for chunk in self._astream(messages, stop, run_manager, **kwargs)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        script, chunks = self._prepare_answer(messages, kwargs, run_manager)
        for count, chunk in enumerate(chunks):
            _fail_at(script, count)
            yield chunk
        _fail_at(script, len(chunks), last=True)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _join_chunks(list(self._stream(messages, stop, run_manager, **kwargs)))

    def _prepare_answer(
        self, messages: list[BaseMessage], kwargs: Mapping[str, Any], manager: BaseRunManager | None
    ) -> tuple[Script, list[ChatGenerationChunk]]:
        self._calls.append(RecordedCall(tuple(messages), kwargs.get("seen_tools", ())))
        while len(self._calls) > self.remember:
            self._calls.popleft()
        planned = self._next_script()
        heard, fields = _read_user_text(messages)
        if manager is None or TAG_NOSTREAM not in manager.tags:
            planned = planned.with_fields({**read_environment(self.environ), **fields})
        script = planned
        calls = script.calls if self.steps or not isinstance(messages[-1], ToolMessage) else ()
        tokens = [] if calls and script.reply is None else script.answer_tokens(heard)
        thoughts = script.thinking_tokens()
        prompt = sum(len(message.text.split()) for message in messages)
        usage = script.usage or (prompt, len(thoughts) + len(tokens))
        contents = _build_contents(thoughts, tokens)
        chunks = [AIMessageChunk(content=content) for content in contents]
        for index, call in enumerate(calls):
            chunks += _build_call_chunks(
                call, call.id or f"call_{len(messages)}_{index}", index, script.fragment
            )
        chunks.append(_closing_chunk(usage, "tool_calls" if calls else "stop"))
        return script, [ChatGenerationChunk(message=chunk) for chunk in chunks]

    def _next_script(self) -> Script:
        if not self.steps:
            return self.script
        step = self.steps[min(self._count, len(self.steps) - 1)]
        self._count += 1
        return step


def _read_user_text(messages: list[BaseMessage]) -> tuple[str, dict[str, str]]:
    """Return the user's text since the last answer without markers, and the markers' fields (last wins)."""
    texts: list[str] = []
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            texts.insert(0, without_envelopes(message.text))
        elif texts:
            break
    fields: dict[str, str] = {}
    plain = []
    for text in texts:
        rest, found = parse_markers(text)
        fields.update(found)
        plain.append(rest)
    return "\n".join(plain), fields


def _fail_at(script: Script, count: int, *, last: bool = False) -> None:
    due = count == script.after or (last and count < script.after)
    if script.fail and due:
        raise make_fault(script.fail)


def _build_contents(thoughts: list[str], tokens: list[str]) -> list[Any]:
    """Return the content of each chunk: plain text, or blocks if there is thinking."""
    if not thoughts:
        return list(tokens)
    thinking = [[{"type": "thinking", "thinking": thought, "index": 0}] for thought in thoughts]
    return [*thinking, *([{"type": "text", "text": token, "index": 1}] for token in tokens)]


def _build_call_chunks(call: ToolUse, call_id: str, index: int, fragment: int) -> list[AIMessageChunk]:
    """Build a tool call as providers stream it: name and id first, then the arguments in pieces."""
    args = call.args if isinstance(call.args, str) else json.dumps(dict(call.args))
    size = fragment or max(len(args), 1)
    first, *rest = [args[at : at + size] for at in range(0, len(args), size)] or [""]
    pieces = [tool_call_chunk(name=call.name, args=first, id=call_id, index=index)]
    pieces += [tool_call_chunk(name=None, args=piece, id=None, index=index) for piece in rest]
    return [AIMessageChunk(content="", tool_call_chunks=[piece]) for piece in pieces]


def _closing_chunk(usage: tuple[int, int], reason: str) -> AIMessageChunk:
    return AIMessageChunk(
        content="",
        usage_metadata=UsageMetadata(input_tokens=usage[0], output_tokens=usage[1], total_tokens=sum(usage)),
        response_metadata={"finish_reason": reason, "model_name": "scripted"},
        chunk_position="last",
    )


def _tool_name(tool: Any) -> str:
    name = getattr(tool, "name", None) or getattr(tool, "__name__", None)
    return str(name or (tool.get("name") if isinstance(tool, Mapping) else ""))


def _join_chunks(chunks: list[ChatGenerationChunk]) -> ChatResult:
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole = whole + chunk
    return ChatResult(generations=[ChatGeneration(message=message_chunk_to_message(whole.message))])
