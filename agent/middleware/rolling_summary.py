"""Summarize messages chunk by chunk, complete and verbatim, with whichever model answers."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from agent.core.model_request import Request, Response, change_request
from agent.errors import ModelCallFailed
from agent.middleware.summary_cut import is_summary
from agent.middleware.summary_message import summary_text
from agent.models.calls import ModelCalls, internal_config
from agent.models.capabilities import estimate_tokens
from agent.models.failure_texts import Category

OVERLAP = 200
_WHO = {"human": "Person", "ai": "Assistant", "system": "System"}


def split_conversation(messages: Sequence[AnyMessage], tokens: int) -> list[str]:
    """Return the messages as texts of up to about `tokens`, split between messages if possible.

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
    lines = [f"{who}: {content_text(message.content)}"]
    if isinstance(message, AIMessage):
        calls = ((call["name"], json.dumps(call["args"], ensure_ascii=False)) for call in message.tool_calls)
        lines += [f"{who} called {name} with {args}" for name, args in calls]
    return "\n".join(lines)


def content_text(content: Any) -> str:
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


def choose_sizes(window: int) -> tuple[int, int]:
    """Return a chunk's size in tokens and a summary's length in words for a context window of this size."""
    tokens = max(SMALLEST_PIECE, min(window // 4, LARGEST_PIECE))
    return tokens, max(FEWEST_WORDS, min(window // TOKENS_PER_WORD, MOST_WORDS))


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
            asking = change_request(request, messages=[prompt], system_message=None, tools=[])
            try:
                response = await self._calls.call_model(asking, _call_hidden, [])
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
