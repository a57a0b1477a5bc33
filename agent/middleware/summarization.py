"""Replaces the older part of a long conversation by a summary of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import uuid4

import structlog
from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse
from langchain.agents.middleware import SummarizationMiddleware as LangchainSummarization
from langchain.agents.middleware.internal_call_transformer import InternalCallTransformer
from langchain.agents.middleware.summarization import ContextSize, TriggerClause
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage

from agent.core.redaction import redact_line
from agent.core.run_context import RunContext
from agent.core.state import ThreadState
from agent.core.usage import TokenUsage, merge_usage, sum_usage
from agent.errors import ModelUnavailable
from agent.middleware.model_response import Handler, Request, Response, with_update
from agent.middleware.rolling_summary import SMALLEST_PIECE, RollingSummary
from agent.models.retry import ModelRetry

log = structlog.get_logger(__name__)
Trigger = ContextSize | TriggerClause | list[ContextSize | TriggerClause]
BeforeCut = Callable[[RunContext, Sequence[AnyMessage]], Awaitable[None]]
TRIGGER: ContextSize = ("tokens", 60_000)
KEEP: ContextSize = ("messages", 20)
PIECE_TOKENS = 8_000
PROMPT = """Below is a part of a conversation, with a summary of what was before it. Both will be replaced by
what you write, so write down all that is needed to go on: what the person wants and decided, facts, names,
numbers, dates and file paths exactly as they are, what was done and found out, what is still open. Keep
everything from the earlier summary that still holds. Write in the conversation's language, in short points,
and nothing but the summary.

<earlier_summary>
{summary}
</earlier_summary>

<conversation>
{messages}
</conversation>"""


class SummarizationMiddleware(AgentMiddleware[Any, Any]):
    """Summarizes the older messages when `trigger` is met, and keeps the newest as `keep` says.

    Both are langchain's, as is the choice of where to cut: tool calls stay with their results. Every message
    that goes is read by the summarizer in full, in pieces of `piece_tokens`, each with the summary so far;
    `model` writes it, or the agent's own; `attempts` tries again and falls back on other models, without it
    each piece is asked for once. The last message of a person stays even where the rest of its turn goes.
    `before_cut` gets the messages first. A summary that fails in the end is logged, and the call is made
    with everything. `fraction` needs a model whose profile says how much it takes.

    Hook: `wrap_model_call`, which knows the agent's model and costs no step; the cut is stored with the
    answer. The summary takes the place and id of the first message that goes, so that no other message is
    written again. Its tokens reach no stream.
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
        piece_tokens: int = PIECE_TOKENS,
        prompt: str = PROMPT,
        before_cut: BeforeCut | None = None,
    ) -> None:
        """Raises ValueError for pieces too small, or a prompt with a field that there is not."""
        super().__init__()
        if piece_tokens < SMALLEST_PIECE:
            raise ValueError(f"A piece has at least {SMALLEST_PIECE} tokens.")
        try:
            prompt.format(summary="", messages="")
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError(f"The summary's prompt has a field that is not known: {error}.") from error
        self._model, self._attempts = model, attempts or ModelRetry(retries=0)
        self._trigger, self._keep = trigger, keep
        self._piece_tokens, self._prompt, self._before_cut = piece_tokens, prompt, before_cut
        self._rules: tuple[BaseChatModel, _Rules] | None = None

    async def awrap_model_call(
        self, request: Request, handler: Handler
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model with a conversation that is short enough."""
        stored = {message.id: message for message in request.state["messages"]}
        cut = self._rules_for(request.model).select_messages(request.messages)
        if not cut or any(isinstance(m, ToolMessage) and m.id not in stored for m in request.messages):
            return await handler(request)
        going = [stored[message.id] for message in cut if message.id in stored]
        done = await self._summarize(request, going)
        if done is None:
            return await handler(request)
        summary, usage = done
        gone = {message.id for message in cut}
        kept = [message for message in request.messages if message.id not in gone]
        response = await handler(request.override(messages=[summary, *kept]))
        writes = [summary, *(RemoveMessage(id=m.id) for m in going if m.id and m.id != summary.id)]
        return with_update(response, messages=writes, **({"usage": usage} if usage else {}))

    async def _summarize(
        self, request: Request, going: Sequence[AnyMessage]
    ) -> tuple[HumanMessage, TokenUsage | None] | None:
        """The message that replaces what goes, and what it cost; None where it could not be made."""
        try:
            if self._before_cut is not None:
                await self._before_cut(RunContext.of(request.runtime), request.state["messages"])
            text, usage = await self._write_summary(request, going)
        except Exception as error:  # noqa: BLE001 - supervisor: the answer may come out without a summary
            log.warning("summary_failed", error=type(error).__name__, detail=redact_line(str(error)))
            return None
        if not text:
            log.warning("summary_failed", error="empty")
            return None
        [message] = LangchainSummarization._build_new_messages(text)
        message.id = going[0].id or str(uuid4())
        return message, usage

    async def _write_summary(
        self, request: Request, going: Sequence[AnyMessage]
    ) -> tuple[str, TokenUsage | None]:
        """The summary, by the first model that gets through with it, and what all tries cost."""
        folding = RollingSummary(going, prompt=self._prompt, tokens=self._piece_tokens)
        answers: list[BaseMessage] = []

        async def write(inner: Request) -> Response:
            nonlocal answers
            answers = await folding.summarize_rest(inner)
            return Response(result=answers[-1:])

        asking = request.override(model=self._model or request.model)
        response = await self._attempts.awrap_model_call(asking, write)
        costs = [sum_usage(answers), _failed_usage(response)]
        return folding.summary, merge_usage(*costs) if any(costs) else None

    def _rules_for(self, model: BaseChatModel) -> _Rules:
        """langchain's rules for a model, which depend on how it counts and how much it takes."""
        if self._rules is None or self._rules[0] is not model:
            try:
                self._rules = (model, _Rules(model, trigger=self._trigger, keep=self._keep))
            except ValueError as error:
                raise ModelUnavailable(f"Summarization can't be set up for this model: {error}") from error
        return self._rules[1]


def _failed_usage(response: Response | ExtendedModelResponse[Any]) -> Any:
    """What tries cost that failed, as `ModelAttempts` tells it."""
    command = response.command if isinstance(response, ExtendedModelResponse) else None
    return command.update.get("usage") if command and isinstance(command.update, dict) else None


class _Rules(LangchainSummarization[Any, Any]):
    """When to cut, and where."""

    def select_messages(self, messages: list[AnyMessage]) -> list[AnyMessage]:
        """The messages that go; none where there is room."""
        if not self._should_summarize(messages, self.token_counter(messages)):
            return []
        going = messages[: max(self._determine_cutoff_index(messages), 0)]
        people = [
            m for m in messages if isinstance(m, HumanMessage) and "lc_source" not in m.additional_kwargs
        ]
        return [message for message in going if not people or message is not people[-1]]
