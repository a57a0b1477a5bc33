"""Write a summary chunk by chunk, with whichever model answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage

from agent.core.hidden_calls import internal_config
from agent.errors import ModelCallFailed
from agent.middleware.chunks import split_conversation
from agent.middleware.model_response import Request, Response
from agent.models.calls import ModelCalls
from agent.models.errors import Category

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
        """What is folded so far."""

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
