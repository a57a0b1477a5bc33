"""Tracking of an answer's visible part, and of failed attempts' usage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.outputs import LLMResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.constants import TAG_NOSTREAM

from agent.core.model_request import Response
from agent.core.state import UsageCounts, sum_usage


@contextmanager
def attach_callback(handler: BaseCallbackHandler, tags: Sequence[str] = ()) -> Iterator[None]:
    """Attach a handler to every model call in this context and add the tags to the call."""
    config = var_child_runnable_config.get() or RunnableConfig()
    callbacks = config.get("callbacks")
    # Like `merge_configs`, which would also copy everything else in the config.
    if isinstance(callbacks, BaseCallbackManager):
        callbacks = callbacks.copy()
        callbacks.add_handler(handler)
    else:
        callbacks = [*(callbacks or ()), handler]
    all_tags = sorted({*(config.get("tags") or ()), *tags})
    token = var_child_runnable_config.set({**config, "callbacks": callbacks, "tags": all_tags})
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


class VisibleOutput(BaseCallbackHandler):
    """Observes all attempts at an answer. `failed_usage` is None if no provider reported any.

    Streamed text cannot be taken back: later attempts are not streamed, so that nothing is shown twice, and
    their answer replaces the truncated message. `shown` is the id of a message that was shown before.
    """

    run_inline = True

    def __init__(self, shown: str | None = None) -> None:
        self.failed_usage: UsageCounts | None = None
        self._message_id = shown
        self._costs: dict[UUID, UsageMetadata] = {}

    @property
    def ignore_chat_model(self) -> bool:
        """The start of a call needs no handling."""
        return True

    @contextmanager
    def watch_attempt(self) -> Iterator[str | None]:
        """Observe the model calls in this context.

        If text was shown before, they are not streamed and it yields the id of the message to replace.
        """
        place = self._message_id
        tags = [] if place is None else [TAG_NOSTREAM]
        with attach_callback(self, tags):
            yield place

    def record_failure(self) -> None:
        """Record that all attempts so far have failed."""
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
        message = getattr(chunk, "message", None)
        if not isinstance(message, AIMessage):
            return
        self._record_text(message, tags)
        if said := message.usage_metadata:
            self._costs[run_id] = add_usage(self._costs.get(run_id), said)

    def on_llm_end(
        self, response: LLMResult, *, run_id: UUID, tags: list[str] | None = None, **kwargs: Any
    ) -> None:
        """Record a complete answer, which may still be rejected; without streaming it becomes visible now."""
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


def replace_message(response: Response, message_id: str) -> Response:
    """Assign this id to the response's message, so that it replaces the message with that id."""
    for message in response.result:
        if isinstance(message, AIMessage):
            message.id = message_id
    return response
