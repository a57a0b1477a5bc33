"""Mapping of failed model calls to one clear error each, and exclusion of internal calls from streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog
from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse
from langchain.agents.middleware.internal_call_transformer import internal_call_metadata
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from agent.core.model_request import AnyResponse, Handler, Request, Response, change_request
from agent.core.run_context import RunContext
from agent.errors import ModelCallFailed, redact_line
from agent.models.errors import ProviderFailure, describe_error, make_failure, note_outcome
from agent.models.failure_texts import Category, cut_off_note
from agent.models.hidden_reasoning import strip_content
from agent.models.portable_messages import to_portable
from agent.models.rejected_tools import RejectedToolsState, report_rejected_tool, without_tools
from agent.models.resolve import NAME_KEY, get_model_name
from agent.shared.schemas import Failing

log = structlog.get_logger(__name__)
SIMPLIFIED_KEY = "roebot_simplified"
"""Marks, in an answer's metadata, that its model rejected the messages before it as they were."""
_REJECTED = frozenset({Category.INVALID_REQUEST, Category.NOT_FOUND})
"""OpenAI does not find the items of an answer that it no longer stores."""
_LIMIT_REASONS = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
"""Reasons of OpenAI's two APIs, Anthropic, Google and Mistral, in lower case."""


class ModelCalls(AgentMiddleware[Any, Any]):
    """Maps provider errors, rejects truncated or empty answers, and marks answers cut off at the token limit.

    A rejected conversation is sent once more with what every provider accepts, so that a thread can continue
    whose reasoning, ids or images its provider no longer accepts. The answer is marked, so that
    what was rejected is not sent again, even by another process. A tool that the provider rejects is left out
    of the conversation's later requests, so that one invalid schema does not make every answer fail.

    Raises ModelCallFailed, whose text goes to the chat. The log gets the class and a redacted text. A model
    with a configured name (see `agent.models.resolve.set_model_name`) is reported under it, others as
    `model_name`; the answer's `response_metadata` names the model under `roebot_model`. Models that fail
    for everybody are noted in `failing`, until an answer comes.
    """

    state_schema = RejectedToolsState

    def __init__(self, *, model_name: str, failing: dict[str, Failing] | None = None) -> None:
        super().__init__()
        self._model_name = model_name
        self._failing = {} if failing is None else failing

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        state: Mapping[str, Any] = request.state
        known: list[str] = state.get("rejected_tools") or []
        rejected = list(known)
        response = await self.call_model(request, handler, rejected)
        if len(rejected) == len(known):
            return response
        return ExtendedModelResponse(response, command=Command(update={"rejected_tools": rejected}))

    async def call_model(self, request: Request, handler: Handler, rejected: list[str]) -> Response:
        """Call the model, and again with simplified messages if it rejects them.

        The `rejected` tools are not sent; tools that the provider rejects now are added to them. Raises
        ModelCallFailed.
        """
        name = get_model_name(request.model) or self._model_name
        request = _simplify_known(name, request)
        try:
            return await self._call(name, request, handler, rejected)
        except ModelCallFailed as error:
            messages = to_portable(request.messages)
            if error.category not in _REJECTED or messages is None:
                raise
            log.warning("model_request_simplified", model=name, category=str(error.category))
            response = await self._call(name, change_request(request, messages=messages), handler, rejected)
        for message in response.result:
            if isinstance(message, AIMessage):
                message.response_metadata[SIMPLIFIED_KEY] = True
        return response

    async def _call(self, name: str, request: Request, handler: Handler, rejected: list[str]) -> Response:
        locale = RunContext.of(request.runtime).locale or "en"
        response = None
        while response is None:
            request = without_tools(request, rejected)
            try:
                response = await handler(request)
            except GraphBubbleUp:
                raise
            except Exception as error:  # noqa: BLE001 - supervisor: a provider's package may raise anything; it is named and raised again
                if (tool := report_rejected_tool(error, request.tools, name)) is not None:
                    rejected.append(tool)
                    continue
                found = describe_error(error, model=name, locale=locale)
                note_outcome(self._failing, name, found.category)
                _log_failure(found, error, name)
                raise found.to_error() from None
        note_outcome(self._failing, name, None)
        for message in response.result:
            if isinstance(message, AIMessage):
                message.content = strip_content(message.content)
            if problem := find_answer_problem(message):
                found = make_failure(problem, model=name, locale=locale)
                _log_failure(found, None, name)
                raise found.to_error()
            if isinstance(message, AIMessage):
                message.response_metadata[NAME_KEY] = name
                _mark_cut_off(message, cut_off_note(locale))
        return response


def _simplify_known(name: str, request: Request) -> Request:
    """Simplify calls that this model has rejected before; later answers keep what their provider requires."""
    marked = [at for at, one in enumerate(request.messages) if _is_marked(one, name)]
    messages = to_portable(request.messages, marked[-1]) if marked else None
    return request if messages is None else change_request(request, messages=messages)


def _is_marked(message: BaseMessage, name: str) -> bool:
    metadata = message.response_metadata
    return bool(metadata.get(SIMPLIFIED_KEY)) and metadata.get(NAME_KEY) == name


def _log_failure(found: ProviderFailure, error: BaseException | None, name: str) -> None:
    if isinstance(error, ModelCallFailed):
        return
    log.warning(
        "model_call_failed",
        model=name,
        category=str(found.category),
        error=type(error).__name__ if error else None,
        detail=redact_line(str(error)) if error else None,
    )


def find_answer_problem(message: BaseMessage) -> Category | None:
    """Return the problem with an answer that arrived without an error, if any.

    Providers' clients end a truncated stream like a complete one; only the finish reason is missing.
    """
    if not isinstance(message, AIMessage):
        return None
    metadata = message.response_metadata
    reason = _finish_reason(message)
    if reason == "content_filter" and not message.text:
        return Category.CONTENT_FILTER
    if metadata.get("model_provider") in {"openai", "anthropic"} and not reason:
        return Category.TRUNCATED
    if not message.text.strip() and not message.tool_calls and not message.invalid_tool_calls:
        return Category.LENGTH if reached_limit(message) else Category.EMPTY
    return None


def reached_limit(message: AIMessage) -> bool:
    """Return whether the answer stopped at the token limit."""
    details = message.response_metadata.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else _finish_reason(message)
    return str(reason).lower() in _LIMIT_REASONS


def _finish_reason(message: AIMessage) -> Any:
    metadata = message.response_metadata
    return metadata.get("finish_reason") or metadata.get("stop_reason") or metadata.get("status")


def _mark_cut_off(message: AIMessage, note: str) -> None:
    """Append the note for the person and the model; calls that were cut are handled with their arguments."""
    if message.tool_calls or message.invalid_tool_calls or not reached_limit(message):
        return
    if isinstance(message.content, str):
        message.content = f"{message.content}\n\n{note}"
    else:
        message.content = [*message.content, {"type": "text", "text": f"\n\n{note}"}]


def internal_config(source: str) -> RunnableConfig:
    """Return the config of a model call whose tokens reach no stream; `source` names the caller in traces."""
    return {"tags": [TAG_NOSTREAM], "metadata": {"lc_source": source, **internal_call_metadata()}}
