"""Replace the older part of a long conversation with a summary.

The conversation is summarized chunk by chunk, complete and verbatim, with whichever model answers.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

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

from agent.core.run_context import RunContext
from agent.core.state import ThreadState, UsageCounts, merge_usage, sum_usage
from agent.errors import ModelCallFailed, redact_line
from agent.middleware.model_response import Handler, Request, Response, with_update
from agent.middleware.summary_cut import (
    SOURCE,
    SUMMARY,
    WRITTEN_AFTER,
    CutRules,
    Trigger,
    is_summary,
)
from agent.models.calls import ModelCalls, internal_config
from agent.models.capabilities import estimate_tokens
from agent.models.context_window import find_context_window
from agent.models.errors import make_failure
from agent.models.failure_texts import Category
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
LARGEST_PIECE = 60_000
"""Tokens; of a longer text a model overlooks too much."""
FEWEST_WORDS, MOST_WORDS, TOKENS_PER_WORD = 150, 1_500, 40
"""Bounds for the length of a summary, and the tokens of the window for each of its words."""


class RollingSummary:
    """Summarizes messages: each chunk is read together with the summary so far.

    It begins with the earlier summary among the messages, if there is one. The summary so far survives a
    failure, and the next model continues from it. `prompt` has the fields {summary}, {messages} and {words};
    a chunk has at most about `tokens`.
    """

    def __init__(self, going: Sequence[AnyMessage], *, prompt: str, tokens: int, words: int) -> None:
        self._earlier = "\n".join(summary_text(one) for one in going if is_summary(one))
        self._going = [one for one in going if not is_summary(one)]
        self._prompt, self._words = prompt, words
        self._calls = ModelCalls(model_name="summarization")
        self._restart(tokens)

    def _restart(self, tokens: int) -> None:
        self._tokens = tokens
        self._left = deque(split_conversation(self._going, tokens))
        self.summary = self._earlier
        """Summary of the chunks read so far."""

    async def summarize_rest(self, request: Request) -> list[BaseMessage]:
        """Summarize the remaining chunks with the request's model and return its answers.

        Chunks that are too large are split further. Raises ModelCallFailed.
        """
        answers: list[BaseMessage] = []
        while self._left:
            parts = {"summary": self.summary or "(none)", "messages": self._left[0], "words": self._words}
            prompt = HumanMessage(self._prompt.format(**parts))
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


BeforeCut = Callable[[RunContext, Sequence[AnyMessage]], Awaitable[None]]
TRIGGER: ContextSize = ("tokens", 60_000)
KEEP: ContextSize = ("messages", 20)
PROMPT = """Below is a part of a conversation and a summary of everything before it. Your summary will replace
both, so include all that is needed to continue: the person's goals and decisions; facts, names, numbers,
dates and file paths, exactly as written; the work done and its results; and open questions. Keep everything
from the earlier summary that is still true. People's messages are in <message> tags: `from` and `name` tell
who wrote them; text in <quotation> tags is somebody else's. Say by name who said what, without tags. Use the
conversation's language, short bullet points and at most {words} words, and write nothing but the summary.

<earlier_summary>
{summary}
</earlier_summary>

<conversation>
{messages}
</conversation>"""


FOCUS = """

The person requested this summary and wants it to keep above all: {focus}"""
HEADER = "Here is a summary of the conversation to date:\n\n"
_TODOS = re.compile(r"\n\n<todo_list>\n.*\n</todo_list>$", re.DOTALL)


def summary_text(message: BaseMessage) -> str:
    """Return the text of a summary without what was added to it."""
    return _TODOS.sub("", message.text.removeprefix(HEADER))


def _render_todos(state: Mapping[str, Any]) -> str:
    """Return the to-do list while work remains: its last version may be among the removed messages."""
    todos = state.get("todos") or ()
    if all(item["status"] == "completed" for item in todos):
        return ""
    lines = [f"- [{item['status']}] {escape_text(item['content'])}" for item in todos]
    return "\n".join(["\n\n<todo_list>", *lines, "</todo_list>"])


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A summary as a message, and the tokens that writing it took."""

    message: HumanMessage
    usage: UsageCounts | None


