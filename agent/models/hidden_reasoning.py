"""Chat models whose answers, streamed or whole, come without the reasoning that is part of their content."""

from __future__ import annotations

from abc import ABC
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import cache
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from agent.shared.reasoning_text import AnswerText, strip_reasoning

Content = str | list[str | dict[str, Any]]
_opened: set[str] = set()
"""Models whose last answer had reasoning without a beginning: their prompts contain it."""


def strip_content(content: Content) -> Content:
    """Return a message's content without reasoning."""
    if isinstance(content, str):
        return strip_reasoning(content)
    return [_with_text(block, strip_reasoning(_get_text(block))) for block in content]


def hide_reasoning(chosen: type[BaseChatModel]) -> type[BaseChatModel]:
    """Return a subclass of a chat model's class that removes reasoning from answers."""
    return chosen if issubclass(chosen, _HidesReasoning) else _subclass(chosen)


@cache
def _subclass(chosen: type[BaseChatModel]) -> type[BaseChatModel]:
    streams = (BaseChatModel._astream, BaseChatModel._stream) != (chosen._astream, chosen._stream)
    bases = (_HidesStreamedReasoning if streams else _HidesReasoning, chosen)
    names = {"__module__": chosen.__module__, "__qualname__": chosen.__qualname__, "__doc__": chosen.__doc__}
    make: Any = type(chosen)
    made: type[BaseChatModel] = make(chosen.__name__, bases, names)
    return made


class _HidesReasoning(BaseChatModel, ABC):
    # langchain passes the run manager, and with it tags and callbacks, only to a method that names it.
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        result = await super()._agenerate(messages, stop, run_manager, **kwargs)
        for generation in result.generations:
            if isinstance(generation.message, AIMessage):
                generation.message.content = strip_content(generation.message.content)
        made = [
            ChatGeneration(message=one.message, generation_info=one.generation_info)
            for one in result.generations
        ]
        return result.model_copy(update={"generations": made})


class _HidesStreamedReasoning(_HidesReasoning, ABC):
    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        reader = _ChunkReader(repr(self.metadata))  # has the configured name
        chunks = super()._astream(messages, stop, run_manager, **kwargs)
        async with aclosing(cast(AsyncGenerator[ChatGenerationChunk, None], chunks)) as stream:
            async for chunk in stream:
                yield reader.read(chunk)
        if rest := reader.finish():
            yield rest


class _ChunkReader:
    """Reads the chunks of one answer."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._reader: AnswerText | None = AnswerText(opened=model in _opened)
        self._block: str | dict[str, Any] | None = None

    def read(self, chunk: ChatGenerationChunk) -> ChatGenerationChunk:
        """Return the chunk with the text that is certain; the last one has all that is left."""
        message = chunk.message
        content = message.content
        if self._reader is None or not isinstance(message, AIMessageChunk):
            return chunk
        is_last = _is_last(chunk)
        if isinstance(content, str):
            text = self._reader.feed(content, last=is_last) if content or is_last else ""
            changed: Content = text
        else:
            changed = [self._read_block(block) for block in content]
            if is_last and (rest := self._reader.feed("", last=True)):
                changed.append(rest if self._block is None else _with_text(self._block, rest))
        if is_last:
            self._end()
        if changed == content:
            return chunk
        message = message.model_copy(update={"content": changed})
        return ChatGenerationChunk(message=message, generation_info=chunk.generation_info)

    def finish(self) -> ChatGenerationChunk | None:
        """Return the text that is left after the last chunk."""
        if self._reader is None:
            return None
        rest = self._reader.feed("", last=True)
        self._end()
        content: Content = rest if self._block is None else [_with_text(self._block, rest)]
        return ChatGenerationChunk(message=AIMessageChunk(content=content)) if rest else None

    def _read_block(self, block: str | dict[str, Any]) -> str | dict[str, Any]:
        if self._reader is None or not _get_text(block):
            return block
        self._block = block
        return _with_text(block, self._reader.feed(_get_text(block)))

    def _end(self) -> None:
        if self._reader is not None and (self._reader.lone_end or self._reader.is_opened):
            _opened.add(self._model)
        else:
            _opened.discard(self._model)
        self._reader = None


def _is_last(chunk: ChatGenerationChunk) -> bool:
    details = {**chunk.message.response_metadata, **(chunk.generation_info or {})}
    position = getattr(chunk.message, "chunk_position", None)
    return position == "last" or any(details.get(key) for key in ("finish_reason", "stop_reason"))


def _get_text(block: str | dict[str, Any]) -> str:
    if isinstance(block, str):
        return block
    text = block.get("text")
    return text if block.get("type") == "text" and isinstance(text, str) else ""


def _with_text(block: str | dict[str, Any], text: str) -> str | dict[str, Any]:
    if isinstance(block, str):
        return text
    return {**block, "text": text} if _get_text(block) else block
