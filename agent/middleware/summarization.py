"""Replacement of the older part of a long conversation by a summary."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog
from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse
from langchain.agents.middleware.internal_call_transformer import InternalCallTransformer
from langchain.agents.middleware.summarization import ContextSize
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)

from agent.config.harness import CONTAINER_PATH
from agent.core.model_request import AnyResponse, Handler, Request, Response, change_request
from agent.core.run_context import RunContext
from agent.core.state import ThreadState, UsageCounts, merge_usage, sum_usage
from agent.errors import ModelCallFailed, redact_line
from agent.middleware.model_response import with_update
from agent.middleware.rolling_summary import SMALLEST_PIECE, RollingSummary, choose_sizes
from agent.middleware.summary_cut import CutRules, Trigger
from agent.middleware.summary_message import (
    StoredTranscripts,
    find_request,
    find_transcripts,
    make_summary,
)
from agent.middleware.transcripts import Transcripts
from agent.models.context_window import find_context_window
from agent.models.errors import make_failure
from agent.models.failure_texts import Category
from agent.models.retry import ModelRetry
from agent.shared.envelope import escape_text

log = structlog.get_logger(__name__)
BeforeCut = Callable[[RunContext, Sequence[AnyMessage]], Awaitable[None]]
TRIGGER: ContextSize = ("tokens", 60_000)
KEEP: ContextSize = ("messages", 20)
PROMPT = """Below is a part of a conversation and a summary of everything before it. Your summary will replace
both, so include all that is needed to continue: the person's goals and decisions; what they wish for the
answers and what they forbade; facts, names, numbers, dates and file paths, exactly as written; the work done
and its results; and open questions. Keep everything from the earlier summary that is still true. People's
messages are in <message> tags: `from` and `name` tell who wrote them; text in <quotation> tags is somebody
else's. Say by name who said what, without tags. Use the conversation's language, short bullet points and at
most {words} words, and write nothing but the summary.

<earlier_summary>
{summary}
</earlier_summary>

<conversation>
{messages}
</conversation>"""


REQUEST = """

The conversation contains the first steps of the work on the following request. It stays in view, so it needs
no summary:
{request}"""
FOCUS = """

The person requested this summary and wants it to keep above all: {focus}"""


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A summary message, and the tokens used for writing it."""

    message: HumanMessage
    usage: UsageCounts | None


