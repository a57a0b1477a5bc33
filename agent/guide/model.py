"""The guide as a chat model, so that it streams and runs like any other."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import agenerate_from_stream, generate_from_stream
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from agent.core.model_request import is_from_person
from agent.errors import ModelUnavailable
from agent.guide.chart import begin_chart, continue_chart, count_charts, finish_chart, prepare_chart
from agent.guide.replies import ASK, CHART, SCHEDULE, GuideReply, answer_question
from agent.guide.wording import detect_language, say
from agent.shared.approval_words import is_plain_no
from agent.shared.envelope import parse_envelopes, plain_text
from agent.tools.service import PREVIEWED, REFUSED
from agent.uploads.inline_images import CAME, NEW

NO_MODEL = "The guide can't create summaries, suggestions or memory. To use them, connect a model."
_REFUSED = REFUSED.split("{reason}")
_TABLES = (".csv", ".tsv")
_FILES_NOTE = re.compile(
    r"(?:^|\n\n)(?:Files sent with this message:|New files in this conversation:)\n.*", re.S
)
_PIECES = re.compile(r"\S+\s*|\s+")


class GuideChatModel(BaseChatModel):
    """Answers by fixed rules from the documentation and by real tools; no network, no tokens.

    An agent always brings tools. Calls without any that bring more than a question are for summaries,
    suggestions or memory, and raise ModelUnavailable. `new_id` returns ids for tool calls.
    """

    model: str = "guide"
    new_id: Callable[[], str] = lambda: f"call_{uuid4().hex}"

    @property
    def _llm_type(self) -> str:
        return "roebot-guide"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Return the guide with these tools, of which it needs the names alone."""
        kwargs.pop("tool_choice", None)
        return self.bind(tools=[one.name for one in tools if isinstance(one, BaseTool)], **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        tools = _tools_of(messages, kwargs)
        yield from self._chunks(reply_to(messages, tools), tools)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        tools = _tools_of(messages, kwargs)
        reply = await asyncio.to_thread(reply_to, messages, tools)
        for chunk in self._chunks(await prepare_chart(reply, _language_of(messages)), tools):
            yield chunk

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, stop, run_manager, **kwargs))

    def _chunks(self, reply: GuideReply, tools: frozenset[str]) -> list[ChatGenerationChunk]:
        calls = [(name, dict(arguments)) for name, arguments in reply.calls]
        if reply.options and ASK in tools:
            asked = {"question": reply.question, "options": list(reply.options), "kind": "approach_choice"}
            calls.append((ASK, asked))
        chunks = [AIMessageChunk(content=piece) for piece in _PIECES.findall(reply.text)]
        made = [
            tool_call_chunk(
                name=name, args=json.dumps(arguments, ensure_ascii=False), id=self.new_id(), index=index
            )
            for index, (name, arguments) in enumerate(calls)
        ]
        end = {"finish_reason": "tool_calls" if made else "stop", "model_name": self.model}
        usage = UsageMetadata(input_tokens=0, output_tokens=0, total_tokens=0)
        last = AIMessageChunk(content="", tool_call_chunks=made, response_metadata=end, usage_metadata=usage)
        return [ChatGenerationChunk(message=one) for one in [*chunks, last]]


def _tools_of(messages: Sequence[BaseMessage], arguments: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the bound tools. Raises ModelUnavailable for a call that needs a model."""
    tools = frozenset(arguments.get("tools") or ())
    if not tools and len(messages) > 1:
        raise ModelUnavailable(NO_MODEL)
    return tools


def reply_to(messages: Sequence[BaseMessage], tools: frozenset[str]) -> GuideReply:
    """Return the reply to the end of a conversation. Blocking."""
    shown = [one for one in messages if isinstance(one, AIMessage | ToolMessage) or is_from_person(one)]
    last = max((at for at, one in enumerate(shown) if isinstance(one, AIMessage)), default=-1)
    results = [one for one in shown[last + 1 :] if isinstance(one, ToolMessage)]
    questions = [one for one in shown[last + 1 :] if isinstance(one, HumanMessage)]
    if results and not questions:
        asked = shown[last]
        assert isinstance(asked, AIMessage)
        if results[-1].name == ASK:
            return _answer_all([plain_text(results[-1].text)], shown, tools)
        # Who rejects a call may ask for something else.
        words = [one.text for result in results for one in parse_envelopes(result.text)]
        if other := [text for text in words if not is_plain_no(text)]:
            return _answer_all(other, shown, tools)
        return _continue(_language_of(shown), asked, results, shown)
    return _answer_all([_own_text(one) for one in questions], shown, tools)


def _continue(
    language: str, asked: AIMessage, results: Sequence[ToolMessage], shown: Sequence[BaseMessage]
) -> GuideReply:
    """Return the step after tools have run."""
    if results[-1].name == SCHEDULE:
        if results[-1].text == PREVIEWED:
            return GuideReply(say(language, "proposed"))
        reason = results[-1].text.removeprefix(_REFUSED[0]).removesuffix(_REFUSED[1])
        return GuideReply(f"{say(language, 'refused')}\n\n{reason}")
    question = _question_of(shown)
    reply = continue_chart(language, asked, results, earlier=count_charts(shown), question=question)
    return reply if reply.text or reply.calls else finish_chart(language, shown)


def _answer_all(questions: Sequence[str], shown: Sequence[BaseMessage], tools: frozenset[str]) -> GuideReply:
    """Return one reply to all messages since the last answer; only the last call and question count."""
    sent = [path for one in shown for path in _tables_of(one)]
    replies = []
    for question in questions or [""]:
        reply = answer_question(question, tools, has_table=bool(_tables_of(shown[-1])))
        if reply is CHART:
            language = detect_language(question)
            reply = begin_chart(language, sent, tools, question)
        replies.append(reply)
    text = "\n\n".join(filter(None, dict.fromkeys(one.text for one in replies)))
    calls = next((one.calls for one in reversed(replies) if one.calls), ())
    asking = next((one for one in reversed(replies) if one.options and not calls), GuideReply(""))
    return GuideReply(text, calls, asking.options, asking.question)


def _own_text(message: BaseMessage) -> str:
    """Return what a person wrote, without notes about files."""
    text = message.text
    return plain_text(text) if parse_envelopes(text) else _FILES_NOTE.sub("", text)


def _language_of(shown: Sequence[BaseMessage]) -> str:
    return detect_language(_question_of(shown))


def _question_of(shown: Sequence[BaseMessage]) -> str:
    """Return the last question, also one that was a button."""
    for message in reversed(shown):
        if isinstance(message, ToolMessage) and message.name == ASK:
            return plain_text(message.text)
        if isinstance(message, HumanMessage) and is_from_person(message):
            return _own_text(message)
    return ""


def _tables_of(message: AnyMessage | BaseMessage) -> list[str]:
    files = [file for key in (CAME, NEW) for file in message.additional_kwargs.get(key) or ()]
    return [str(file["path"]) for file in files if str(file.get("path", "")).lower().endswith(_TABLES)]
