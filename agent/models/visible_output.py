"""What of an answer people have seen while it is still being asked for, and what the failed tries cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from langchain.agents.middleware import ModelResponse
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.outputs import LLMResult
from langgraph.constants import TAG_NOSTREAM

from agent.core.usage import TokenUsage, sum_usage
from agent.models.callbacks import attach_callback


class VisibleOutput(BaseCallbackHandler):
    """Listens to every try of one answer. `failed`: what failed tries cost, None where no provider said.

    What was streamed can't be taken back: a try after that is made unheard, so that nothing is shown twice,
    and its answer takes the place of the message that broke off.
    """

    run_inline = True

    def __init__(self) -> None:
        self.failed_usage: TokenUsage | None = None
        self._message_id: str | None = None
        self._costs: dict[UUID, UsageMetadata] = {}

    @property
    def ignore_chat_model(self) -> bool:
        """Nothing happens when a call begins."""
        return True

    @contextmanager
    def watch_attempt(self) -> Iterator[str | None]:
        """While this is open, calls of models are listened to.

        They are unheard where text was shown before; then it gives the id of the message to replace.
        """
        place = self._message_id
        tags = [] if place is None else [TAG_NOSTREAM]
        with attach_callback(self, tags):
            yield place

    def record_failure(self) -> None:
        """All tries so far have failed."""
        self.failed_usage = sum_usage(AIMessage("", usage_metadata=cost) for cost in self._costs.values())

    def on_llm_new_token(
        self,
        token: Any,
        *,
        chunk: Any = None,
        run_id: UUID,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Take note of a piece of an answer."""
        message = getattr(chunk, "message", None)
        if not isinstance(message, AIMessage):
            return
        self._record_text(message, tags)
        if said := message.usage_metadata:
            self._costs[run_id] = add_usage(self._costs.get(run_id), said)

    def on_llm_end(
        self, response: LLMResult, *, run_id: UUID, tags: list[str] | None = None, **kwargs: Any
    ) -> None:
        """Take note of a whole answer, which may be refused all the same; one that did not come in pieces is
        shown now.
        """
        for generations in response.generations:
            for generation in generations:
                message = getattr(generation, "message", None)
                if not isinstance(message, AIMessage):
                    continue
                self._record_text(message, tags)
                if message.usage_metadata:
                    self._costs[run_id] = message.usage_metadata

    def _record_text(self, message: AIMessage, tags: list[str] | None) -> None:
        if self._message_id is None and TAG_NOSTREAM not in (tags or ()) and message.text.strip():
            self._message_id = message.id


def replace_message(response: ModelResponse[Any], message_id: str) -> ModelResponse[Any]:
    """The response as the message with this id."""
    for message in response.result:
        if isinstance(message, AIMessage):
            message.id = message_id
    return response
