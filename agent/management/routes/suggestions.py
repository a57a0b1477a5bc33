"""Endpoint that suggests follow-up messages for a conversation."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from fastapi import Request
from langchain_core.messages import BaseMessage

from agent.catalog.source import ModelSource
from agent.core.paths import check_thread_id
from agent.core.schemas import SuggestionList
from agent.errors import Invalid
from agent.harness.suggestions import SuggestionsBody, SuggestionService, to_messages
from agent.runtime.http.base import OpenRuntime
from agent.runtime.store.threads import get_thread
from agent.shared.management import operation


class SuggestionEndpoints:
    """Suggests messages for the threads of this server."""

    def __init__(self, source: ModelSource) -> None:
        self._suggestions = SuggestionService(source)

    @operation("POST", "/api/threads/{thread_id}/suggestions", largest_body=1024 * 1024)
    async def suggest_messages(
        self, request: Request, thread_id: str, body: SuggestionsBody
    ) -> SuggestionList:
        """Suggest follow-up messages."""
        thread_id = check_thread_id(thread_id)
        sent = body.conversation
        messages = await _read_messages(request, thread_id) if sent is None else sent
        return await self._suggestions.suggest(messages, body)


async def _read_messages(request: Request, thread_id: str) -> Sequence[BaseMessage]:
    """Read the messages of a thread. Raises NotFound, or Invalid if this server does not store threads."""
    runtime: OpenRuntime | None = getattr(request.app.state, "runtime", None)
    if runtime is None:
        raise Invalid("messages: required, because this server does not store threads")
    values = (await runtime.database.read(get_thread, thread_id)).values
    state = orjson.loads(values) if values else None
    return to_messages(state.get("messages") or () if isinstance(state, dict) else ())