class SummarizationMiddleware(AgentMiddleware[Any, Any]):
    """Summarizes older messages when `trigger` is met, keeping the newest according to `keep`.

    Both have langchain's forms; a `fraction` is of the model's context window. Tool calls stay with their
    results, and the request stays even if the beginning of its turn is removed. If the provider says
    that the conversation is too long, it is summarized too, and the call is made once more. The summarizer
    reads every removed message in full, in chunks of `piece_tokens` (None: by the size of the window), each
    with the summary so far. `model` writes it, or the agent's model; `attempts` retries and falls back on
    other models, without it each chunk is tried once. `before_cut` gets the messages first, and `transcripts`
    keeps the removed ones. If the summary fails it is logged, and the call is made with all messages.

    Hook: `wrap_model_call`, which knows the agent's model and costs no step; the cut is stored with the
    answer. The summary takes the position and id of a removed message (`choose_place`), so that no other
    message is rewritten: until the next cut the conversation only grows, and providers' caches stay valid.
    Its tokens reach no stream.
    """

    state_schema = ThreadState
    transformers = (InternalCallTransformer,)

    def __init__(
        self,
        *,
        model: BaseChatModel | None = None,
        attempts: ModelRetry | None = None,
        trigger: Trigger = TRIGGER,
        keep: ContextSize = KEEP,
        piece_tokens: int | None = None,
        prompt: str = PROMPT,
        before_cut: BeforeCut | None = None,
        transcripts: Transcripts | None = None,
        skills_root: str = CONTAINER_PATH,
    ) -> None:
        """Raises ValueError for chunks that are too small, or a prompt with an unknown field."""
        super().__init__()
        if piece_tokens is not None and piece_tokens < SMALLEST_PIECE:
            raise ValueError(f"piece_tokens must be at least {SMALLEST_PIECE}.")
        try:
            prompt.format(summary="", messages="", words=1)
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError(f"The summary prompt has an unknown field: {error}.") from error
        self._model, self._attempts = model, attempts or ModelRetry(retries=0)
        self._trigger, self._keep = trigger, keep
        self._piece_tokens, self._prompt, self._before_cut = piece_tokens, prompt, before_cut
        self._transcripts, self._skills_root = transcripts, skills_root

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        cut = self.rules_for(request.model).select_due(request.messages)
        if cut:
            return await self._call_after_cut(request, handler, cut) or await handler(request)
        try:
            return await handler(request)
        except ModelCallFailed as error:
            cut = self.rules_for(request.model).select_most(request.messages)
            if error.category != Category.CONTEXT or not cut:
                raise
            log.warning("context_exceeded", messages=len(request.messages))
            response = await self._call_after_cut(request, handler, cut)
            if response is None:
                raise
            return response

    def rules_for(self, model: BaseChatModel) -> CutRules:
        """Return the rules for the agent's model."""
        return CutRules.of(self._trigger, self._keep, find_context_window(model))

    async def _call_after_cut(
        self, request: Request, handler: Handler, cut: Sequence[AnyMessage]
    ) -> ExtendedModelResponse[Any] | None:
        """Call the model with a summary in place of `cut`; None if there is none."""
        stored = {message.id: message for message in request.state["messages"]}
        cut = _without_open_calls(request.messages, cut, stored)
        going = [stored[message.id] for message in cut if message.id in stored]
        if not going:
            return None
        try:
            written = await self.write_summary(request, going)
        except Exception as error:  # noqa: BLE001 - supervisor: the answer may come out without a summary
            log.warning("summary_failed", error=type(error).__name__, detail=redact_line(str(error)))
            return None
        shorter = _replace_messages(request.messages, cut, written.message)
        response = await handler(change_request(request, messages=shorter))
        usage = {"usage": written.usage} if written.usage else {}
        return with_update(response, messages=replacing_writes(written.message, going), **usage)

    async def write_summary(
        self, request: Request, going: Sequence[AnyMessage], *, focus: str = ""
    ) -> WrittenSummary:
        """Return the message that replaces `going`. `focus` is the subject to preserve in detail.

        Raises ModelCallFailed.
        """
        if self._before_cut is not None:
            await self._before_cut(RunContext.of(request.runtime), going)
        text, usage = await self._write_text(request, going, focus)
        if not text:
            raise make_failure(Category.EMPTY, model="summarization").to_error()
        transcripts = await self._store_transcript(request, going)
        summary = make_summary(text, request.state, going, transcripts, skills_root=self._skills_root)
        return WrittenSummary(summary, usage)

    async def _store_transcript(
        self, request: Request, going: Sequence[AnyMessage]
    ) -> StoredTranscripts | None:
        """Return the thread's transcripts including one of `going`; None if the agent can't read them."""
        if self._transcripts is None:
            return None
        known = find_transcripts(request.state["messages"])
        if await self._transcripts.store(request, going, known.count + 1):
            return replace(known, count=known.count + 1)
        return replace(known, lacks_newest=True)

    async def _write_text(
        self, request: Request, going: Sequence[AnyMessage], focus: str
    ) -> tuple[str, UsageCounts | None]:
        """Return the summary by the first model that completes it, and the usage of all attempts."""
        asking = change_request(request, model=self._model or request.model)
        window = min(find_context_window(one) for one in (request.model, asking.model))
        asked = find_request(request.state["messages"], going)
        wanted = REQUEST.format(request=asked) if asked else ""
        wanted += FOCUS.format(focus=escape_text(focus)) if focus else ""
        piece, words = choose_sizes(window)
        prompt = self._prompt + wanted.replace("{", "{{").replace("}", "}}")
        folding = RollingSummary(going, prompt=prompt, tokens=self._piece_tokens or piece, words=words)
        answers: list[BaseMessage] = []

        async def write(inner: Request) -> Response:
            nonlocal answers
            answers = await folding.summarize_rest(inner)
            return Response(result=answers[-1:])

        response = await self._attempts.awrap_model_call(asking, write)
        costs = [sum_usage(answers), _failed_usage(response)]
        return folding.summary, merge_usage(*costs) if any(costs) else None


def _without_open_calls(
    messages: Sequence[AnyMessage], cut: Sequence[AnyMessage], stored: Collection[str | None]
) -> Sequence[AnyMessage]:
    """Return the part of the cut before the newest answer if results of its calls are not stored yet.

    They are stored with the next answer, after which they must not lack their call.
    """
    newest = max((at for at, one in enumerate(messages) if isinstance(one, AIMessage)), default=0)
    if not any(isinstance(one, ToolMessage) and one.id not in stored for one in messages[newest:]):
        return cut
    later = {id(one) for one in messages[newest:]}
    return [one for one in cut if id(one) not in later]


def replacing_writes(
    summary: HumanMessage, going: Sequence[AnyMessage]
) -> list[HumanMessage | RemoveMessage]:
    return [summary, *(RemoveMessage(id=one.id) for one in going if one.id and one.id != summary.id)]


def _replace_messages(
    messages: Sequence[AnyMessage], cut: Sequence[AnyMessage], summary: HumanMessage
) -> list[AnyMessage]:
    """Return the messages with the summary at its position in the stored thread.

    With another order, the next request would begin with other messages than this one.
    """
    # A message without an id, which an extra may have added, is not stored and stays.
    gone = {message.id for message in cut if message.id} - {summary.id}
    return [summary if one.id == summary.id else one for one in messages if one.id not in gone]


def _failed_usage(response: AnyResponse) -> Any:
    """Return the usage of failed attempts as reported by `ModelRetry`."""
    command = response.command if isinstance(response, ExtendedModelResponse) else None
    return command.update.get("usage") if command and isinstance(command.update, dict) else None
