"""Chat models for providers whose chat completions API is stricter than OpenAI's.

Each class replays what its provider requires with the conversation and leaves out what it rejects. What has
to be replayed is stored in the answer's `additional_kwargs`, so it survives checkpoints, and other providers'
models ignore it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, ClassVar, Self
from uuid import uuid4
from weakref import ref

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_openai import ChatOpenAI
from openai.resources.chat.completions import AsyncCompletions

from agent.core.system_message import SHARED
from agent.core.tool_schemas import TidyTool, tidy_tool
from agent.models.chat_chunks import ChunkCompletions
from agent.models.gemini_schemas import reduce_function
from agent.models.wire_messages import (
    MARK,
    REPLAY,
    UNMARKED_TAIL,
    Wire,
    join_answers,
    list_call_ids,
    map_call_ids,
    mark_wires,
    read_text,
    tidy_messages,
)


class CompatibleChat(ChatOpenAI):
    """Sends messages with published fields only. Each subclass is for one provider."""

    use_responses_api: bool | None = False
    images: ClassVar[bool] = True
    """Whether the API has image parts at all; a model may still lack vision."""
    files: ClassVar[bool] = False
    """Whether the API has parts for files and sound."""
    omitted: ClassVar[tuple[str, ...]] = ()
    """Parameters that the provider's schema does not contain."""
    limit: ClassVar[str] = "max_completion_tokens"
    """Parameter that limits the length of an answer."""
    takes_cache_key: ClassVar[bool] = False
    """Whether `prompt_cache_key` helps the provider to find the cache of a conversation."""

    def bind_tools(self, tools: Sequence[Any], *, strict: bool | None = None, **kwargs: Any) -> Any:
        """Bind tools, each of which is converted once; see LangChain."""
        if strict is None and not kwargs.get("response_format"):
            tools = [_formats.convert(tool) for tool in tools]
        return super().bind_tools(tools, strict=strict, **kwargs)

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        sources = self._convert_input(input_).to_messages()
        payload: dict[str, Any] = super()._get_request_payload(sources, stop=stop, **kwargs)
        if tools := payload.get("tools"):
            payload["tools"] = [tidy_tool(tool) for tool in tools]
        if "messages" not in payload:
            return payload
        paired = zip(payload["messages"], sources, strict=True)
        wires = [{**wire, REPLAY: self._list_replay(source)} for wire, source in paired]
        tidy = tidy_messages(wires, images=self.images, files=self.files)
        payload["messages"] = self._adapt_messages(tidy, sources)
        if "max_completion_tokens" in payload:
            payload[self.limit] = payload.pop("max_completion_tokens")
        for name in self.omitted:
            payload.pop(name, None)
        return self._adapt_request(payload)

    def _list_replay(self, source: BaseMessage) -> Wire:
        """Return fields to add to a message in a request; only answers get them."""
        return {}

    def _adapt_messages(self, wires: list[Wire], sources: list[BaseMessage]) -> list[Wire]:
        """Return the messages with what the provider requires."""
        return wires

    def _adapt_request(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the request with what the provider requires."""
        return payload

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        # LangChain limits the wait for a chunk with wait_for, which in Python 3.11 loses a cancellation that
        # coincides with a chunk: an answer stopped by a person would continue.
        stream: Any = super(CompatibleChat, self._with_plain_chunks(kwargs))._astream(*args, **kwargs)
        async with aclosing(stream):
            async for chunk in stream:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise asyncio.CancelledError
                yield chunk

    def _with_plain_chunks(self, kwargs: Mapping[str, Any]) -> Self:
        """Return a copy whose streams yield dictionaries; the model itself for streams of another kind."""
        wanted = {**kwargs, **self.model_kwargs}
        if (
            type(self.async_client) is not AsyncCompletions
            or self.include_response_headers
            or getattr(self, "_uses_gateway", False)
            or "response_format" in wanted
            or self._use_responses_api(wanted)
        ):
            return self
        completions = ChunkCompletions(self.async_client._client, self.stream_chunk_timeout)
        return self.model_copy(update={"async_client": completions, "stream_chunk_timeout": None})

    def _convert_chunk_to_generation_chunk(
        self,
        chunk: dict[str, Any],
        default_chunk_class: type[Any],
        base_generation_info: dict[str, Any] | None,
    ) -> ChatGenerationChunk | None:
        delta = _first_choice(chunk, "delta")
        if delta is not None:
            self._normalize_delta(delta)
        self._normalize_usage(chunk)
        made = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        if made is not None and delta is not None:
            made.message.additional_kwargs.update(self._read_replay(delta))
        return made

    def _create_chat_result(self, response: Any, generation_info: dict[str, Any] | None = None) -> ChatResult:
        body = response if isinstance(response, Mapping) else response.model_dump(warnings=False)
        counted = {**body, "usage": dict(body.get("usage") or {})}
        self._normalize_usage(counted)
        changed = counted["usage"] != (body.get("usage") or {})
        result = super()._create_chat_result(counted if changed else response, generation_info)
        said = _first_choice(body, "message")
        if said is not None:
            result.generations[0].message.additional_kwargs.update(self._read_replay(said))
        return result

    def _normalize_delta(self, delta: Wire) -> None:
        """Convert a streamed chunk in place to the format that OpenAI's client expects."""

    def _normalize_usage(self, chunk: Wire) -> None:
        """Convert a chunk's token counts in place to the format that OpenAI's client expects."""

    def _read_replay(self, said: Wire) -> dict[str, Any]:
        """Return the fields of an answer or a chunk that later requests must repeat."""
        return {}


class _ToolFormats:
    """Tools in the format of a request, as long as they exist and do not change."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[ref[Any], tuple[Any, ...], TidyTool]] = {}

    def convert(self, tool: Any) -> Any:
        """Return the tool in the format of a request; other objects than tools unchanged."""
        if not isinstance(tool, BaseTool) or tool.extras:
            return tool
        key, facts = id(tool), (tool.name, tool.description, tool.args_schema)
        known = self._known.get(key)
        if known is None or known[0]() is not tool or known[1] != facts:
            found = tidy_tool(convert_to_openai_tool(tool))
            if not isinstance(found, TidyTool):
                return tool
            forget = partial(self._forget, key)
            known = self._known[key] = (ref(tool, forget), facts, found)
        return known[2]

    def _forget(self, key: int, dead: ref[Any]) -> None:
        known = self._known.get(key)
        if known is not None and known[0] is dead:
            del self._known[key]


_formats = _ToolFormats()


def _first_choice(body: Mapping[str, Any], key: str) -> Wire | None:
    choices = body.get("choices") or [{}]
    found = choices[0].get(key)
    return found if isinstance(found, dict) else None


class OpenAIChat(CompatibleChat):
    """OpenAI's own API: chat completions with tidy messages, and the responses of models that need them."""

    use_responses_api: bool | None = None
    files: ClassVar[bool] = True
    takes_cache_key: ClassVar[bool] = True


class GatewayChat(OpenAIChat):
    """OpenAI's API at another address, such as vLLM or a gateway.

    Many of these servers reject `prompt_cache_key` and with it every request: Fireworks
    (anomalyco/opencode issue 4386), NVIDIA (sipeed/picoclaw issue 1019), LiteLLM (opencode pull 3931).
    """

    takes_cache_key: ClassVar[bool] = False


SIGNATURES = "gemini_signatures"
UNSIGNED = "skip_thought_signature_validator"
"""Signature for calls that Gemini did not make (https://ai.google.dev/gemini-api/docs/thought-signatures)."""


class GeminiChat(CompatibleChat):
    """Google's OpenAI-compatible API (https://ai.google.dev/gemini-api/docs/openai).

    Gemini 3 rejects a conversation whose first call of an answer has no thought signature. Streamed calls
    arrive whole and without an index, and results need the name of their function. Calls must follow a
    question or results, not another answer. Tools have the schemas of Gemini's own API.
    """

    def _adapt_request(self, payload: dict[str, Any]) -> dict[str, Any]:
        for tool in payload.get("tools") or ():
            if function := tool.get("function"):
                tool["function"] = reduce_function(function)
        return payload

    def _adapt_messages(self, wires: list[Wire], sources: list[BaseMessage]) -> list[Wire]:
        signatures: dict[str, str] = {}
        for source in sources:
            if isinstance(source, AIMessage):
                signatures |= source.additional_kwargs.get(SIGNATURES) or {}
        names: dict[str, str] = {}
        for wire in wires:
            for place, call in enumerate(wire.get("tool_calls") or ()):
                names[call["id"]] = call["function"]["name"]
                signature = signatures.get(call["id"]) or (UNSIGNED if place == 0 else None)
                if signature:
                    call["extra_content"] = {"google": {"thought_signature": signature}}
            if wire["role"] == "tool" and (name := names.get(wire["tool_call_id"])):
                wire["name"] = name
        return join_answers(wires)

    def _normalize_delta(self, delta: Wire) -> None:
        for call in delta.get("tool_calls") or ():
            if not call.get("id") and (call.get("function") or {}).get("name"):
                call["id"] = f"call_{uuid4().hex}"
            if not isinstance(call.get("index"), int):
                call["index"] = zlib.crc32((call.get("id") or "").encode())

    def _read_replay(self, said: Wire) -> dict[str, Any]:
        found: dict[str, str] = {}
        for call in said.get("tool_calls") or ():
            google = (call.get("extra_content") or {}).get("google") or {}
            if google.get("thought_signature") and call.get("id"):
                found[call["id"]] = google["thought_signature"]
        return {SIGNATURES: found} if found else {}


REASONING = "reasoning_content"


class DeepSeekChat(CompatibleChat):
    """DeepSeek's API (https://api-docs.deepseek.com/guides/thinking_mode); it has no images.

    In a turn with tool calls every answer must come back with its reasoning, in all later requests; an empty
    one counts. Thinking mode, the default, accepts no forced tool choice.
    """

    images: ClassVar[bool] = False
    limit: ClassVar[str] = "max_tokens"

    def _list_replay(self, source: BaseMessage) -> Wire:
        return {REASONING: str(source.additional_kwargs.get(REASONING) or "")}

    def _adapt_request(self, payload: dict[str, Any]) -> dict[str, Any]:
        if payload.get("tool_choice") not in (None, "auto", "none"):
            extra = payload.get("extra_body") or {}
            payload["extra_body"] = {**extra, "thinking": {"type": "disabled"}}
        return payload

    def _normalize_usage(self, chunk: Wire) -> None:
        usage = chunk.get("usage")
        if usage and usage.get("prompt_cache_hit_tokens") and not usage.get("prompt_tokens_details"):
            usage["prompt_tokens_details"] = {"cached_tokens": usage["prompt_cache_hit_tokens"]}

    def _read_replay(self, said: Wire) -> dict[str, Any]:
        return {REASONING: said[REASONING]} if said.get(REASONING) else {}


_MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class MistralChat(CompatibleChat):
    """Mistral's API (https://docs.mistral.ai/api), which rejects every unknown field.

    Ids of tool calls have nine letters and digits. Reasoning models stream lists of blocks.
    """

    limit: ClassVar[str] = "max_tokens"
    omitted: ClassVar[tuple[str, ...]] = ("stream_options", "user", "store", "service_tier")
    takes_cache_key: ClassVar[bool] = True

    def _adapt_messages(self, wires: list[Wire], sources: list[BaseMessage]) -> list[Wire]:
        map_call_ids(wires, {one: shorten_id(one) for one in list_call_ids(wires)})
        return wires

    def _adapt_request(self, payload: dict[str, Any]) -> dict[str, Any]:
        if "seed" in payload:
            extra = payload.get("extra_body") or {}
            payload["extra_body"] = {**extra, "random_seed": payload.pop("seed")}
        return payload

    def _normalize_delta(self, delta: Wire) -> None:
        delta["content"] = read_text(delta.get("content"))


def shorten_id(call_id: str) -> str:
    """Return the id if Mistral accepts it, otherwise nine letters and digits derived from it."""
    if _MISTRAL_ID.fullmatch(call_id):
        return call_id
    number = int.from_bytes(hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest())
    letters = []
    for _ in range(9):
        number, rest = divmod(number, len(_BASE62))
        letters.append(_BASE62[rest])
    return "".join(letters)


class GroqChat(CompatibleChat):
    """Groq's API (https://console.groq.com/docs/openai), which rejects every unknown field.

    Token counts arrive in `x_groq` with the last chunk.
    """

    omitted: ClassVar[tuple[str, ...]] = ("stream_options", "logprobs", "logit_bias", "top_logprobs")

    def _normalize_usage(self, chunk: Wire) -> None:
        counted = (chunk.get("x_groq") or {}).get("usage")
        if counted and not chunk.get("usage"):
            chunk["usage"] = counted


DETAILS = "openrouter_reasoning"
_JOINED = ("text", "summary", "data")


class OpenRouterChat(CompatibleChat):
    """OpenRouter's API (https://openrouter.ai/docs/use-cases/reasoning-tokens).

    Reasoning of a turn with tool calls comes back as it was: it holds the signatures of the models behind it.
    It is streamed in fragments, which are stored as JSON texts since LangChain would join equal fields.
    Anthropic's models behind it cache what is marked, as those of Anthropic itself; the marks of parts become
    those of its API (https://openrouter.ai/docs/features/prompt-caching).
    """

    takes_cache_key: ClassVar[bool] = True
    marks_cache: ClassVar[bool] = True

    def _adapt_request(self, payload: dict[str, Any]) -> dict[str, Any]:
        mark, tail, shared = payload.pop(MARK, None), payload.pop(UNMARKED_TAIL, 0), payload.pop(SHARED, 0)
        if mark is not None and str(payload.get("model") or "").startswith("anthropic/"):
            mark_wires(payload["messages"], mark, tail=tail, shared=shared)
        return payload

    def _list_replay(self, source: BaseMessage) -> Wire:
        fragments = [json.loads(one) for one in source.additional_kwargs.get(DETAILS) or ()]
        return {"reasoning_details": join_fragments(fragments)} if fragments else {}

    def _read_replay(self, said: Wire) -> dict[str, Any]:
        details = said.get("reasoning_details")
        return {DETAILS: [json.dumps(one) for one in details]} if details else {}


def join_fragments(fragments: Sequence[Wire]) -> list[Wire]:
    """Return the blocks of reasoning whose fragments share type and index."""
    blocks: dict[tuple[object, object], Wire] = {}
    for number, fragment in enumerate(fragments):
        place = fragment.get("index")
        key = (fragment.get("type"), f"#{number}" if place is None else place)
        block = blocks.setdefault(key, {})
        for name, value in fragment.items():
            if name in _JOINED and isinstance(value, str):
                block[name] = f"{block.get(name) or ''}{value}"
            elif value is not None or name not in block:
                block[name] = value
    return list(blocks.values())


class OllamaChat(CompatibleChat):
    """Ollama's OpenAI-compatible API, which ignores unknown parameters, such as OpenAI's limit."""

    limit: ClassVar[str] = "max_tokens"
    omitted: ClassVar[tuple[str, ...]] = (
        "tool_choice",
        "parallel_tool_calls",
        "user",
        "store",
        "service_tier",
    )
