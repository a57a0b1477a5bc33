"""Event reception through Bolt: signatures, handshakes, and a middleware that stores events before
answering.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

import structlog
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.middleware.async_middleware_error_handler import AsyncMiddlewareErrorHandler
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from agent.shared.request_signature import is_timestamp
from bot.domain import ChatKind, InboundChange, InboundMessage, Sender
from bot.platforms.base import Inbox, WebhookAnswer, WebhookRequest
from bot.platforms.connection import AccountHealth
from bot.platforms.payload import Json, Malformed, get_object
from bot.platforms.slack.agent_view import SlackAgentView, SlackViewing
from bot.platforms.slack.choices import SlackClick
from bot.platforms.slack.directory import SlackDirectory
from bot.platforms.slack.inbound import (
    Ignored,
    SlackEvent,
    SlackIdentity,
    SlackInbound,
    SlackMessage,
    SlackRating,
    SlackTitle,
    find_team,
)
from bot.platforms.slack.lookups import SlackLookups
from bot.platforms.slack.names import SlackNames
from bot.platforms.slack.sessions import SlackSessions

log = structlog.get_logger(__name__)

UNREADABLE = (AttributeError, KeyError, IndexError, TypeError, ValueError)
"""Errors that Bolt raises for payloads of an unexpected shape."""
TIMESTAMP = "x-slack-request-timestamp"
SILENT_LOGGER = logging.getLogger("slack_bolt.roebot")
SILENT_LOGGER.setLevel(logging.CRITICAL)


@dataclass(slots=True)
class SlackCounts:
    """Numbers of received events, for tests and diagnosis."""

    events: int = 0
    messages: int = 0
    edits: int = 0
    ignored: int = 0
    malformed: int = 0
    failed: int = 0


class SlackReceiver:
    """Stores an account's payloads, received by socket or by request.

    `answer_click` is called with each stored click and the text that refuses it (None for an accepted one),
    `answer_rating` with the response URL of each stored rating and the text for its author.
    """

    def __init__(
        self,
        account: str,
        identity: SlackIdentity,
        inbox: Inbox,
        places: SlackDirectory,
        health: AccountHealth,
        lookups: SlackLookups,
        sessions: SlackSessions,
        view: SlackAgentView,
        answer_click: Callable[[SlackClick, str | None], None],
        answer_rating: Callable[[str, str], None],
        signing_secret: str = "",
    ) -> None:
        self.counts = SlackCounts()
        self._account = account
        self._identity = identity
        self._inbound = SlackInbound(account, identity)
        self._inbox = inbox
        self._places = places
        self._lookups = lookups
        self._sessions = sessions
        self._view = view
        self._health = health
        self._answer_click = answer_click
        self._answer_rating = answer_rating
        self._orders: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._app = self._make_app(signing_secret)

    async def receive_envelope(self, payload: dict[str, Any]) -> bool:
        """Store an envelope's payload; return whether it may be acknowledged."""
        try:
            request = AsyncBoltRequest(body=payload, mode="socket_mode")
        except UNREADABLE as error:
            self._count_unreadable(error)
            return True
        response = await self._app.async_dispatch(request)
        return int(response.status) == 200

    async def receive_request(self, body: str, headers: dict[str, str]) -> BoltResponse:
        """Store a signed request's content and return Bolt's response."""
        try:
            request = AsyncBoltRequest(body=body, headers=dict(headers))
        except UNREADABLE as error:
            self._count_unreadable(error)
            return BoltResponse(status=400)
        return await self._app.async_dispatch(request)

    def _count_unreadable(self, error: Exception) -> None:
        """Count and log a payload that Bolt cannot parse. It is acknowledged, because a repeat would be
        identical.
        """
        self.counts.events += 1
        self.counts.malformed += 1
        log.warning("slack.event_skipped", account=self._account, reason=type(error).__name__)

    def _make_app(self, signing_secret: str) -> AsyncApp:
        identity = self._identity

        async def authorize(**_: Any) -> AuthorizeResult:
            return AuthorizeResult(
                enterprise_id=None, team_id=identity.team, bot_id=identity.bot, bot_user_id=identity.user
            )

        async def durable(body: dict[str, Any], ack: Callable[[], Awaitable[BoltResponse]]) -> BoltResponse:
            await self._store(body)
            return await ack()

        app = AsyncApp(
            name="roebot",
            logger=SILENT_LOGGER,
            client=AsyncWebClient(proxy="unset"),
            authorize=authorize,
            signing_secret=signing_secret or "unused",
            request_verification_enabled=bool(signing_secret),
            ignoring_self_events_enabled=False,
            process_before_response=True,
        )
        app.middleware(durable)
        app._async_middleware_error_handler = _FailureHandler(self)
        return app

    async def _store(self, body: dict[str, Any]) -> None:
        """Store a payload's content. On an error, Slack receives no acknowledgement."""
        self.counts.events += 1
        self._health.mark_live()
        names = self._inbound.make_names()
        if isinstance(body.get("event"), dict):
            body = {**body, "event": self._view.complete(body["event"])}
        try:
            event = self._inbound.read(body, names)
        except Malformed as error:
            self.counts.malformed += 1
            log.warning("slack.event_skipped", account=self._account, reason=str(error))
            return
        if isinstance(event, Ignored):
            self.counts.ignored += 1
            return
        if isinstance(event, SlackViewing):
            self._view.handle(event)
            return
        if isinstance(event, SlackRating):
            await self._rate(event)
            return
        if isinstance(event, SlackTitle):
            sender = await self._find_sender(event.origin.sender)
            await self._inbox.retitle(replace(event.origin, sender=sender), event.title)
            return
        origin = event.origin if isinstance(event, InboundChange) else event.message.origin
        names.chat = origin.chat
        # Lookups of all events run concurrently; a chat's events are stored in arrival order.
        completing = asyncio.create_task(self._complete(event, body, names))
        order = self._orders.setdefault(origin.chat, asyncio.Lock())
        try:
            async with order:
                await self._accept(await completing, body)
        finally:
            await _end_task(completing)

    async def _rate(self, event: SlackRating) -> None:
        """Store a rating, and confirm it to the person. Raises the inbox's errors."""
        origin = event.rating.origin
        sender = await self._find_sender(origin.sender)
        text = await self._inbox.rate(replace(event.rating, origin=replace(origin, sender=sender)))
        if text:
            self._answer_rating(event.response_url, text)

    async def _accept(self, event: SlackMessage | InboundChange, body: Json) -> None:
        """Store an event with its names looked up. Raises the inbox's errors."""
        if isinstance(event, InboundChange):
            self.counts.edits += 1
            if event.message is not None:
                team = find_team(get_object(get_object(body, "event"), "message"), body)
                self._note_place(SlackMessage(event.message, team))
            await self._inbox.accept([event])
            return
        self._note_place(event)
        refused = await self._inbox.accept([event.message])
        self.counts.messages += 1
        if event.click is not None:
            self._answer_click(event.click, refused.get(event.message.event_id))

    async def _complete(
        self, event: SlackMessage | InboundChange, body: Json, names: SlackNames
    ) -> SlackMessage | InboundChange:
        """Return an event with Slack's data about its people, names and thread. It records nothing that must
        follow an earlier event of the chat.
        """
        if isinstance(event, InboundChange):
            return await self._complete_change(event, body, names)
        return replace(event, message=await self._complete_message(event, body, names))

    async def _complete_message(self, event: SlackMessage, body: Json, names: SlackNames) -> InboundMessage:
        message = event.message
        if message.addressed:
            self._note_thread(message)  # replies to it may be on their way
        if event.thread and await self._is_in_own_thread(message.origin.chat, event.thread):
            message = replace(message, addressed=True)
        if not message.addressed and not self._inbox.records(message.origin.chat):
            return message
        found, sender = await self._look_up(message.origin.sender, body, names)
        if isinstance(found, SlackMessage):
            named = found.message
            sender = replace(sender, name=sender.name or named.origin.sender.name)
            message = replace(
                message,
                text=named.text,
                attachments=named.attachments,
                quotations=named.quotations,
                mentions=named.mentions,
            )
        chat = message.origin.chat
        if event.in_direct_chat:
            chat = await self._places.find_direct_chat(sender.id) or chat
        return replace(message, origin=replace(message.origin, sender=sender, chat=chat))

    def _note_thread(self, message: InboundMessage) -> None:
        """Record a thread started by a person's mention of the bot."""
        origin = message.origin
        is_start = bool(origin.topic) and origin.topic == origin.message_id
        if is_start and origin.chat_kind is ChatKind.GROUP and not origin.sender.is_bot:
            self._places.note_own_thread(origin.chat, origin.topic)

    def _note_place(self, event: SlackMessage) -> None:
        """Record the destination and recipient of a message's answer."""
        message, origin = event.message, event.message.origin
        if not message.addressed:
            return
        if event.response_url:
            self._places.note_response_url(origin.message_id, event.response_url)
        if event.is_stop:
            self._sessions.note_stop(origin.chat, origin.topic)
        elif origin.topic and not origin.sender.is_bot:
            self._places.note_asker(
                origin.chat, origin.topic, origin.sender.id, event.team or self._identity.team
            )
            self._sessions.note_question(origin.chat, origin.topic, message.text, origin.sender.id)
        self._note_thread(message)
        if event.response_url and self._inbox.alone(message):
            self._places.note_private_answer(origin.message_id)

    async def _complete_change(self, changed: InboundChange, body: Json, names: SlackNames) -> InboundChange:
        origin = changed.origin
        if changed.text is None or (origin.sender.is_bot and not self._inbox.records(origin.chat)):
            return changed
        if changed.message is not None:
            self._note_thread(changed.message)  # replies to it may be on their way
        found, sender = await self._look_up(origin.sender, body, names)
        changed = found if isinstance(found, InboundChange) else changed
        sender = replace(sender, name=sender.name or changed.origin.sender.name)
        message = changed.message
        if message is not None:
            message = replace(message, origin=replace(message.origin, sender=sender))
        return replace(changed, origin=replace(changed.origin, sender=sender), message=message)

    async def _look_up(self, sender: Sender, body: Json, names: SlackNames) -> tuple[SlackEvent, Sender]:
        """Look up a payload's sender and names concurrently."""
        if not names.missing:
            return Ignored(), await self._find_sender(sender)
        return await asyncio.gather(self._with_names(body, names), self._find_sender(sender))

    async def _with_names(self, body: Json, names: SlackNames) -> SlackEvent:
        """Reread a payload with the missing names; return Ignored if there are none."""
        return self._inbound.read(body, names) if await self._lookups.complete(names) else Ignored()

    async def _find_sender(self, sender: Sender) -> Sender:
        """Return a person with name, workspaces and groups; an app stays as described in its message, as a
        guest if it is from another organization.
        """
        if sender.is_bot or not sender.id:
            ours = {f"team:{team}" for team in self._identity.teams}
            teams = {one for one in sender.belongs if one.startswith("team:")}
            return replace(sender, guest=bool(teams) and ours.isdisjoint(teams))
        return await self._places.find_sender(sender.id, sender.name)

    async def _is_in_own_thread(self, chat: str, thread: str) -> bool:
        try:
            return await self._places.is_own_thread(chat, thread)
        except SlackApiError as error:
            if error.response.status_code == 429:
                raise
            return False


