"""A chat model that follows a script, streaming natively on the event loop."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
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
from pydantic import Field

from agent.testing.script import Script, fault, from_environment, markers


class ScriptedChatModel(BaseChatModel):
    """Answers by a `Script`; without one it echoes what the user wrote since the last answer.

    `environ` and `sleep` are injected so that tests stay in control; see `agent.testing.script` for
    what markers and variables mean.
    """

    script: Script = Field(default_factory=Script)
    environ: Mapping[str, str] = Field(default_factory=lambda: os.environ, exclude=True)
    sleep: Callable[[float], Awaitable[None]] = Field(default=asyncio.sleep, exclude=True)
    model_name: str = "scripted"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, Any]:
        """Accept any tools; which is called is the script's business."""
        return self.bind(**kwargs)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        script, chunks = self._prepare(messages)
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
        return _joined([chunk async for chunk in self._astream(messages, stop)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        script, chunks = self._prepare(messages)
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
        return _joined(list(self._stream(messages, stop)))

    def _prepare(self, messages: list[BaseMessage]) -> tuple[Script, list[ChatGenerationChunk]]:
        heard, fields = _heard(messages)
        script = self.script.steered({**from_environment(self.environ), **fields})
        if script.tool is not None and not isinstance(messages[-1], ToolMessage):
            return script, [_tool_call(script, len(messages))]
        tokens = script.answer(heard)
        prompt = sum(len(message.text.split()) for message in messages)
        chunks = [ChatGenerationChunk(message=AIMessageChunk(content=token)) for token in tokens]
        return script, [*chunks, _closing(prompt, len(tokens))]


def _heard(messages: list[BaseMessage]) -> tuple[str, dict[str, str]]:
    """What people wrote since the last answer, without markers, and the markers' fields (last wins)."""
    texts: list[str] = []
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            texts.insert(0, message.text)
        elif texts:
            break
    fields: dict[str, str] = {}
    plain = []
    for text in texts:
        rest, found = markers(text)
        fields.update(found)
        plain.append(rest)
    return "\n".join(plain), fields


def _fail_at(script: Script, count: int, *, last: bool = False) -> None:
    due = count == script.after or (last and count < script.after)
    if script.fail and due:
        raise fault(script.fail)


def _tool_call(script: Script, turn: int) -> ChatGenerationChunk:
    assert script.tool is not None
    call = tool_call_chunk(
        name=script.tool.name, args=json.dumps(dict(script.tool.args)), id=f"call_{turn}", index=0
    )
    return ChatGenerationChunk(
        message=AIMessageChunk(content="", tool_call_chunks=[call], chunk_position="last")
    )


def _closing(prompt: int, answer: int) -> ChatGenerationChunk:
    usage = UsageMetadata(input_tokens=prompt, output_tokens=answer, total_tokens=prompt + answer)
    return ChatGenerationChunk(
        message=AIMessageChunk(
            content="",
            usage_metadata=usage,
            response_metadata={"finish_reason": "stop", "model_name": "scripted"},
            chunk_position="last",
        )
    )


def _joined(chunks: list[ChatGenerationChunk]) -> ChatResult:
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole = whole + chunk
    return ChatResult(generations=[ChatGeneration(message=message_chunk_to_message(whole.message))])
