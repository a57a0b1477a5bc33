"""The homeserver through matrix-nio: typed calls, with the service's errors.

This is the only module that imports the library, which ships no type information. Its own retries are off:
the service decides when a call is repeated.
"""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import aiohttp
import nio
from nio.api import RelationshipType

from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.payload import Json

CALL_SECONDS = 30
SYNC_SECONDS = 30
"""Seconds that the homeserver may keep a sync open while nothing happens."""
PAGE = 100
"""Events of a page; homeservers shorten longer ones."""
CHUNK = 64 * 1024
DOWNLOAD_SECONDS = 300
_MEDIA = "/_matrix/client/v1/media/download"
UNSENT_WAIT = 5.0
"""Seconds to wait if a rate limit comes without a time."""
_FILTER: Json = {
    "presence": {"types": []},
    "account_data": {"types": []},
    "room": {
        "timeline": {"limit": PAGE},
        "state": {"lazy_load_members": True, "include_redundant_members": True},
        "ephemeral": {"types": []},
        "account_data": {"types": []},
    },
}
"""spec.matrix.org/latest/client-server-api/#filtering"""
_CATEGORIES = {
    "M_UNKNOWN_TOKEN": DeliveryCategory.AUTH,
    "M_MISSING_TOKEN": DeliveryCategory.AUTH,
    "M_USER_DEACTIVATED": DeliveryCategory.AUTH,
    "M_FORBIDDEN": DeliveryCategory.PERMISSION,
    "M_NOT_FOUND": DeliveryCategory.NOT_FOUND,
    "M_TOO_LARGE": DeliveryCategory.INVALID_PAYLOAD,
    "M_BAD_JSON": DeliveryCategory.INVALID_PAYLOAD,
    "M_NOT_JSON": DeliveryCategory.INVALID_PAYLOAD,
    "M_INVALID_PARAM": DeliveryCategory.INVALID_PAYLOAD,
    "M_BAD_PARAM": DeliveryCategory.INVALID_PAYLOAD,
}
"""spec.matrix.org/latest/client-server-api/#standard-error-response"""
_STATUSES = {
    401: DeliveryCategory.AUTH,
    403: DeliveryCategory.PERMISSION,
    404: DeliveryCategory.NOT_FOUND,
    413: DeliveryCategory.INVALID_PAYLOAD,
}
_UNREADABLE = (aiohttp.ClientError, TimeoutError, ValueError, RecursionError)
"""Errors of a response that was lost, or is no JSON, or JSON that is nested too deeply for the parser."""
_SERVER_ERROR = 500
_TOO_MANY = 429


@dataclass(frozen=True, slots=True)
class RoomEvents:
    """A sync's data for a joined room: timeline events, oldest first.

    `missing_before` is where the events that the homeserver left out begin ("" for none).
    """

    room: str
    events: Sequence[Json]
    missing_before: str = ""


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation of the bot; `direct`: it is for a private chat."""

    room: str
    inviter: str
    direct: bool


@dataclass(frozen=True, slots=True)
class SyncResult:
    """A sync's response; `token` is the start of the next sync."""

    token: str
    rooms: Sequence[RoomEvents] = ()
    invitations: Sequence[Invitation] = ()
    left: Sequence[str] = field(default_factory=tuple)


