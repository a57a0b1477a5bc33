"""The route that proposes what to say next in a thread."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from langchain_core.messages import BaseMessage
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agent.catalog.source import ModelSource
from agent.core.virtual_paths import check_thread_id
from agent.errors import Invalid
from agent.harness.suggestions import SuggestionsBody, SuggestionService, to_messages
from agent.management.routes.endpoints import answer, body_of, guarded
from agent.runtime.http.context import Parts

LARGEST_BODY = 1024 * 1024


def suggestion_routes(source: ModelSource) -> list[BaseRoute]:
    """`POST /api/threads/{thread_id}/suggestions`."""
    follow_ups = SuggestionService(source)

    async def suggest(request: Request) -> Response:
        """Propose what to say next in the thread."""
        thread_id = check_thread_id(request.path_params["thread_id"])
        wanted = SuggestionsBody.of(await body_of(request, LARGEST_BODY))
        given = wanted.conversation
        messages = await _own(request, thread_id) if given is None else given
        return answer(await follow_ups.suggest(messages, wanted))

    return [Route("/api/threads/{thread_id}/suggestions", guarded(suggest), methods=["POST"])]


async def _own(request: Request, thread_id: str) -> Sequence[BaseMessage]:
    """What was said in the thread. Raises NotFound, or Invalid where no threads are kept here."""
    parts: Parts | None = getattr(request.app.state, "parts", None)
    if parts is None:
        raise Invalid("messages: is missing; this server keeps no threads")
    values = (await parts.store.get_thread(thread_id)).values
    found = orjson.loads(values) if values else None
    return to_messages(found.get("messages") or () if isinstance(found, dict) else ())
