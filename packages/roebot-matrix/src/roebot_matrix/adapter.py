"""The adapter, which converts the service's requests to homeserver calls."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager

from bot.core.recent_values import RecentValues
from bot.domain import (
    Attachment,
    ChatDescription,
    HistoryMessage,
    InboundMessage,
    MentionKind,
    OutboundFile,
    OutboundMessage,
    PartialHistory,
    ReplyAddress,
)
from bot.errors import AccountLost, AccountRefused, DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.base import AdapterContext
from bot.platforms.connection import AccountHealth, ConnectedAdapter
from bot.platforms.payload import Json, get_object, get_string
from bot.render.renderer import Renderer
from roebot_matrix.account import MatrixAccount
from roebot_matrix.homeserver import Homeserver
from roebot_matrix.manifest import MANIFEST
from roebot_matrix.rendering import MATRIX, edit_content, text_content
from roebot_matrix.session import MatrixSession, refused_token

TYPING_SECONDS = 15.0
MAX_UNSURE = 1024
"""Maximum number of remembered messages whose outcome is unknown."""
MAX_READ = 50
"""Maximum number of messages to read in a thread."""
MAX_DELETED = 3
"""Deleted attempts to send a message, after which it is not sent again."""
_FILE_TYPES = {"image": "m.image", "audio": "m.audio", "video": "m.video"}


class MatrixAdapter(ConnectedAdapter[MatrixSession]):
    """A user of a homeserver."""

    title = MANIFEST.title

    def __init__(self, name: str, config: MatrixAccount) -> None:
        super().__init__(name)
        token = config.access_token.get_secret_value() if config.access_token else ""
        self._url, self._token, self._locale = config.base_url or "", token, config.locale
        self._unsure: RecentValues[bool] = RecentValues(MAX_UNSURE)

    @property
    def renderer(self) -> Renderer:
        return MATRIX

    @property
    def repeats_safely(self) -> bool:
        return True

    @property
    def mention_kinds(self) -> frozenset[MentionKind]:
        return frozenset({MentionKind.PERSON})

    @property
    def mentionable_groups(self) -> Mapping[str, str]:
        return {}

    @asynccontextmanager
    async def connect(self, context: AdapterContext, health: AccountHealth) -> AsyncIterator[MatrixSession]:
        server = Homeserver(self._url, self._token)
        try:
            try:
                health.identity = await server.sign_in()
            except DeliveryError as error:
                if error.category in (DeliveryCategory.AUTH, DeliveryCategory.PERMISSION):
                    raise AccountRefused(refused_token(self.name)) from error
                reason = f"account {self.name}: the homeserver can't be reached: {error.detail}"
                raise AccountLost(reason) from error
            yield MatrixSession(self.name, self._locale, server, context, health)
        finally:
            await server.close()

    async def send(self, message: OutboundMessage) -> str:
        content = {**text_content(message.text, message.mentions), **_relation(message.address)}
        return await self._post(message, content)

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        if self.session.reader.is_deleted(message_id):
            raise DeliveryError(DeliveryCategory.NOT_FOUND, "the message was deleted")
        await self._edit(message.address, message_id, text_content(message.text, message.mentions))

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        try:
            with self._calls():
                await self.session.server.redact(address.chat, message_id)
        except DeliveryError as error:
            if error.category is not DeliveryCategory.NOT_FOUND:
                raise

    async def typing(self, address: ReplyAddress) -> None:
        with self._calls():
            await self.session.server.typing(address.chat, TYPING_SECONDS)

    async def send_file(self, file: OutboundFile) -> str:
        with self._calls():
            address = await self.session.server.upload(file.data, file.mime, file.filename)
        content: Json = {
            "msgtype": _FILE_TYPES.get(file.mime.partition("/")[0], "m.file"),
            "body": file.filename,
            "filename": file.filename,
            "url": address,
            "info": {"mimetype": file.mime, "size": len(file.data)},
            "m.mentions": {},
            **_relation(file.address),
        }
        return await self._post(file, content)

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        async for chunk in self.session.server.download(attachment.ref):
            yield chunk

    async def earlier(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        session = self.session
        events = [*await session.server.thread(address.chat, address.topic, MAX_READ)]
        events.append(await session.server.event(address.chat, address.topic))
        older = events[_place_of(before, events) + 1 :]
        read = await session.reader.read(await session.reader.place(address.chat), list(reversed(older)))
        messages = [_history(one) for one in read if isinstance(one, InboundMessage)]
        return messages if len(messages) <= limit else PartialHistory(messages[-limit:])

    async def describe_chat(self, address: ReplyAddress) -> ChatDescription:
        server = self.session.server
        if not server.knows(address.chat):
            return ChatDescription()
        try:
            people = await server.count_members(address.chat)
        except DeliveryError:
            people = 0
        visibility = "public" if server.is_public(address.chat) else "private"
        return ChatDescription(server.title_of(address.chat), people, visibility)

    async def _post(self, file_or_text: OutboundFile | OutboundMessage, content: Json) -> str:
        """Send an event once per key, however often this is called, and return its id.

        If an attempt may not be the first, the event is read from the homeserver: it may have an older text,
        or somebody may have deleted it.
        """
        session, address = self.session, file_or_text.address
        if session.server.is_encrypted(address.chat):
            raise DeliveryError(DeliveryCategory.PERMISSION, "the room is encrypted")
        key = f"{self.name}\n{address.chat}\n{file_or_text.key}\n{file_or_text.since}"
        is_first = file_or_text.since > session.started_at and key not in self._unsure
        self._unsure.put(key, True)
        transaction = key
        for _ in range(MAX_DELETED):
            message_id = await self._send(address, content, _digest(transaction))
            if is_first:
                break
            with self._calls():
                there = await session.server.event(address.chat, message_id)
            if not session.reader.is_deleted(message_id) and "redacted_because" not in get_object(
                there, "unsigned"
            ):
                if get_string(get_object(there, "content"), "body") != content["body"]:
                    await self._edit(address, message_id, content)
                break
            transaction = f"{key}\n{message_id}"
        self._unsure.pop(key)
        return message_id

    async def _edit(self, address: ReplyAddress, message_id: str, content: Json) -> None:
        await self._send(address, edit_content(message_id, content), "")

    async def _send(self, address: ReplyAddress, content: Json, transaction: str) -> str:
        with self._calls():
            return await self.session.server.send(address.chat, "m.room.message", content, transaction)

    @contextmanager
    def _calls(self) -> Iterator[None]:
        """Report rate limits, and when they are over."""
        health = self.session.health
        try:
            yield
        except RateLimited as error:
            health.mark_limited(error.retry_after)
            raise
        health.record_accepted_call()


def create(name: str, config: MatrixAccount) -> MatrixAdapter:
    """Create the adapter of an account."""
    return MatrixAdapter(name, config)


def _relation(address: ReplyAddress) -> Json:
    """Return an answer's relation: to its thread, or to the message it answers.

    Sources: spec.matrix.org/latest/client-server-api/#threading and #rich-replies.
    """
    replied = {"m.in_reply_to": {"event_id": address.reply_to}} if address.reply_to else {}
    if not address.topic:
        return {"m.relates_to": replied} if replied else {}
    return {
        "m.relates_to": {
            "rel_type": "m.thread",
            "event_id": address.topic,
            "is_falling_back": True,
            "m.in_reply_to": {"event_id": address.reply_to or address.topic},
        }
    }


def _digest(text: str) -> str:
    """Return a transaction id."""
    return f"roebot-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _place_of(event_id: str, events: Sequence[Json]) -> int:
    return next((place for place, event in enumerate(events) if event.get("event_id") == event_id), -1)


def _history(message: InboundMessage) -> HistoryMessage:
    return HistoryMessage(
        message.origin.message_id,
        message.origin.sender,
        message.text,
        message.sent_at,
        message.link,
        message.quotations,
    )
