"""Posts, edits, drafts and typing, each as a single Bot API call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog
from telegram.error import TelegramError

from bot.core.recent_values import RecentValues
from bot.domain import ChatKind, OutboundMessage, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.base import Inbox, TooLong
from bot.platforms.connection import AccountHealth
from bot.platforms.telegram.entity_renderer import (
    TELEGRAM_ENTITIES,
    TELEGRAM_TEXT_LIMIT,
    Entity,
    render_entities,
)
from bot.platforms.telegram.errors import TelegramRefused, delivery_error
from bot.platforms.telegram.http import TelegramClient
from bot.platforms.telegram.inline_keyboard import inline_keyboard
from bot.platforms.telegram.rich_renderer import (
    RICH_SOURCE_LIMIT,
    TELEGRAM_RICH,
    rich_markdown,
    thinking_block,
)
from bot.render.measure import utf8_bytes, utf16_units
from bot.render.progress import checklist, summarize_steps
from bot.render.renderer import Renderer

log = structlog.get_logger(__name__)


_NO_PREVIEW: Mapping[str, Any] = {"link_preview_options": {"is_disabled": True}}
_REFUSED = 1024
_PREVIEWING = ("sendMessage", "editMessageText")
"""Methods that take `link_preview_options` with a text. Drafts and rich messages have no previews."""


class TelegramOutbound:
    """Sends to the bot's chats. `rich`: the server supports rich messages (Bot API 10.1); `previews`: it may
    fetch links to show previews.
    """

    def __init__(
        self,
        client: TelegramClient,
        inbox: Inbox,
        health: AccountHealth,
        *,
        rich: bool,
        previews: bool = False,
    ) -> None:
        self.rich = rich
        self._previews = previews
        self._client = client
        self._inbox = inbox
        self._health = health
        self._moved: dict[str, str] = {}
        self._plain: RecentValues[bool] = RecentValues(_REFUSED)
        """Texts and chats for which a rich message was refused: asking again would use up the rate limit."""

    @property
    def renderer(self) -> Renderer:
        """The renderer for the format to try first."""
        return TELEGRAM_RICH if self.rich else TELEGRAM_ENTITIES

    async def send(self, message: OutboundMessage) -> str:
        """Post a message and return its id."""
        parameters = {**reply_parameters(message.address), **_button_parameters(message)}
        posted = await self._call_with_text(
            ("sendMessage", "sendRichMessage"), message, posting=True, **parameters
        )
        return str(posted["message_id"])

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        """Replace the whole text of a message."""
        methods = ("editMessageText", "editMessageText")
        parameters = {"message_id": _parse_id(message_id), **_button_parameters(message)}
        await self._call_with_text(methods, message, posting=False, **parameters)

    async def show_draft(self, message: OutboundMessage, draft_id: int) -> None:
        """Show a preview for 30 seconds, with the current steps, and with Telegram's own stop button (Bot API
        10.3) below.
        """
        methods = ("sendMessageDraft", "sendRichMessageDraft")
        parameters = {"draft_id": draft_id, "can_stop": True, "keep_on_stop": True}
        await self._call_with_text(
            methods, message, posting=False, **parameters, **_topic_parameters(message.address)
        )

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        """Delete a message; ignored if it is already gone."""
        try:
            await self.call_chat("deleteMessage", address, posting=False, message_id=_parse_id(message_id))
        except DeliveryError as error:
            if error.category is not DeliveryCategory.NOT_FOUND:
                raise

    async def show_typing(self, address: ReplyAddress) -> None:
        """Show "typing …" for about five seconds."""
        await self.call_chat(
            "sendChatAction", address, posting=False, action="typing", **_topic_parameters(address)
        )

    async def set_reaction(self, address: ReplyAddress, message_id: str, emoji: str) -> None:
        """Set the bot's reaction to a message ("": none), replacing its previous reaction."""
        reaction = [{"type": "emoji", "emoji": emoji}] if emoji else []
        try:
            await self.call_chat(
                "setMessageReaction",
                address,
                posting=False,
                message_id=_parse_id(message_id),
                reaction=reaction,
            )
        except DeliveryError as error:
            if error.category is not DeliveryCategory.NOT_FOUND:
                raise

    async def call_chat(self, method: str, address: ReplyAddress, *, posting: bool, **parameters: Any) -> Any:
        """Call a method for a chat, following a migration. Raises DeliveryError."""
        try:
            return await self._call_following_move(method, address, **parameters)
        except TelegramError as error:
            raise self.to_delivery_error(error, posting=posting) from None

    async def _call_following_move(self, method: str, address: ReplyAddress, **parameters: Any) -> Any:
        """Call a method for a chat. Raises the client's errors."""
        chat = self._moved.get(address.chat)
        if chat is not None:
            return await self._call_moved(method, chat, parameters)
        try:
            return await self._client.call(method, chat_id=_parse_id(address.chat), **parameters)
        except TelegramRefused as error:
            if not error.migrate_to:
                raise
            self._moved[address.chat] = error.migrate_to
            await self._inbox.migrate_chat(address.chat, error.migrate_to)
            return await self._call_moved(method, error.migrate_to, parameters)

    def to_delivery_error(self, error: TelegramError, *, posting: bool) -> DeliveryError:
        """Convert an error of the client; a rate limit is also reported."""
        failure = delivery_error(error, posting=posting)
        if isinstance(failure, RateLimited):
            self._health.mark_limited(failure.retry_after)
        return failure

    async def _call_moved(self, method: str, chat: str, parameters: dict[str, Any]) -> Any:
        # A supergroup restarts its message ids, so the old group's ids refer to other messages there.
        if "message_id" in parameters:
            raise DeliveryError(
                DeliveryCategory.NOT_FOUND, "the group was migrated; its old messages can't be changed"
            )
        options = {
            key: value
            for key, value in parameters.items()
            if key not in ("reply_parameters", "message_thread_id")
        }
        return await self._client.call(method, chat_id=_parse_id(chat), **options)

    async def _call_with_text(
        self, methods: tuple[str, str], message: OutboundMessage, *, posting: bool, **parameters: Any
    ) -> Any:
        """Call a method with a text. Raises TooLong if the text needs a rich message and none is possible."""
        plain, rich = methods
        if self.rich and not self._is_refused(message):
            answer = await self._try_rich(rich, message, posting, parameters)
            if answer is not None:
                return answer
        text = _join(message.text, checklist(message.progress))
        rendered = render_entities(text, message.mentions)
        if utf16_units(rendered.text) > TELEGRAM_TEXT_LIMIT:
            raise TooLong(TELEGRAM_ENTITIES)
        entities = [_entity_json(entity) for entity in rendered.entities]
        previews = {} if self._previews or plain not in _PREVIEWING else _NO_PREVIEW
        return await self.call_chat(
            plain,
            message.address,
            posting=posting,
            text=rendered.text,
            entities=entities or None,
            **previews,
            **parameters,
        )

    def _is_refused(self, message: OutboundMessage) -> bool:
        return bool(self._plain.get(message.address.chat) or self._plain.get(_name_text(message)))

    async def _try_rich(
        self, method: str, message: OutboundMessage, posting: bool, parameters: dict[str, Any]
    ) -> Any:
        """Return the response, or None if entities must be used: permanently after a 404, for this message if
        its format is refused.
        """
        steps = thinking_block(summarize_steps(message.progress)) if message.progress else ""
        content = {"markdown": _join(rich_markdown(message.text, message.mentions), steps)}
        if utf8_bytes(content["markdown"]) > RICH_SOURCE_LIMIT:
            log.info("telegram.rich_too_long")
            return None
        try:
            return await self._call_following_move(
                method, message.address, rich_message=content, **parameters
            )
        except TelegramError as error:
            failure = self.to_delivery_error(error, posting=posting)
            if isinstance(error, TelegramRefused) and error.status == 404:
                self.rich = False
                log.info("telegram.rich_unknown")
            elif not _refuses_form(failure):
                raise failure from None
            else:
                log.info("telegram.rich_refused", reason=failure.detail)
                is_forbidden = failure.category is DeliveryCategory.PERMISSION
                self._plain.put(message.address.chat if is_forbidden else _name_text(message), True)
            return None