class Homeserver:
    """A user's session. `sign_in` must be called first, `close` last."""

    def __init__(self, url: str, token: str) -> None:
        config = nio.AsyncClientConfig(max_limit_exceeded=0, max_timeouts=0, request_timeout=CALL_SECONDS)
        self._client: Any = nio.AsyncClient(url.rstrip("/"), config=config)
        self._token = token
        self.user = ""

    async def sign_in(self) -> str:
        """Return the user id of the token. Raises DeliveryError."""
        self._client.access_token = self._token
        found = await self._call(self._client.whoami())
        self.user = str(found.user_id)
        self._client.restore_login(self.user, found.device_id or "", self._token)
        return self.user

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()

    async def sync(self, since: str, *, full: bool, wait: bool) -> SyncResult:
        """Return events since a token ("": everything that the homeserver sends to a new session).

        `full`: with the state of every room, which a new session needs. Raises DeliveryError.
        """
        # The library would go on from the last answer, which may not have been stored, and ignore an answer
        # that ends at the token it knows: after a quiet restart, that is the state of every room.
        self._client.next_batch = None
        found = await self._call(
            self._client.sync(
                timeout=SYNC_SECONDS * 1000 if wait else 0,
                sync_filter=_FILTER,
                since=since or None,
                full_state=full or None,
            )
        )
        return SyncResult(
            str(found.next_batch),
            [_room_events(room, info) for room, info in found.rooms.join.items()],
            [self._invitation(room, info) for room, info in found.rooms.invite.items()],
            list(found.rooms.leave),
        )

    def _invitation(self, room: str, info: Any) -> Invitation:
        """Read the bot's own membership, whose content the library separates from the event."""
        own = [event for event in info.invite_state if getattr(event, "state_key", None) == self.user]
        content = getattr(own[-1], "content", None) if own else None
        direct = isinstance(content, dict) and content.get("is_direct") is True
        return Invitation(room, str(own[-1].sender or "") if own else "", direct)

    async def messages_before(self, room: str, start: str, end: str) -> tuple[Sequence[Json], str]:
        """Return a page of a room's events before `start`, newest first, and the start of the next page."""
        found = await self._call(self._client.room_messages(room, start=start, end=end or None, limit=PAGE))
        return _sources(found.chunk), str(found.end or "")

    async def thread(self, room: str, root: str, most: int) -> Sequence[Json]:
        """Return the newest events of a thread, newest first."""
        events: list[Json] = []
        try:
            async for event in self._client.room_get_event_relations(room, root, RelationshipType.thread):
                events.append(event.source)
                if len(events) >= most:
                    break
        except _UNREADABLE as error:
            raise _lost(error) from error
        except AttributeError as error:  # of the library, which takes an error for a page
            raise DeliveryError(DeliveryCategory.NOT_FOUND, "no such thread") from error
        return events

    async def event(self, room: str, event_id: str) -> Json:
        """Return an event. Raises DeliveryError."""
        found = await self._call(self._client.room_get_event(room, event_id))
        source: Json = found.event.source
        return source

    async def send(self, room: str, kind: str, content: Json, transaction: str) -> str:
        """Send an event and return its id; the homeserver accepts each transaction once. Raises
        DeliveryError.
        """
        found = await self._call(self._client.room_send(room, kind, content, tx_id=transaction or None))
        return str(found.event_id)

    async def redact(self, room: str, event_id: str) -> None:
        """Delete a message. Raises DeliveryError."""
        await self._call(self._client.room_redact(room, event_id))

    async def typing(self, room: str, seconds: float) -> None:
        """Show the typing indicator for a time. Raises DeliveryError."""
        await self._call(self._client.room_typing(room, True, timeout=int(seconds * 1000)))

    async def join(self, room: str) -> None:
        """Accept an invitation. Raises DeliveryError."""
        await self._call(self._client.join(room))

    async def leave(self, room: str) -> None:
        """Leave a room or decline its invitation. Raises DeliveryError."""
        await self._call(self._client.room_leave(room))

    async def has_encryption(self, room: str) -> bool:
        """Return whether a room that the bot has joined is encrypted, asking the homeserver. Raises
        DeliveryError.
        """
        found = await self._run(self._client.room_get_state_event(room, "m.room.encryption"))
        if isinstance(found, nio.ErrorResponse) and found.status_code == "M_NOT_FOUND":
            return False
        _checked(found)
        return True

    async def upload(self, data: bytes, mime: str, filename: str) -> str:
        """Upload a file and return its address (mxc://…). Raises DeliveryError."""
        found, _ = await self._run(
            self._client.upload(io.BytesIO(data), content_type=mime, filename=filename, filesize=len(data))
        )
        return str(_checked(found).content_uri)

    async def download(self, address: str) -> AsyncIterator[bytes]:
        """Yield the content of a file. Raises DeliveryError."""
        server, _, media = address.removeprefix("mxc://").partition("/")
        path = f"{_MEDIA}/{quote(server, safe='')}/{quote(media, safe='')}"
        headers = {"Authorization": f"Bearer {self._token}"}
        answer = await self._run(self._client.send("GET", path, headers=headers, timeout=DOWNLOAD_SECONDS))
        try:
            if answer.status >= 400:
                raise _refusal(answer.status, "", f"status {answer.status}", None)
            async for chunk in answer.content.iter_chunked(CHUNK):
                yield chunk
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _lost(error) from error
        finally:
            answer.close()

    async def count_members(self, room: str) -> int:
        """Return the number of people in a room, including invited ones. Raises DeliveryError."""
        known = self._client.rooms.get(room)
        summary = known.summary if known is not None else None
        if summary is not None and summary.joined_member_count is not None:
            return int(summary.joined_member_count) + int(summary.invited_member_count or 0)
        found = await self._call(self._client.joined_members(room))
        return len(found.members)

    def knows(self, room: str) -> bool:
        """Return whether the bot is in a room."""
        return room in self._client.rooms

    def is_encrypted(self, room: str) -> bool:
        """Return whether a room is encrypted."""
        return self.knows(room) and bool(self._client.rooms[room].encrypted)

    def name_of(self, room: str, user: str) -> str:
        """Return a person's name in a room ("" if unknown)."""
        found = self._client.rooms[room].users.get(user) if self.knows(room) else None
        return str(found.display_name or "") if found is not None else ""

    def title_of(self, room: str) -> str:
        """Return a room's own name ("" if it has none)."""
        return str(self._client.rooms[room].named_room_name() or "") if self.knows(room) else ""

    def is_public(self, room: str) -> bool:
        """Return whether everyone may join a room."""
        return self.knows(room) and self._client.rooms[room].join_rule == "public"

    async def _call(self, call: Any) -> Any:
        return _checked(await self._run(call))

    async def _run(self, call: Any) -> Any:
        try:
            return await call
        except aiohttp.ClientConnectorError as error:
            raise DeliveryError(DeliveryCategory.TRANSIENT, _reason(error)) from error
        except _UNREADABLE as error:
            raise _lost(error) from error
        except nio.LocalProtocolError as error:
            raise DeliveryError(DeliveryCategory.TRANSIENT, "not signed in") from error


