"""Conversations: list, open, read, write, watch, stop."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from bot.api import places, shapes, views
from bot.api.feed import Feed, encode
from bot.api.paging import DEFAULT, Cursor, Limit, before
from bot.api.posting import NewMessage, incoming
from bot.api.services import Services
from bot.api.usage import DAYS, Days, since

Id = Annotated[int, Path(ge=1, lt=2**53)]
router = APIRouter(prefix="/api/conversations", tags=["conversations"])

MESSAGE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": NewMessage.model_json_schema()},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string"},
                        "event_id": {"type": "string"},
                        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
                    },
                }
            },
        },
    }
}


class NewConversation(BaseModel):
    """Which chat to open; without `chat` a new one. `account` is one of the page or the terminal."""

    model_config = ConfigDict(extra="forbid")
    account: str = Field("web", pattern=r"^[a-z][a-z0-9_-]{0,31}$")
    chat: str = Field("", pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{0,63})?$")


@router.get("")
async def list_conversations(
    services: Services, account: str = "web", limit: Limit = DEFAULT, cursor: Cursor = ""
) -> shapes.Conversations:
    """Conversations of an account, newest first."""
    found = await services.store.conversations(account, before(cursor), limit)
    return shapes.Conversations(
        conversations=[views.conversation(services, view) for view in found],
        next=str(found[-1].id) if len(found) == limit else None,
    )


@router.post("", status_code=201)
async def open_conversation(body: NewConversation, services: Services) -> shapes.Conversation:
    """Open a chat; one that is there already is given back."""
    view = await places.open_chat(services, body.account, body.chat or services.new_id())
    return views.conversation(services, view)


@router.get("/{conversation}")
async def get_conversation(conversation: Id, services: Services) -> shapes.Conversation:
    """One conversation."""
    return views.conversation(services, await places.conversation(services, conversation))


@router.get("/{conversation}/messages")
async def transcript(
    conversation: Id, services: Services, limit: Limit = DEFAULT, cursor: Cursor = ""
) -> shapes.Turns:
    """What was said: turns with their messages and replies, newest first; a growing reply as it stands."""
    of = await places.conversation(services, conversation)
    found = await services.store.turns(conversation, before(cursor), limit)
    return shapes.Turns(
        turns=[await views.turn(services, of, view) for view in found],
        next=str(found[-1].id) if len(found) == limit else None,
    )


@router.get("/{conversation}/usage")
async def usage(conversation: Id, services: Services, days: Days = DAYS) -> shapes.Spending:
    """The tokens that the turns of a conversation cost in the last days."""
    of = await places.conversation(services, conversation)
    return views.spending(await services.store.spending(since(services, days), conversation=of.id))


@router.post("/{conversation}/messages", status_code=202, openapi_extra=MESSAGE_BODY)
async def post_message(conversation: Id, request: Request, services: Services) -> shapes.Posted:
    """Accept a message (JSON, or a form with `files`); it is on disk when this answers."""
    of = await places.conversation(services, conversation)
    places.writable(services, of)
    async with incoming(request, services) as posted:
        message = posted.message
        return await places.post(services, of, message.text, message.event_id, posted.files)


@router.get("/{conversation}/events", response_class=StreamingResponse)
async def watch(
    conversation: Id,
    request: Request,
    services: Services,
    _last_event_id: Annotated[str, Header(alias="Last-Event-ID", max_length=64)] = "",
) -> StreamingResponse:
    """Server-sent events: `snapshot`, then `turn`, `part` and `typing` as they happen.

    Each connection begins with a snapshot and each event is whole, so nothing has to be kept for a client
    that comes back; `Last-Event-ID` is accepted and needs no answer of its own.
    """
    of = await places.conversation(services, conversation)
    feed = Feed(services, request.app.state.feeds, of)
    return StreamingResponse(
        encode(feed.events(), services.clock.now),
        media_type="text/event-stream",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


@router.post("/{conversation}/stop", status_code=202)
async def stop(conversation: Id, services: Services) -> shapes.Posted:
    """The `/stop` command: end the run, keep the queue."""
    of = await places.conversation(services, conversation)
    return await places.post(services, of, "/stop")