def _name_text(message: OutboundMessage) -> str:
    return f"{message.address.chat}:{message.key}:{hash(message.text)}"


def _join(text: str, steps: str) -> str:
    return "\n\n".join(filter(None, [text, steps]))


def _refuses_form(failure: DeliveryError) -> bool:
    """Return whether an error refuses the content, or rich messages in a group that forbids only them (tdlib,
    MessageContent.cpp, can_send_message_content).
    """
    if failure.category is DeliveryCategory.PERMISSION:
        return "rich message" in failure.detail
    return failure.category is DeliveryCategory.INVALID_PAYLOAD


def _entity_json(entity: Entity) -> dict[str, Any]:
    wire: dict[str, Any] = {"type": entity.type, "offset": entity.offset, "length": entity.length}
    if entity.url:
        wire["url"] = entity.url
    if entity.language:
        wire["language"] = entity.language
    if entity.user:
        # Telegram reads the id alone (core.telegram.org/bots/api#messageentity).
        wire["user"] = {"id": int(entity.user), "is_bot": False, "first_name": ""}
    return wire


def _button_parameters(message: OutboundMessage) -> dict[str, Any]:
    return {"reply_markup": inline_keyboard(message.choices)} if message.choices else {}


def _topic_parameters(address: ReplyAddress) -> dict[str, Any]:
    return {"message_thread_id": _parse_id(address.topic)} if address.topic else {}


def reply_parameters(address: ReplyAddress) -> dict[str, Any]:
    """Return a post's topic and replied-to message."""
    parameters = _topic_parameters(address)
    if address.reply_to:
        parameters["reply_parameters"] = {
            "message_id": _parse_id(address.reply_to),
            "allow_sending_without_reply": True,
        }
    return parameters


def is_private(address: ReplyAddress) -> bool:
    """Return whether a chat is private, since drafts fail elsewhere (TEXTDRAFT_PEER_INVALID)."""
    return address.chat_kind is ChatKind.PRIVATE


def _parse_id(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise DeliveryError(DeliveryCategory.NOT_FOUND, f"{value!r} is not a Telegram id") from None
