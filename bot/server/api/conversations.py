"""Routes to list, open, read, write, watch, rename, export and stop conversations.

A posted message is JSON, or a form whose files are stored before the message is accepted.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, HTTPException, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from starlette.datastructures import FormData, UploadFile

from bot.access import Permission, Role
from bot.chat_zones import find_zone
from bot.commands.conversation import LONGEST_TITLE
from bot.domain import Attachment, AttachmentKind
from bot.platforms.local.files import FileTooLarge, InboxFiles
from bot.server.api import local_chats, presenters, schemas
from bot.server.api.auth import LOCAL, By, accounts_with, open_to, record_conversation_read
from bot.server.api.conversation_export import MEDIA_TYPES, SUFFIXES, ExportFormat, export_conversation
from bot.server.api.dependencies import (
    DEFAULT,
    ApiServices,
    Cursor,
    Limit,
    Services,
    parse_cursor,
)
from bot.server.api.request_guard import FILES_PER_FORM
from bot.server.api.sessions import LinkSessions
from bot.server.api.sse import ConversationFeed, FeedEvent, encode_events
from bot.server.api.text_search import Words, find_page
from bot.store import conversations
from bot.store.audit import AuditEvent
from bot.store.chats import begin_time_zone
from bot.store.conversations import ConversationView
from bot.store.read_models import list_turns
from bot.turn import INCIDENT_EVENT, SCHEDULED_EVENT

# No platform's event ids start with this prefix.
PRESSED = "page:"
EVENT_ID = r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}"
OURS = (SCHEDULED_EVENT, INCIDENT_EVENT, PRESSED)
_NAME = re.compile(r"[\x00-\x1f\x7f/\\]+")
NAME_LENGTH = 200


class ClientEvent(BaseModel):
    """`event_id` is chosen by the client; sending the same one again has no effect."""

    model_config = ConfigDict(extra="forbid")
    event_id: str = Field("", pattern=rf"^({EVENT_ID})?$")

    @field_validator("event_id")
    @classmethod
    def _is_the_clients_own(cls, value: str) -> str:
        if value.startswith(OURS):
            raise ValueError("uses a prefix reserved for the service")
        return value


class NewMessage(ClientEvent):
    """A message. `event_id` is chosen by the client; sending the same one again has no effect."""

    text: str = Field("", max_length=2_000_000)


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """A posted message with its stored files."""

    message: NewMessage
    files: tuple[Attachment, ...] = ()


@asynccontextmanager
async def read_message(request: Request, services: ApiServices) -> AsyncIterator[PostedMessage]:
    """Read the message in a request. Its files are deleted if the body of the context fails.

    Raises 413 for a file over the limit and 422 for an invalid message.
    """
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        yield PostedMessage(_validate(await _read_json(request)))
        return
    inbox = InboxFiles(services.home)
    async with request.form(max_files=FILES_PER_FORM, max_fields=4, max_part_size=4_000_000) as form:
        message = _validate({key: value for key, value in form.items() if isinstance(value, str)})
        stored: list[Attachment] = []
        try:
            for upload in _form_uploads(form):
                stored.append(await _save_upload(inbox, upload, services.file_bytes))
            yield PostedMessage(message, tuple(stored))
        except BaseException:
            for attachment in stored:
                await inbox.delete_file(pathlib.Path(attachment.ref))
            raise


async def _read_json(request: Request) -> object:
    try:
        return await request.json()
    except ValueError as error:
        raise HTTPException(400, "The body is not valid JSON.") from error


def _validate(body: object) -> NewMessage:
    try:
        return NewMessage.model_validate(body)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"])
        raise HTTPException(422, f"{place or 'body'}: {problem['msg']}") from error


def _form_uploads(form: FormData) -> list[UploadFile]:
    return [value for _, value in form.multi_items() if isinstance(value, UploadFile) and value.filename]


async def _save_upload(inbox: InboxFiles, upload: UploadFile, limit: int) -> Attachment:
    name = _NAME.sub("_", upload.filename or "").strip()[-NAME_LENGTH:] or "file"
    mime = (upload.content_type or "").partition(";")[0].strip().lower()
    try:
        path, size = await inbox.store_file(upload.file, limit)
    except FileTooLarge as error:
        megabytes = error.limit / 1_000_000
        raise HTTPException(413, f"{name} is too large. The limit is {megabytes:g} MB.") from error
    kind = AttachmentKind.IMAGE if mime.startswith("image/") else AttachmentKind.FILE
    return Attachment(kind, name, str(path), size, mime)


Id = Annotated[int, Path(ge=1, lt=2**53)]
Mine = Annotated[bool, Query(description="Return only the caller's own conversations.")]
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
    """The chat to open; a new one if `chat` is omitted. `account` is an account of the web console or the
    terminal. `zone` is the IANA name of the time zone of a chat that has none; an unknown one is ignored.
    """

    model_config = ConfigDict(extra="forbid")
    account: str = Field("web", pattern=r"^[a-z][a-z0-9_-]{0,31}$")
    chat: str = Field("", pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{0,63})?$")
    zone: str = Field("", max_length=64)


@router.get("")
@open_to(Role.MEMBER)
async def list_conversations(
    services: Services,
    by: By,
    account: Annotated[str, Query(max_length=64, description="Account; empty: all.")] = "web",
    mine: Mine = False,
    q: Words = "",
    limit: Limit = DEFAULT,
    cursor: Cursor = "",
) -> schemas.Conversations:
    """List the conversations of an account or of all, newest first; members see only their own. With `q`,
    only those with these words in their chat's name, title or owner's name: a page can then have fewer than
    `limit` although `next` is set.
    """
    reach = accounts_with(services, by, Permission.READ)
    reads_others = reach is None or (bool(reach) if account in ("", *LOCAL) else account in reach)
    owners = by.owner_ids if mine or not reads_others else ()

    def describe(view: ConversationView) -> tuple[int, schemas.ConversationInfo | None, str]:
        if not (by.owns_conversation(view) if mine else local_chats.may_read(services, by, view)):
            return view.id, None, ""
        shown = presenters.present_conversation(services, by, view)
        return view.id, shown, f"{shown.place}\n{shown.title}\n{shown.owner_name}"

    async def load(before: int, count: int) -> list[tuple[int, schemas.ConversationInfo | None, str]]:
        found = await services.db.transact(conversations.list_conversations, account, before, count, owners)
        return [describe(view) for view in found]

    shown, following = await find_page(load, q, parse_cursor(cursor), limit)
    return schemas.Conversations(conversations=shown, next=following)


@router.post("", status_code=201)
@open_to(Role.MEMBER)
async def open_conversation(body: NewConversation, services: Services, by: By) -> schemas.ConversationInfo:
    """Open a chat, or return the existing one."""
    view = await local_chats.open_chat(services, by, body.account, body.chat or services.core.new_id())
    if body.zone and await find_zone(body.zone):
        await services.db.transact(begin_time_zone, view.key.account, view.key.chat, body.zone)
    return presenters.present_conversation(services, by, view)


@router.get("/{conversation}")
@open_to(Role.MEMBER)
async def get_conversation(conversation: Id, services: Services, by: By) -> schemas.ConversationInfo:
    """Return a conversation."""
    return presenters.present_conversation(
        services, by, await local_chats.visible_conversation(services, by, conversation)
    )


class ConversationChange(BaseModel):
    """The new title ("" for the agent's own)."""

    model_config = ConfigDict(extra="forbid")
    title: str = Field(max_length=LONGEST_TITLE)


@router.patch("/{conversation}")
@open_to(Role.MEMBER)
async def rename_conversation(
    conversation: Id, body: ConversationChange, services: Services, by: By
) -> schemas.ConversationInfo:
    """Set the title, as `/title` does. Admins can do so in every conversation on their accounts."""
    of = await local_chats.changeable_conversation(services, by, conversation)
    await services.db.transact(conversations.set_title, of.id, " ".join(body.title.split()))
    await local_chats.record_change(services, by, of, AuditEvent("command", "/title"))
    return await get_conversation(conversation, services, by)


@router.get("/{conversation}/export", response_class=Response)
@open_to(Role.MEMBER)
async def export_conversation_file(
    conversation: Id,
    services: Services,
    by: By,
    wanted: Annotated[ExportFormat, Query(alias="format")] = ExportFormat.MARKDOWN,
) -> Response:
    """Download a conversation as Markdown, or as JSON with all details."""
    of = await local_chats.visible_conversation(services, by, conversation)
    await record_conversation_read(services, by, of)
    content = await export_conversation(services, by, of, wanted)
    disposition = f'attachment; filename="conversation-{of.id}.{SUFFIXES[wanted]}"'
    return Response(content, media_type=MEDIA_TYPES[wanted], headers={"content-disposition": disposition})


@router.get("/{conversation}/messages")
@open_to(Role.MEMBER)
async def read_transcript(
    conversation: Id, services: Services, by: By, limit: Limit = DEFAULT, cursor: Cursor = ""
) -> schemas.Turns:
    """List turns with their messages and replies, newest first, including the current text of a reply in
    progress.
    """
    of = await local_chats.visible_conversation(services, by, conversation)
    await record_conversation_read(services, by, of)
    found = await services.db.transact(list_turns, conversation, parse_cursor(cursor), limit)
    return schemas.Turns(
        turns=await presenters.present_turns(services, by, {of.id: of}, found),
        next=str(found[-1].id) if len(found) == limit else None,
    )


@router.post("/{conversation}/messages", status_code=202, openapi_extra=MESSAGE_BODY)
@open_to(Role.MEMBER)
async def post_message(conversation: Id, request: Request, services: Services, by: By) -> schemas.PostResult:
    """Post a message (JSON, or a form with `files`). It is stored before the response is sent."""
    of = await local_chats.visible_conversation(services, by, conversation)
    async with read_message(request, services) as posted:
        message = posted.message
        if message.text.strip() == local_chats.STOP and not posted.files:
            return await local_chats.stop_run(services, by, of, message.event_id)
        return await local_chats.post_text(services, by, of, message.text, message.event_id, posted.files)


class EventStream(StreamingResponse):
    """A response of server-sent events."""

    media_type = "text/event-stream"


@router.get("/{conversation}/events", response_class=EventStream, responses={200: {"model": FeedEvent}})
@open_to(Role.MEMBER)
async def watch_conversation(
    conversation: Id,
    request: Request,
    services: Services,
    by: By,
    _last_event_id: Annotated[str, Header(alias="Last-Event-ID", max_length=64)] = "",
) -> EventStream:
    """Stream server-sent events: `snapshot`, then `turn`, `delta`, `steps` and `typing` as they happen.

    Each connection begins with a snapshot, to which its deltas refer, so a client that reconnects needs no
    history: `Last-Event-ID` is accepted and ignored.
    """
    of = await local_chats.visible_conversation(services, by, conversation)
    await record_conversation_read(services, by, of)
    known: LinkSessions = request.app.state.links

    async def allowed() -> bool:
        now = await known.refresh_caller(by)
        return now is not None and await local_chats.find_visible(services, now, of.id) is not None

    feed = ConversationFeed(services, request.app.state.feeds, of, by, allowed)
    return EventStream(
        encode_events(feed.events(), services.clock.now),
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


@router.post("/{conversation}/stop", status_code=202)
@open_to(Role.MEMBER)
async def stop_run(conversation: Id, services: Services, by: By) -> schemas.PostResult:
    """Stop the run and keep the queue, as `/stop` does. Admins can stop runs in every chat of their accounts;
    the answer then shows who stopped it. 409: nothing is running.
    """
    of = await local_chats.visible_conversation(services, by, conversation)
    return await local_chats.stop_run(services, by, of, PRESSED + services.core.new_id())
