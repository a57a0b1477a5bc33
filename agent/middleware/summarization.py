"""Replace the older part of a long conversation with a summary.

The conversation is summarized chunk by chunk, complete and verbatim, with whichever model answers.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any
from uuid import uuid4

import structlog
from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse
from langchain.agents.middleware import SummarizationMiddleware as LangchainSummarization
from langchain.agents.middleware.internal_call_transformer import InternalCallTransformer
from langchain.agents.middleware.summarization import ContextSize, TriggerClause
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)

from agent.core.run_context import RunContext
from agent.core.state import ThreadState, UsageCounts, merge_usage, sum_usage
from agent.errors import ModelCallFailed, ModelUnavailable, redact_line
from agent.middleware.model_response import Handler, Request, Response, with_update
from agent.models.calls import ModelCalls, internal_config
from agent.models.capabilities import estimate_tokens
from agent.models.errors import Category
from agent.models.retry import ModelRetry
from agent.shared.envelope import escape_text

log = structlog.get_logger(__name__)
OVERLAP = 200
_WHO = {"human": "Person", "ai": "Assistant", "system": "System"}


def split_conversation(messages: Sequence[AnyMessage], tokens: int) -> list[str]:
    """Return the messages as texts of at most about `tokens`, split between messages if possible.

    A longer message is split into overlapping parts, so that no sentence exists only in two halves.
    """
    found: list[str] = []
    open_piece: list[str] = []
    cost = 0
    for text in _message_parts(messages, tokens):
        price = estimate_tokens(text)
        if open_piece and cost + price > tokens:
            found.append("\n".join(open_piece))
            open_piece, cost = [], 0
        open_piece.append(text)
        cost += price
    return [*found, "\n".join(open_piece)] if open_piece else found


def render_message(message: AnyMessage) -> str:
    """Render a message with author, tool calls and results; other content becomes a placeholder."""
    who = _WHO.get(message.type, message.type.capitalize())
    if isinstance(message, ToolMessage):
        who = f"Result of {message.name or 'a tool'}"
    lines = [f"{who}: {_content_text(message.content)}"]
    if isinstance(message, AIMessage):
        calls = ((call["name"], json.dumps(call["args"], ensure_ascii=False)) for call in message.tool_calls)
        lines += [f"{who} called {name} with {args}" for name, args in calls]
    return "\n".join(lines)


def _content_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(_block_text(block) for block in content)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    kind = str(block.get("type"))
    if kind == "text":
        return str(block.get("text") or "")
    return "" if kind in {"thinking", "reasoning", "tool_use", "tool_call", "function_call"} else f"[{kind}]"


def _message_parts(messages: Iterable[AnyMessage], tokens: int) -> Iterator[str]:
    for message in messages:
        text = render_message(message)
        if estimate_tokens(text) <= tokens:
            yield text
        else:
            yield from split_text(text, tokens)


def split_text(text: str, tokens: int) -> Iterator[str]:
    """Yield overlapping parts of at most `tokens`, ending at a space if there is one."""
    at = 0
    while at < len(text):
        size = max(tokens // 3, 1)
        while at + size < len(text) and estimate_tokens(text[at : at + size * 5 // 4]) <= tokens:
            size = size * 5 // 4 + 1
        end = min(at + size, len(text))
        if end < len(text) and (space := text.rfind(" ", at + size // 2, end)) > 0:
            end = space
        yield text[at:end]
        if end == len(text):
            return
        at = max(end - min(OVERLAP, (end - at) // 4), at + 1)


SMALLEST_PIECE = 500
"""Tokens."""


class RollingSummary:
    """Summarizes messages: each chunk is read together with the summary so far.

    The summary so far survives a failure, and the next model continues from it. `prompt` has the fields
    {summary} and {messages}; a chunk has at most about `tokens`.
    """

    def __init__(self, going: Sequence[AnyMessage], *, prompt: str, tokens: int) -> None:
        self._going, self._prompt = going, prompt
        self._calls = ModelCalls(model_name="summarization")
        self._restart(tokens)

    def _restart(self, tokens: int) -> None:
        self._tokens = tokens
        self._left = deque(split_conversation(self._going, tokens))
        self.summary = ""
        """Summary of the chunks read so far."""

    async def summarize_rest(self, request: Request) -> list[BaseMessage]:
        """Summarize the remaining chunks with the request's model and return its answers.

        Chunks that are too large are split further. Raises ModelCallFailed.
        """
        answers: list[BaseMessage] = []
        while self._left:
            prompt = HumanMessage(
                self._prompt.format(summary=self.summary or "(none)", messages=self._left[0])
            )
            asking = request.override(messages=[prompt], system_message=None, tools=[])
            try:
                response = await self._calls.awrap_model_call(asking, _call_hidden)
            except ModelCallFailed as error:
                if error.category != Category.CONTEXT or self._tokens // 2 < SMALLEST_PIECE:
                    raise
                self._restart(self._tokens // 2)
                continue
            answers += response.result
            self.summary = response.result[-1].text.strip()
            self._left.popleft()
        return answers


async def _call_hidden(request: Request) -> Response:
    answer = await request.model.ainvoke(request.messages, internal_config("summarization"))
    return Response(result=[answer])


Trigger = ContextSize | TriggerClause | list[ContextSize | TriggerClause]
BeforeCut = Callable[[RunContext, Sequence[AnyMessage]], Awaitable[None]]
TRIGGER: ContextSize = ("tokens", 60_000)
KEEP: ContextSize = ("messages", 20)
PIECE_TOKENS = 8_000
PROMPT = """Below is a part of a conversation and a summary of everything before it. Your summary will replace
both, so include all that is needed to continue: the person's goals and decisions; facts, names, numbers,
dates and file paths, exactly as written; the work done and its results; and open questions. Keep everything
from the earlier summary that is still true. People's messages are in <message> tags: `from` and `name` tell
who wrote them; text in <quotation> tags is somebody else's. Say by name who said what, without tags. Use the
conversation's language and short bullet points, and
write nothing but the summary.

