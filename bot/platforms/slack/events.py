"""Bolt's side of receiving: signatures, handshakes, and a middleware that stores before it answers."""

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
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain import ChatKind, InboundChange, InboundMessage
from bot.platforms.base import Inbox
from bot.platforms.connection import AccountHealth
from bot.platforms.payload import Malformed
from bot.platforms.slack.choices import SlackClick
from bot.platforms.slack.directory import SlackDirectory
from bot.platforms.slack.inbound import Ignored, SlackIdentity, SlackInbound, SlackMessage

log = structlog.get_logger(__name__)

UNREADABLE = (AttributeError, KeyError, IndexError, TypeError, ValueError)
"""Errors that Bolt raises for payloads of an unexpected shape."""
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
    """Takes payloads of one account, by socket or by request, and stores what they say.

    `settle` is called with each click, and why it counts for nothing (None where it counts).
    """

    def __init__(
        self,
        account: str,
        identity: SlackIdentity,
        inbox: Inbox,
        places: SlackDirectory,
        health: AccountHealth,
        settle: Callable[[SlackClick, str | None], None],
        signing_secret: str = "",
    ) -> None:
        self.counts = SlackCounts()
        self._account = account
        self._identity = identity
        self._inbound = SlackInbound(account, identity)
        self._inbox = inbox
        self._places = places
        self._health = health
        self._answer_click = settle
        self._orders: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._app = self._make_app(signing_secret)

    async def receive_envelope(self, payload: dict[str, Any]) -> bool:
        """Take the payload of an envelope; whether it may be acknowledged."""
        try:
            request = AsyncBoltRequest(body=payload, mode="socket_mode")
        except UNREADABLE as error:
            self._count_unreadable(error)
            return True
        response = await self._app.async_dispatch(request)
        return int(response.status) == 200

    async def receive_request(self, body: str, headers: dict[str, str]) -> BoltResponse:
        """Take a signed request; the answer to give."""
        try:
            request = AsyncBoltRequest(body=body, headers=dict(headers))
        except UNREADABLE as error:
            self._count_unreadable(error)
            return BoltResponse(status=400)
        return await self._app.async_dispatch(request)

    def _count_unreadable(self, error: Exception) -> None:
        """Count what cannot even be looked at; it would come again as it is."""
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
        """Store what a payload says; an error means that Slack is not told "received"."""
        self.counts.events += 1
        self._health.mark_live()
        try:
            heard = self._inbound.read(body)
        except Malformed as error:
            self.counts.malformed += 1
            log.warning("slack.event_skipped", account=self._account, reason=str(error))
            return
        if isinstance(heard, Ignored):
            self.counts.ignored += 1
            return
        origin = heard.origin if isinstance(heard, InboundChange) else heard.message.origin
        order = self._orders.setdefault(origin.chat, asyncio.Lock())
        async with order:
            if isinstance(heard, InboundChange):
                self.counts.edits += 1
                await self._inbox.accept([await self._with_editor(heard)])
                return
            message = await self._complete_message(heard)
            refused = await self._inbox.accept([message])
        self.counts.messages += 1
        if heard.click is not None:
            self._answer_click(heard.click, refused.get(message.event_id))

    async def _complete_message(self, heard: SlackMessage) -> InboundMessage:
        message = heard.message
        if heard.thread and await self._is_in_own_thread(message.origin.chat, heard.thread):
            message = replace(message, addressed=True)
        origin = message.origin
        if not message.addressed and not self._inbox.records(origin.chat):
            return message
        if not message.addressed:
            sender = await self._places.find_sender(origin.sender.id, origin.sender.name)
            return replace(message, origin=replace(origin, sender=sender))
        if heard.in_direct_chat:
            origin = replace(
                origin, chat=await self._places.find_direct_chat(origin.sender.id) or origin.chat
            )
        if heard.response_url:
            self._places.note_response_url(origin.message_id, heard.response_url)
        if origin.topic:
            self._places.note_asker(
                origin.chat, origin.topic, origin.sender.id, heard.team or self._identity.team
            )
            if origin.chat_kind is ChatKind.GROUP and origin.topic == origin.message_id:
                self._places.note_own_thread(origin.chat, origin.topic)
        sender = await self._places.find_sender(origin.sender.id, origin.sender.name)
        message = replace(message, origin=replace(origin, sender=sender))
        if heard.response_url and self._inbox.alone(message):
            self._places.note_private_answer(origin.message_id)
        return message

    async def _with_editor(self, changed: InboundChange) -> InboundChange:
        if changed.text is None or not changed.origin.sender.id:
            return changed
        sender = await self._places.find_sender(changed.origin.sender.id)
        return replace(changed, origin=replace(changed.origin, sender=sender))

    async def _is_in_own_thread(self, chat: str, thread: str) -> bool:
        try:
            return await self._places.is_own_thread(chat, thread)
        except SlackApiError as error:
            if error.response.status_code == 429:
                raise
            return False


class _FailureHandler(AsyncMiddlewareErrorHandler):
    """Counts a failed acceptance; Bolt answers 500, so that Slack sends it again."""

    def __init__(self, receiver: SlackReceiver) -> None:
        self._receiver = receiver

    async def handle(
        self, error: Exception, request: AsyncBoltRequest, response: BoltResponse | None
    ) -> None:
        self._receiver.counts.failed += 1
        log.warning("slack.event_not_accepted", error=type(error).__name__)
