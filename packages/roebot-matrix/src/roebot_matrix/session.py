"""A connection of an account, which syncs from the stored token so that nothing is lost or read twice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import structlog

from bot.core.recent_values import RecentValues
from bot.domain import ChatKind, InboundEvent, InboundMessage, Origin, Sender
from bot.errors import AccountRefused, DeliveryCategory, DeliveryError, RateLimited, StoreError
from bot.platforms.base import AdapterContext
from bot.platforms.connection import AccountHealth, ReconnectBackoff
from bot.platforms.payload import Json, get_object, get_string
from roebot_matrix.homeserver import SYNC_SECONDS, Homeserver, Invitation, RoomEvents, SyncResult
from roebot_matrix.inbound import EventReader
from roebot_matrix.texts import ENCRYPTED

log = structlog.get_logger(__name__)

SILENCE = SYNC_SECONDS + 20.0
"""Seconds without an answer to a sync after which the connection counts as dead."""
FIRST_START = 600.0
"""Age in seconds of the oldest messages that an account answers when it starts for the first time."""
MAX_PAGES = 20
"""Maximum number of pages to read in a room with more events than one sync holds."""
INVITATION_WAITS = (60.0, 600.0, 3600.0)
"""Seconds after which an invitation that could not be answered is tried again, one after each try."""
MAX_POSTPONED = 64
"""Maximum number of invitations that wait for another try."""
_STALE = frozenset({DeliveryCategory.PERMISSION, DeliveryCategory.NOT_FOUND, DeliveryCategory.UNKNOWN})


@dataclass(frozen=True, slots=True)
class _Postponed:
    """An invitation to retry at a time (s since the epoch), after this number of failed attempts."""

    invitation: Invitation
    at: float
    tries: int


class MatrixSession:
    """Receives until cancelled; see `bot.platforms.connection.Session`."""

    def __init__(
        self, account: str, locale: str, server: Homeserver, context: AdapterContext, health: AccountHealth
    ) -> None:
        self.server = server
        self.health = health
        self.reader = EventReader(account, server, context.clock)
        self.started_at = context.clock.now()
        self._account = account
        self._locale = locale
        self._context = context
        self._postponed: RecentValues[_Postponed] = RecentValues(MAX_POSTPONED)
        self._idle = asyncio.Event()
        self._idle.set()

    async def run(self) -> None:
        """Sync until cancelled. Raises AccountRefused, and AccountLost after two minutes of failures."""
        backoff = ReconnectBackoff(self._context.clock)
        token, is_first = await self._context.inbox.cursor(), True
        while True:
            try:
                result = await self._sync(token, is_first=is_first)
                events = await self._receive(result, is_new=not token)
                self.health.mark_live()
                await self._store(events, result.token)
            except RateLimited as error:
                self.health.mark_limited(error.retry_after)
                await self._context.clock.sleep(error.retry_after)
            except StoreError as error:
                log.warning("not_stored", account=self._account, reason=str(error))
                await backoff.pause()
            except DeliveryError as error:
                self._refuse_without_token(error)
                self.health.mark_deaf(f"the homeserver can't be reached: {error.detail}")
                backoff.give_up_if_lost("no connection to the homeserver", error.detail)
                await backoff.pause()
            else:
                backoff.mark_connected()
                token, is_first = result.token, False

    async def finish(self) -> None:
        """Wait until the current events are stored; the next session syncs later ones again."""
        await self._idle.wait()

    def _refuse_without_token(self, error: DeliveryError) -> None:
        if error.category is DeliveryCategory.AUTH:
            raise AccountRefused(refused_token(self._account)) from error

    async def _sync(self, token: str, *, is_first: bool) -> SyncResult:
        """Sync once. Raises DeliveryError if the homeserver does not respond for SILENCE seconds."""
        call = asyncio.ensure_future(self.server.sync(token, full=is_first, wait=not is_first))
        limit = asyncio.ensure_future(self._context.clock.sleep(SILENCE))
        try:
            await asyncio.wait({call, limit}, return_when=asyncio.FIRST_COMPLETED)
            if call.done():
                return call.result()
            raise DeliveryError(DeliveryCategory.TRANSIENT, f"no response for {SILENCE:.0f} s")
        finally:
            call.cancel()
            limit.cancel()
            await asyncio.gather(call, limit, return_exceptions=True)

    async def _store(self, events: Sequence[InboundEvent], token: str) -> None:
        self._idle.clear()
        try:
            await self._context.inbox.accept(events, token)
        finally:
            self._idle.set()

    async def _receive(self, result: SyncResult, *, is_new: bool) -> list[InboundEvent]:
        """Process a sync. Without a stored token (`is_new`), older messages are history."""
        for gone in result.left:
            self._postponed.pop(gone)
        for invitation in result.invitations:
            self._postponed.pop(invitation.room)
            await self._answer_invitation(invitation)
        for key in list(self._postponed):
            again = self._postponed.get(key)
            if again is not None and again.at <= self._context.clock.now():
                self._postponed.pop(key)
                await self._answer_invitation(again.invitation, again.tries)
        found: list[InboundEvent] = []
        for room in result.rooms:
            events = self._since_invited(room.events)
            if is_new:
                events = self._recent(events)
            elif room.missing_before and len(events) == len(room.events):
                events = [*await self._missing(room), *events]
            if events and not await self._leave_encrypted(room.room, events):
                found += await self.reader.read(await self.reader.place(room.room), events)
        return found

    async def _missing(self, room: RoomEvents) -> list[Json]:
        """Return the events omitted by a sync, oldest first."""
        pages: list[Json] = []
        start, stored = room.missing_before, await self._context.inbox.cursor()
        for _ in range(MAX_PAGES):
            events, start = await self.server.messages_before(room.room, start, stored)
            pages += events
            if not events or not start:
                break
        else:
            log.warning("history_cut", account=self._account, room=room.room, events=len(pages))
        return list(self._since_invited(list(reversed(pages))))

    def _since_invited(self, events: Sequence[Json]) -> Sequence[Json]:
        """Drop events from before the bot was invited or joined."""
        for place in range(len(events) - 1, -1, -1):
            if self._is_invitation(events[place]):
                return events[place + 1 :]
        for place in range(len(events) - 1, -1, -1):
            if self._is_arrival(events[place]):
                return events[place + 1 :]
        return events

    def _is_own_membership(self, event: Json, membership: str) -> bool:
        is_own = event.get("type") == "m.room.member" and event.get("state_key") == self.server.user
        return is_own and get_string(get_object(event, "content"), "membership") == membership

    def _is_invitation(self, event: Json) -> bool:
        return self._is_own_membership(event, "invite")

    def _is_arrival(self, event: Json) -> bool:
        before = get_object(get_object(event, "unsigned"), "prev_content")
        return self._is_own_membership(event, "join") and before.get("membership") != "join"

    def _recent(self, events: Sequence[Json]) -> Sequence[Json]:
        """Return events after the bot's own last message, within FIRST_START."""
        since = (self._context.clock.now() - FIRST_START) * 1000
        for place in range(len(events) - 1, -1, -1):
            at = events[place].get("origin_server_ts")
            is_old = not isinstance(at, int) or at < since
            spoke = events[place].get("sender") == self.server.user and "state_key" not in events[place]
            if is_old or spoke:
                return events[place + 1 :]
        return events

    async def _answer_invitation(self, invitation: Invitation, tries: int = 0) -> None:
        """Accept an invitation if its author would get an answer in the room, otherwise decline it.

        An error never ends the sync, whatever it is: the homeserver passes on what the one of the room
        answers, also a limit or a refused token. Since no later sync repeats the invitation, it is postponed
        (in memory only), unless it can never be answered.
        """
        kind = ChatKind.PRIVATE if invitation.direct else ChatKind.GROUP
        sender = Sender(invitation.inviter, username=invitation.inviter)
        origin = Origin(self._account, "matrix", invitation.room, kind, "invitation", sender)
        greeting = InboundMessage("invitation", origin, "hello", self._context.clock.now())
        is_welcome = bool(invitation.inviter) and self._context.inbox.answers(greeting)
        log.info("invitation", account=self._account, room=invitation.room, accepted=is_welcome)
        try:
            if not is_welcome:
                await self.server.leave(invitation.room)
                return
            await self.server.join(invitation.room)
            if await self.server.has_encryption(invitation.room):
                await self._say_encrypted(invitation.room, invitation.room)
        except DeliveryError as error:
            log.warning("invitation_failed", account=self._account, room=invitation.room, reason=str(error))
            if error.category not in _STALE and tries < len(INVITATION_WAITS):
                at = self._context.clock.now() + INVITATION_WAITS[tries]
                self._postponed.put(invitation.room, _Postponed(invitation, at, tries + 1))

    async def _leave_encrypted(self, room: str, events: Sequence[Json]) -> bool:
        """Leave a room if these events encrypt it, or are messages in an already encrypted room.

        Return whether nothing in it can be read.
        """
        cause = next((event for event in events if self._is_encrypted(event)), None)
        if cause is None:
            return False
        with _tolerated():
            # Anybody can send an event of this type, also where the room is not encrypted.
            if not await self.server.has_encryption(room):
                return False
        await self._say_encrypted(room, get_string(cause, "event_id"))
        return True

    def _is_encrypted(self, event: Json) -> bool:
        kind = event.get("type")
        is_written = kind == "m.room.encrypted" and event.get("sender") != self.server.user
        return kind == "m.room.encryption" or is_written

    async def _say_encrypted(self, room: str, cause: str) -> None:
        """Report once per cause that the room can't be read, and leave it; without permission to write, only
        leave.
        """
        log.warning("room_encrypted", account=self._account, room=room)
        text = ENCRYPTED.get(self._locale, ENCRYPTED["en"])
        content: Json = {"msgtype": "m.notice", "body": text, "m.mentions": {}}
        with _tolerated(), suppress(RateLimited):
            await self.server.send(room, "m.room.message", content, f"roebot-encrypted-{cause}")
        with _tolerated():
            await self.server.leave(room)


@contextmanager
def _tolerated() -> Iterator[None]:
    """Ignore a permanent refusal by a room, because repeating the call would never succeed."""
    try:
        yield
    except DeliveryError as error:
        if error.category not in _STALE:
            raise
        log.warning("room_refused", reason=str(error))


def refused_token(account: str) -> str:
    """Return how to fix a token that the homeserver refuses."""
    return f"account {account}: the homeserver refuses the access token; get a new one and set access_token"