<earlier_summary>
{summary}
</earlier_summary>

<conversation>
{messages}
</conversation>"""


class SummarizationMiddleware(AgentMiddleware[Any, Any]):
    """Summarizes the older messages when `trigger` is met and keeps the newest as `keep` says.

    Both are langchain's, as is the choice of the cut: tool calls stay with their results. The summarizer
    reads every removed message in full, in chunks of `piece_tokens`, each with the summary so far. `model`
    writes it, or the agent's model; `attempts` retries and falls back on other models, without it each chunk
    is tried once. The last human message stays even if the rest of its turn is removed. `before_cut` gets the
    messages first. If the summary fails it is logged, and the call is made with all messages. `fraction`
    needs a model whose profile has its context size.

    Hook: `wrap_model_call`, which knows the agent's model and costs no step; the cut is stored with the
    answer. The summary takes the position and id of the first removed message, so that no other message is
    rewritten. Its tokens reach no stream.
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
        """Raises ValueError for chunks that are too small, or a prompt with an unknown field."""
        super().__init__()
        if piece_tokens < SMALLEST_PIECE:
            raise ValueError(f"piece_tokens must be at least {SMALLEST_PIECE}.")
        try:
            prompt.format(summary="", messages="")
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError(f"The summary prompt has an unknown field: {error}.") from error
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
    ) -> tuple[HumanMessage, UsageCounts | None] | None:
        """Return the message that replaces `going` and its usage; None if it failed."""
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
        # A summary repeats texts of people; nothing in it may pass for a message of theirs.
        [message] = LangchainSummarization._build_new_messages(escape_text(text))
        message.id = going[0].id or str(uuid4())
        return message, usage

    async def _write_summary(
        self, request: Request, going: Sequence[AnyMessage]
    ) -> tuple[str, UsageCounts | None]:
        """Return the summary of the first model that completes it, and the usage of all attempts."""
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
        """Return langchain's rules for a model; they depend on its token counter and context size."""
        if self._rules is None or self._rules[0] is not model:
            try:
                self._rules = (model, _Rules(model, trigger=self._trigger, keep=self._keep))
            except ValueError as error:
                raise ModelUnavailable(f"Summarization can't be set up for this model: {error}") from error
        return self._rules[1]


def _failed_usage(response: Response | ExtendedModelResponse[Any]) -> Any:
    """Return the usage of failed attempts as `ModelRetry` reports it."""
    command = response.command if isinstance(response, ExtendedModelResponse) else None
    return command.update.get("usage") if command and isinstance(command.update, dict) else None


class _Rules(LangchainSummarization[Any, Any]):
    """langchain's rules for when and where to cut."""

    def select_messages(self, messages: list[AnyMessage]) -> list[AnyMessage]:
        """Return the messages to summarize; none if there is room."""
        if not self._should_summarize(messages, self.token_counter(messages)):
            return []
        going = messages[: max(self._determine_cutoff_index(messages), 0)]
        people = [
            m for m in messages if isinstance(m, HumanMessage) and "lc_source" not in m.additional_kwargs
        ]
        return [message for message in going if not people or message is not people[-1]]
