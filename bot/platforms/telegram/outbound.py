"""Posts, edits, drafts and typing: Markdown in, one call of the Bot API out."""

from __future__ import annotations

from typing import Any

import structlog
from telegram.error import TelegramError

from bot.domain import ChatKind, OutboundMessage, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.base import Inbox
from bot.platforms.health import Health
from bot.platforms.telegram.client import Client
from bot.platforms.telegram.errors import delivery_error
from bot.platforms.telegram.inline_keyboard import keyboard
from bot.platforms.telegram.request import ApiRefused
from bot.render.rich import rich_markdown
from bot.render.telegram import Entity, render_entities

log = structlog.get_logger(__name__)


class Outbound:
    """What the bot does in its chats. `rich` says that the server knows rich messages (Bot API 10.1)."""

    def __init__(self, client: Client, inbox: Inbox, health: Health, *, rich: bool) -> None:
        self.rich = rich
        self._client = client
        self._inbox = inbox
        self._health = health
        self._moved: dict[str, str] = {}

    async def send(self, message: OutboundMessage) -> str:
        """Post; returns the message id."""
        parameters = {**_reply(message.address), **_buttons(message)}
        posted = await self._text(("sendMessage", "sendRichMessage"), message, posting=True, **parameters)
        return str(posted["message_id"])

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        """Replace the whole text."""
        methods = ("editMessageText", "editMessageText")
        parameters = {"message_id": _number(message_id), **_buttons(message)}
        await self._text(methods, message, posting=False, **parameters)

    async def draft(self, message: OutboundMessage, draft_id: int) -> None:
        """Show a preview for 30 seconds, with Telegram's own stop button (Bot API 10.3) below it."""
        methods = ("sendMessageDraft", "sendRichMessageDraft")
        parameters = {"draft_id": draft_id, "can_stop": True, "keep_on_stop": True}
        await self._text(methods, message, posting=False, **parameters, **_thread(message.address))

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        """Delete; one that is gone already is as good."""
        try:
            await self.call("deleteMessage", address, posting=False, message_id=_number(message_id))
        except DeliveryError as error:
            if error.category is not DeliveryCategory.NOT_FOUND:
                raise

    async def typing(self, address: ReplyAddress) -> None:
        """Show "typing …" for about five seconds."""
        await self.call("sendChatAction", address, posting=False, action="typing", **_thread(address))

    async def call(self, method: str, address: ReplyAddress, *, posting: bool, **parameters: Any) -> Any:
        """Call a method about a chat; one that moved is followed. Raises DeliveryError."""
        try:
            return await self.attempt(method, address, **parameters)
        except TelegramError as error:
            raise self.failure(error, posting=posting) from None

    async def attempt(self, method: str, address: ReplyAddress, **parameters: Any) -> Any:
        """As `call`, with the errors of the client."""
        chat = self._moved.get(address.chat)
        if chat is not None:
            return await self._call_moved(method, chat, parameters)
        try:
            return await self._client.call(method, chat_id=_number(address.chat), **parameters)
        except ApiRefused as error:
            if not error.migrate_to:
                raise
            self._moved[address.chat] = error.migrate_to
            await self._inbox.migrate_chat(address.chat, error.migrate_to)
            return await self._call_moved(method, error.migrate_to, parameters)

    def failure(self, error: TelegramError, *, posting: bool) -> DeliveryError:
        """The error to raise for one of the client; a limit is also reported."""
        failure = delivery_error(error, posting=posting)
        if isinstance(failure, RateLimited):
            self._health.limited(failure.retry_after)
        return failure

    async def _call_moved(self, method: str, chat: str, parameters: dict[str, Any]) -> Any:
        # A supergroup counts its messages anew: ids of the old group name other messages there.
        if "message_id" in parameters:
            raise DeliveryError(DeliveryCategory.NOT_FOUND, "the group moved; its old messages stay behind")
        kept = {
            key: value
            for key, value in parameters.items()
            if key not in ("reply_parameters", "message_thread_id")
        }
        return await self._client.call(method, chat_id=_number(chat), **kept)

    async def _text(
        self, methods: tuple[str, str], message: OutboundMessage, *, posting: bool, **parameters: Any
    ) -> Any:
        plain, rich = methods
        if self.rich:
            answer = await self._rich(rich, message, posting, parameters)
            if answer is not None:
                return answer
        rendered = render_entities(message.text)
        entities = [_entity(entity) for entity in rendered.entities]
        return await self.call(
            plain,
            message.address,
            posting=posting,
            text=rendered.text,
            entities=entities or None,
            **parameters,
        )

    async def _rich(
        self, method: str, message: OutboundMessage, posting: bool, parameters: dict[str, Any]
    ) -> Any:
        """The answer, or None where entities have to do: for good on 404, for this message on 400."""
        content = {"markdown": rich_markdown(message.text)}
        try:
            return await self.attempt(method, message.address, rich_message=content, **parameters)
        except TelegramError as error:
            failure = self.failure(error, posting=posting)
            if isinstance(error, ApiRefused) and error.status == 404:
                self.rich = False
                log.info("telegram.rich_unknown")
            elif failure.category is not DeliveryCategory.INVALID_PAYLOAD:
                raise failure from None
            else:
                log.info("telegram.rich_refused", reason=failure.detail)
            return None


def _entity(entity: Entity) -> dict[str, Any]:
    wire: dict[str, Any] = {"type": entity.type, "offset": entity.offset, "length": entity.length}
    if entity.url:
        wire["url"] = entity.url
    if entity.language:
        wire["language"] = entity.language
    return wire


def _buttons(message: OutboundMessage) -> dict[str, Any]:
    return {"reply_markup": keyboard(message.choices)} if message.choices else {}


def _thread(address: ReplyAddress) -> dict[str, Any]:
    return {"message_thread_id": _number(address.topic)} if address.topic else {}


def _reply(address: ReplyAddress) -> dict[str, Any]:
    where = _thread(address)
    if address.reply_to:
        where["reply_parameters"] = {
            "message_id": _number(address.reply_to),
            "allow_sending_without_reply": True,
        }
    return where


def reply_parameters(address: ReplyAddress) -> dict[str, Any]:
    """Topic and replied-to message of a post."""
    return _reply(address)


def is_private(address: ReplyAddress) -> bool:
    """Whether a chat is private: only there are drafts possible (elsewhere TEXTDRAFT_PEER_INVALID)."""
    return address.chat_kind is ChatKind.PRIVATE


def _number(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise DeliveryError(DeliveryCategory.NOT_FOUND, f"{value!r} is no id of Telegram") from None