def _checked(answer: Any) -> Any:
    """Return a response unless it is one of the library's errors. Raises DeliveryError."""
    if not isinstance(answer, nio.ErrorResponse):
        return answer
    status = answer.transport_response.status if answer.transport_response is not None else 0
    raise _refusal(status, str(answer.status_code or ""), str(answer.message), answer.retry_after_ms)


def _refusal(status: int, code: str, message: str, wait: int | None) -> DeliveryError:
    if code == "M_LIMIT_EXCEEDED" or status == _TOO_MANY:
        return RateLimited(wait / 1000 if wait else UNSENT_WAIT, account_wide=True)
    if status >= _SERVER_ERROR:
        return DeliveryError(DeliveryCategory.TRANSIENT, f"status {status}", unknown_outcome=True)
    category = _CATEGORIES.get(code) or _STATUSES.get(status) or DeliveryCategory.UNKNOWN
    return DeliveryError(category, f"{code} {message}".strip())


def _lost(error: Exception) -> DeliveryError:
    return DeliveryError(DeliveryCategory.TRANSIENT, _reason(error), unknown_outcome=True)


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _room_events(room: str, info: Any) -> RoomEvents:
    timeline = info.timeline
    return RoomEvents(
        room, _sources(timeline.events), str(timeline.prev_batch or "") if timeline.limited else ""
    )


def _sources(events: Sequence[Any]) -> list[Json]:
    return [event.source for event in events if isinstance(getattr(event, "source", None), dict)]
