"""Posts and edits as cards; a growing part is a streaming card."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import structlog

from bot.clock import Clock
from bot.core.recent_values import RecentValues
from bot.domain import OutboundMessage, ProgressItem, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.connection import AccountHealth
from bot.platforms.feishu import requests
from bot.platforms.feishu.cards import build_card, build_plain_card, dump_json
from bot.platforms.feishu.client import FeishuAnswer, FeishuClient
from bot.platforms.feishu.errors import (
    NO_SCOPE,
    RECALLED,
    FeishuError,
    FeishuRefused,
    FeishuUnreached,
    delivery_error,
    is_card_refused,
)
from bot.platforms.feishu.sdk import BaseRequest
from bot.platforms.feishu.streams import FeishuStreams

log = structlog.get_logger(__name__)

# A post soon after startup may repeat one by an earlier process.
DOUBTFUL_SECONDS = 10.0
_TRIED = 1024


class FeishuOutbound:
    """Sends to the bot's chats. `on_posted` is called with the id of each own message."""

    def __init__(
        self,
        client: FeishuClient,
        streams: FeishuStreams,
        clock: Clock,
        health: AccountHealth,
        on_posted: Callable[[str], None],
    ) -> None:
        self._client = client
        self._streams = streams
        self._clock = clock
        self._health = health
        self._on_posted = on_posted
        self._started = clock.now()
        self._tried: RecentValues[bool] = RecentValues(_TRIED)
        self._reposts: RecentValues[int] = RecentValues(_TRIED)
        self._reactions: RecentValues[str] = RecentValues(_TRIED)

    async def send(self, message: OutboundMessage) -> str:
        """Post a message and return its id. Posts with the same key are one message, which then has the
        newest text.
        """
        try:
            try:
                return await self._send(message)
            except FeishuRefused as refused:
                if refused.code != RECALLED:
                    raise
            # What the uuid stood for was taken back: this is a new message.
            self._next_uuid(message.key)
            return await self._send(message)
        except FeishuError as problem:
            raise self.to_delivery_error(problem, posting=True) from None

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        """Replace the whole text; the final version also stops streaming."""
        try:
            async with self._streams.signs.guard_edit(message_id, message):
                if message.final:
                    await self._finish_message(message_id, message)
                else:
                    await self._streams.extend(message_id, message.text, message.address, _steps(message))
        except FeishuError as problem:
            if isinstance(problem, FeishuRefused) and problem.code == RECALLED:
                self._next_uuid(message.key)
            raise self.to_delivery_error(problem, posting=False) from None

    def is_streaming(self, message_id: str) -> bool:
        """Return whether a message's card is streaming, or may be since an earlier connection."""
        return self._streams.is_streaming(message_id)

    async def delete(self, message_id: str) -> None:
        """Delete a message; ignored if it is already gone."""
        self._streams.forget(message_id)
        try:
            await self._client.send(requests.delete_message(message_id))
        except FeishuError as problem:
            self._raise_unless_gone(problem)

    async def react(self, message_id: str, emoji: str) -> None:
        """Add a reaction; ignored if the message is gone."""
        try:
            answer = await self._client.send(requests.add_reaction(message_id, emoji))
        except FeishuError as problem:
            self._raise_unless_gone(problem)
        else:
            self._reactions.put(message_id, str(answer.data.get("reaction_id") or ""))

    async def unreact(self, message_id: str) -> None:
        """Remove a reaction added by this process, since removal requires its id."""
        reaction = self._reactions.get(message_id)
        if reaction:
            try:
                await self._client.send(requests.remove_reaction(message_id, reaction))
            except FeishuError as problem:
                self._raise_unless_gone(problem)

    def _raise_unless_gone(self, problem: FeishuError) -> None:
        error = self.to_delivery_error(problem, posting=False)
        if error.category is not DeliveryCategory.NOT_FOUND:
            raise error from None

    async def post(self, key: str, address: ReplyAddress, kind: str, content: dict[str, Any]) -> FeishuAnswer:
        """Post content of any kind, as a reply if the address has one. Raises the client's exceptions."""
        text, uuid = dump_json(content), self._uuid(key, address)
        if address.reply_to:
            try:
                return await self._post_noted(
                    requests.reply_to_message(
                        address.reply_to, kind, text, uuid, in_topic=bool(address.topic)
                    )
                )
            except FeishuRefused as refused:
                if delivery_error(refused, posting=True).category is not DeliveryCategory.NOT_FOUND:
                    raise
                log.info("feishu.replied_message_gone", code=refused.code)
        return await self._post_noted(requests.create_message(address.chat, kind, text, uuid))

    def to_delivery_error(self, problem: FeishuError, *, posting: bool) -> DeliveryError:
        """Convert an error of the client; a limit is also reported to the account's health."""
        error = delivery_error(problem, posting=posting)
        if isinstance(error, RateLimited):
            self._health.mark_limited(error.retry_after)
        return error

    async def _post_noted(self, request: BaseRequest) -> FeishuAnswer:
        answer = await self._client.send(request)
        if not isinstance(answer.data.get("message_id"), str):
            raise FeishuUnreached("the response contains no message id", sent=True)
        self._on_posted(answer.data["message_id"])
        return answer

    async def _send(self, message: OutboundMessage) -> str:
        return await (self._send_whole(message) if message.final else self._send_stream(message))

    async def _send_whole(self, message: OutboundMessage) -> str:
        doubtful = self._may_be_repeat(message)
        began = self._clock.now()
        answer = await self._post_card(message)
        message_id = str(answer.data["message_id"])
        if doubtful or self._is_older(answer, self._clock.now() - began):
            await self._finish_message(message_id, message)
        return message_id

    async def _send_stream(self, message: OutboundMessage) -> str:
        doubtful = self._may_be_repeat(message)
        began = self._clock.now()
        stream = await self._streams.create(message.text, message.address, _steps(message))
        content = {"type": "card", "data": {"card_id": stream.card_id}}
        answer = await self.post(message.key, message.address, "interactive", content)
        message_id = str(answer.data["message_id"])
        if doubtful or self._is_older(answer, self._clock.now() - began):
            # The existing message may contain a card other than the new one.
            await self._show_in_standing(message_id, message)
        else:
            self._streams.remember(message_id, stream)
        return message_id

    async def _show_in_standing(self, message_id: str, message: OutboundMessage) -> None:
        """Show a stream's text in an existing message. Without the scope for looking up its card
        (cardkit:card:read), it does not stream.
        """
        try:
            await self._streams.extend(message_id, message.text, message.address, _steps(message))
        except FeishuRefused as refused:
            if refused.code != NO_SCOPE:
                raise
            log.info("feishu.card_replaced", code=refused.code)
            await self._patch(message_id, message)

    async def _finish_message(self, message_id: str, message: OutboundMessage) -> None:
        """Write the final text to the card, or replace the card if Feishu refuses that."""
        try:
            await self._streams.finish(
                message_id, message.text, message.address, message.choices, message.mentions
            )
        except FeishuRefused as refused:
            # Without the scope to look a card up (cardkit:card:read), its message can still be patched.
            if not is_card_refused(refused) and refused.code != NO_SCOPE:
                raise
            log.info("feishu.card_replaced", code=refused.code)
            await self._patch(message_id, message)
            self._streams.forget(message_id)

    async def _post_card(self, message: OutboundMessage) -> FeishuAnswer:
        """Post a whole text, as plain text if Feishu does not accept its Markdown."""
        try:
            return await self.post(message.key, message.address, "interactive", _final_card(message))
        except FeishuRefused as refused:
            if not _is_unshowable(refused):
                raise
            log.warning("feishu.card_refused", code=refused.code, reason=refused.msg)
            return await self.post(
                message.key, message.address, "interactive", build_plain_card(message.text)
            )

    async def _patch(self, message_id: str, message: OutboundMessage) -> None:
        try:
            await self._replace(message_id, _final_card(message))
        except FeishuRefused as refused:
            if not _is_unshowable(refused):
                raise
            log.warning("feishu.card_refused", code=refused.code, reason=refused.msg)
            await self._replace(message_id, build_plain_card(message.text))

    async def _replace(self, message_id: str, card: dict[str, Any]) -> None:
        await self._client.send(requests.replace_card_message(message_id, dump_json(card)))

    def _uuid(self, key: str, address: ReplyAddress) -> str:
        repost = self._reposts.get(key)
        return idempotency_key(f"{key}:again{repost}" if repost else key, address)

    def _next_uuid(self, key: str) -> None:
        self._reposts.put(key, (self._reposts.get(key) or 0) + 1)

    def _may_be_repeat(self, message: OutboundMessage) -> bool:
        """Return whether this post may already have been made; the existing message is then updated."""
        key = self._uuid(message.key, message.address)
        known = key in self._tried
        self._tried.put(key, True)
        return known or self._clock.now() - self._started < DOUBTFUL_SECONDS

    def _is_older(self, answer: FeishuAnswer, took: float) -> bool:
        """Return whether the message is older than the call, by the platform's clock (whole seconds)."""
        created = str(answer.data.get("create_time") or "")
        if not created.isdecimal() or not answer.server_time:
            return False
        return int(created) / 1000 < answer.server_time - took


def _is_unshowable(refused: FeishuRefused) -> bool:
    return delivery_error(refused, posting=False).category is DeliveryCategory.INVALID_PAYLOAD


def _steps(message: OutboundMessage) -> tuple[ProgressItem, ...]:
    """Return the steps in a frame, which are displayed below the last part."""
    return () if message.full else message.progress


def _final_card(message: OutboundMessage) -> dict[str, Any]:
    return build_card(message.text, message.address, choices=message.choices, mentions=message.mentions)


def idempotency_key(key: str, address: ReplyAddress) -> str:
    """Build the idempotency key of a send (at most 50 characters, kept for an hour).

    It is the same only for the same part of the same reply, even if the numbering of turns starts over.
    """
    parts = (address.account, address.chat, address.topic, address.reply_to, key)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:48]