async def _end_task(task: asyncio.Task[Any]) -> None:
    """Cancel a task unless it is done, without delaying the acknowledgement that follows."""
    if not task.done():
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.exception()  # retrieved, so that the loop does not log it


class _FailureHandler(AsyncMiddlewareErrorHandler):
    """Counts failed acceptances; Bolt responds with 500, so that Slack resends the event."""

    def __init__(self, receiver: SlackReceiver) -> None:
        self._receiver = receiver

    async def handle(
        self, error: Exception, request: AsyncBoltRequest, response: BoltResponse | None
    ) -> None:
        self._receiver.counts.failed += 1
        log.warning("slack.event_not_accepted", error=type(error).__name__)


class SlackWebhook:
    """Receives an account's signed requests from the service's HTTP port."""

    def __init__(self, secret: str, receiver: SlackReceiver, health: AccountHealth) -> None:
        self._receiver = receiver
        self._health = health
        self._verifier = SignatureVerifier(secret) if secret else None

    async def run(self) -> None:
        """Wait until cancelled: Slack connects to the service's HTTP port."""
        self._health.mark_live()
        await asyncio.Event().wait()

    async def answer(self, request: WebhookRequest) -> WebhookAnswer:
        """Store a request. 400: unreadable; 401: not from Slack; 500: not stored, to be resent."""
        # Bolt checks the signature too, but only after it has parsed the body.
        if not self._is_signed(request):
            return WebhookAnswer(401)
        try:
            response = await self._receiver.receive_request(
                request.body.decode("utf-8"), dict(request.headers)
            )
        except ValueError:
            return WebhookAnswer(400)
        kind = str(response.headers.get("content-type", ["text/plain; charset=utf-8"])[0])
        return WebhookAnswer(response.status, response.body.encode(), kind)

    def _is_signed(self, request: WebhookRequest) -> bool:
        if self._verifier is None or not is_timestamp(request.headers.get(TIMESTAMP, "")):
            return False
        try:
            return self._verifier.is_valid_request(request.body, request.headers)
        except (ValueError, TypeError):  # a body that is not UTF-8, a signature that is not ASCII
            return False