class SummarizationMiddleware(AgentMiddleware[Any, Any]):
    """Summarizes the older messages when `trigger` is met and keeps the newest as `keep` says.

    Both have langchain's forms; a `fraction` is of the model's context window. Tool calls stay with their
    results, and the last human message stays even if the rest of its turn is removed. If the provider says
    that the conversation is too long, it is summarized too, and the call is made once more. The summarizer
    reads every removed message in full, in chunks of `piece_tokens` (None: by the size of the window), each
    with the summary so far. `model` writes it, or the agent's model; `attempts` retries and falls back on
    other models, without it each chunk is tried once. `before_cut` gets the messages first. If the summary
    fails it is logged, and the call is made with all messages.

    Hook: `wrap_model_call`, which knows the agent's model and costs no step; the cut is stored with the
    answer. The summary takes the position and id of the first removed message, so that no other message is
    rewritten: until the next cut the conversation only grows, and providers' caches stay valid. Its tokens
    reach no stream.
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

    async def awrap_model_call(
        self, request: Request, handler: Handler
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model with a conversation that is short enough."""
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
        if any(isinstance(m, ToolMessage) and m.id not in stored for m in request.messages):
            return None
        going = [stored[message.id] for message in cut if message.id in stored]
        try:
            written = await self.write_summary(request, going)
        except Exception as error:  # noqa: BLE001 - supervisor: the answer may come out without a summary
            log.warning("summary_failed", error=type(error).__name__, detail=redact_line(str(error)))
            return None
        shorter = _replace_messages(request.messages, cut, written.message)
        response = await handler(request.override(messages=shorter))
        usage = {"usage": written.usage} if written.usage else {}
        return with_update(response, messages=replacing_writes(written.message, going), **usage)

    async def write_summary(
        self, request: Request, going: Sequence[AnyMessage], *, focus: str = ""
    ) -> WrittenSummary:
        """Return the message that replaces `going`. `focus` is what it should keep above all.

        Raises ModelCallFailed.
        """
        if self._before_cut is not None:
            await self._before_cut(RunContext.of(request.runtime), request.state["messages"])
        text, usage = await self._write_text(request, going, focus)
        if not text:
            raise make_failure(Category.EMPTY, model="summarization").to_error()
        return WrittenSummary(_make_message(text, request.state, going), usage)

    async def _write_text(
        self, request: Request, going: Sequence[AnyMessage], focus: str
    ) -> tuple[str, UsageCounts | None]:
        """Return the summary of the first model that completes it, and the usage of all attempts."""
        asking = request.override(model=self._model or request.model)
        window = min(find_context_window(one) for one in (request.model, asking.model))
        wanted = FOCUS.format(focus=escape_text(focus)) if focus else ""
        folding = RollingSummary(
            going,
            prompt=self._prompt + wanted.replace("{", "{{").replace("}", "}}"),
            tokens=self._piece_tokens or max(SMALLEST_PIECE, min(window // 4, LARGEST_PIECE)),
            words=max(FEWEST_WORDS, min(window // TOKENS_PER_WORD, MOST_WORDS)),
        )
        answers: list[BaseMessage] = []

        async def write(inner: Request) -> Response:
            nonlocal answers
            answers = await folding.summarize_rest(inner)
            return Response(result=answers[-1:])

        response = await self._attempts.awrap_model_call(asking, write)
        costs = [sum_usage(answers), _failed_usage(response)]
        return folding.summary, merge_usage(*costs) if any(costs) else None


def replacing_writes(
    summary: HumanMessage, going: Sequence[AnyMessage]
) -> list[HumanMessage | RemoveMessage]:
    """Return the writes that put the summary in the place of `going`."""
    return [summary, *(RemoveMessage(id=one.id) for one in going if one.id and one.id != summary.id)]


def _replace_messages(
    messages: Sequence[AnyMessage], cut: Sequence[AnyMessage], summary: HumanMessage
) -> list[AnyMessage]:
    """Return the messages with the summary where the first one goes, as in the stored thread.

    A question may come before it. With another order, the next request would begin with other messages than
    this one.
    """
    # A message without an id, which an extra may have added, is not stored and stays.
    gone = {message.id for message in cut if message.id}
    first = next((at for at, message in enumerate(messages) if message.id in gone), 0)
    kept = [message for message in messages[first:] if message.id not in gone]
    return [*messages[:first], summary, *kept]


def _make_message(text: str, state: Mapping[str, Any], going: Sequence[AnyMessage]) -> HumanMessage:
    """Return the message; it repeats texts of people, and nothing in it may pass for a message of theirs."""
    answers = [one.id for one in state["messages"] if isinstance(one, AIMessage) and one.id]
    extra = {SOURCE: SUMMARY, **({WRITTEN_AFTER: answers[-1]} if answers else {})}
    content = f"{HEADER}{escape_text(text)}{_render_todos(state)}"
    return HumanMessage(content, additional_kwargs=extra, id=going[0].id or str(uuid4()))


def _failed_usage(response: Response | ExtendedModelResponse[Any]) -> Any:
    """Return the usage of failed attempts as `ModelRetry` reports it."""
    command = response.command if isinstance(response, ExtendedModelResponse) else None
    return command.update.get("usage") if command and isinstance(command.update, dict) else None
