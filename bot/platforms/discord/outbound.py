"""Posts, edits and typing, each as a single API call."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from bot.clock import Clock
from bot.core.recent_values import RecentValues
from bot.domain import ChatKind, Mention, MentionKind, OutboundFile, OutboundMessage, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.choice_markers import ChoiceMarkers
from bot.platforms.connection import AccountHealth
from bot.platforms.discord.components import choice_rows, list_button_ids, stop_button
from bot.platforms.discord.cursor import CommandUse
from bot.platforms.discord.direct_messages import DirectMessages, ReplyNotFound, locate, name_direct
from bot.platforms.discord.earlier_posts import PAGE, EarlierPosts
from bot.platforms.discord.errors import (
    ARCHIVED,
    NO_HISTORY,
    TOKEN_OVER,
    UNKNOWN_MESSAGE,
    DiscordLimited,
    delivery_error,
    is_reference_refused,
)
from bot.platforms.discord.interactions import FIRST_PART, CommandUses
from bot.platforms.discord.renderer import mention_in_discord, render_discord
from bot.platforms.discord.rest import DiscordRest, Route
from bot.platforms.discord.sdk import discord

REMEMBERED = 500
NO_HISTORY_SECONDS = 600.0
"""How long posts to a channel name no message after Discord refused that: the period of its limit on invalid
requests (docs.discord.com/developers/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans).
"""
NO_EMBEDS = 1 << 2
"""Flag SUPPRESS_EMBEDS: Discord fetches no link of the message for a preview."""


def _as_json(body: dict[str, Any]) -> dict[str, Any]:
    return {"json": body}


class DiscordOutbound:
    """Sends to the bot's chats. `previews`: Discord may fetch links to show previews."""

    def __init__(
        self,
        account: str,
        own_id: str,
        rest: DiscordRest,
        asks: CommandUses,
        signs: ChoiceMarkers,
        health: AccountHealth,
        clock: Clock,
        *,
        previews: bool = False,
    ) -> None:
        self._account = account
        self._previews = previews
        self.leftovers = EarlierPosts(own_id, clock, self._read_page_after)
        self._rest = rest
        self._asks = asks
        self._signs = signs
        self._health = health
        self._clock = clock
        self._reposts: RecentValues[int] = RecentValues(REMEMBERED)
        self._without_history: RecentValues[float] = RecentValues(REMEMBERED)
        self._grows: RecentValues[bool] = RecentValues(4096)
        self._direct = DirectMessages(rest)

    async def send(self, message: OutboundMessage) -> str:
        """Post a message and return its id. Posts with the same key are one message while Discord remembers
        the nonce.

        What one person alone may see goes to their direct messages if Discord does not take it as an answer
        to their command; a written command is answered where it stands.
        """
        text = render_discord(message.text)
        posted = await self._answer_command(message, channel_of(message.address), text)
        if posted is not None:
            return await self._correct_post(message, posted, text)
        if not self._asks.is_private(message):
            with suppress(ReplyNotFound):
                return await self._send_there(message, text)
        address = await self.find_direct_address(message)
        return name_direct(address, await self._send_there(_as_direct(message, address), text))

    async def find_direct_address(self, sent: OutboundMessage | OutboundFile) -> ReplyAddress:
        """Return the direct message address of the person who may see a private answer. Raises
        DeliveryError.
        """
        try:
            return await self._direct.find_address(sent.address, self._asks.find_person(sent))
        except discord.DiscordException as error:
            raise self.to_delivery_error(error, posting=False) from None

    async def _send_there(self, message: OutboundMessage, text: str) -> str:
        """Post a message to its address. Raises ReplyNotFound and DeliveryError."""
        posted = await self.leftovers.find(message)
        if posted is None:
            posted = await self._post(message, channel_of(message.address), text)
        return await self._correct_post(message, posted, text)

    async def _correct_post(self, message: OutboundMessage, posted: Any, text: str) -> str:
        """Return a posted message's id, after correcting its text if necessary."""
        number = message_id_of(posted)
        self.leftovers.note_posted(number)
        self._note_growth(message, number)
        body = self._build_body(message, text)
        same = posted.get("content", body["content"]).strip() == body["content"].strip()
        if not same or list_button_ids(posted) != list_button_ids(body):
            # The nonce found what an earlier try has posted.
            await self.edit(message, number)
        return number

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        """Replace the whole text."""
        address, message_id = locate(message.address, message_id)
        message = message if address == message.address else _as_direct(message, address)
        private = self._asks.find_private(message)
        route = _message_route("PATCH", address, message_id)
        if private is not None:
            route = self._asks.build_message_route("PATCH", private, check_id(message_id))
        try:
            async with self._signs.guard_edit(message_id, message):
                body = self._build_body(message, render_discord(message.text))
                await self._call_open(route, channel_of(message.address), json=body)
        except discord.DiscordException as error:
            if isinstance(error, discord.HTTPException) and error.code == UNKNOWN_MESSAGE:
                self._next_nonce(message.key)
                self._grows.put(message_id, False)
            raise self.to_delivery_error(error, posting=False) from None
        self._note_growth(message, message_id)

    def is_growing(self, message_id: str) -> bool:
        """Return whether a message has a stop button, or may have one from an earlier connection."""
        return self._grows.get(message_id.rpartition("/")[2]) is not False

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        """Delete a message; ignored if it is already gone."""
        address, message_id = locate(address, message_id)
        self._grows.put(message_id, False)
        private = self._asks.find_private_use(address)
        if private is not None:
            route = self._asks.build_message_route("DELETE", private, check_id(message_id))
            if await self._delete(route, address):
                return
        await self._delete(_message_route("DELETE", address, message_id), address)

    async def show_typing(self, address: ReplyAddress) -> None:
        """Show "is typing" for ten seconds, or skip it if its rate limit is exhausted."""
        route = Route("POST", "/channels/{channel_id}/typing", channel_id=channel_of(address))
        try:
            await self._rest.request(route)
        except discord.DiscordException as error:
            if not (isinstance(error, DiscordLimited) and not error.everywhere):
                raise self.to_delivery_error(error, posting=False) from None

    async def change_reaction(self, method: str, address: ReplyAddress, message_id: str, emoji: str) -> None:
        """Add (PUT) or remove (DELETE) the bot's reaction; both are repeatable. Missing and non-existent
        messages are ignored (docs.discord.com/developers/resources/message#create-reaction).
        """
        # The message that a thread was started from has the thread's id and stays in the channel above.
        channel = address.chat if message_id == address.topic else channel_of(address)
        route = Route(
            method,
            "/channels/{channel_id}/messages/{message_id}/reactions/{emoji}/@me",
            channel_id=check_id(channel),
            message_id=check_id(message_id),
            emoji=emoji,
        )
        try:
            await self.call(route, posting=False)
        except DeliveryError as error:
            if error.category is not DeliveryCategory.NOT_FOUND:
                raise

    async def call(self, route: Any, *, posting: bool, **options: Any) -> Any:
        """Make a call. Raises DeliveryError."""
        try:
            return await self._rest.request(route, **options)
        except discord.DiscordException as error:
            raise self.to_delivery_error(error, posting=posting) from None

    def to_delivery_error(self, error: discord.DiscordException, *, posting: bool) -> DeliveryError:
        """Convert an error of the client; a rate limit is also reported."""
        failure = delivery_error(error, posting=posting)
        if isinstance(failure, RateLimited):
            self._health.mark_limited(failure.retry_after)
        return failure

    def build_nonce(self, key: str) -> dict[str, Any]:
        """Build the nonce that makes repeated posts one message: at most 25 characters, checked for a few
        minutes (docs.discord.com/developers/resources/message#create-message-jsonform-params).
        """
        named = f"{self._account}\n{key}\n{self._reposts.get(key) or 0}".encode()
        digest = hashlib.blake2b(named, digest_size=15).digest()
        return {"nonce": base64.b32encode(digest).decode(), "enforce_nonce": True}

    def _build_body(self, message: OutboundMessage, text: str) -> dict[str, Any]:
        buttons = stop_button() if _grows(message) else choice_rows(message.choices)
        content, written = mention_in_discord(text, message.mentions)
        body = {
            "content": content,
            "allowed_mentions": allow_mentions(message.key, written),
            "components": buttons,
        }
        return body if self._previews else {**body, "flags": NO_EMBEDS}

    def _note_growth(self, message: OutboundMessage, message_id: str) -> None:
        self._grows.put(message_id, _grows(message))

    async def _post(self, message: OutboundMessage, channel: str, text: str) -> Any:
        route = Route("POST", "/channels/{channel_id}/messages", channel_id=channel)
        body = {**self._build_body(message, text), **reply_reference(message)}
        try:
            return await self.post_reply(route, body, message.key)
        except discord.DiscordException as error:
            if not (isinstance(error, discord.HTTPException) and error.code == UNKNOWN_MESSAGE):
                raise self.to_delivery_error(error, posting=True) from None
        # What the nonce stood for was deleted (discord/discord-api-docs#6647): this is a new message.
        self._next_nonce(message.key)
        try:
            return await self.post_reply(route, body, message.key)
        except discord.DiscordException as error:
            raise self.to_delivery_error(error, posting=True) from None

    async def post_reply(
        self,
        route: Any,
        body: dict[str, Any],
        key: str,
        build: Callable[[dict[str, Any]], dict[str, Any]] = _as_json,
    ) -> Any:
        """Post a body; if Discord only refuses its reply reference, post it as a plain message, unless the
        reference is required.

        `build` makes the options of the request from the body. Raises ReplyNotFound and the errors of
        DiscordRest.
        """
        channel, now = str(route.channel_id), self._clock.now()
        body = {**body, **self.build_nonce(key)}
        plain = {name: value for name, value in body.items() if name != "message_reference"}
        must_answer = body.get("message_reference", {}).get("fail_if_not_exists", False)
        if (self._without_history.get(channel) or 0.0) > now:
            if must_answer:
                raise ReplyNotFound
            body = plain
        try:
            return await self._rest.request(route, **build(body))
        except discord.HTTPException as error:
            if "message_reference" not in body or not is_reference_refused(error):
                raise
            if error.code == NO_HISTORY:
                self._without_history.put(channel, now + NO_HISTORY_SECONDS)
            if must_answer:
                raise ReplyNotFound from None
        return await self._rest.request(route, **build(plain))

    async def _delete(self, route: Any, address: ReplyAddress) -> bool:
        """Delete a message; return False if it is gone or not reachable by this route."""
        try:
            await self._call_open(route, channel_of(address))
        except discord.DiscordException as error:
            if isinstance(error, discord.HTTPException) and (error.code in TOKEN_OVER or error.status == 404):
                return False
            raise self.to_delivery_error(error, posting=False) from None
        return True

    async def _call_open(self, route: Any, channel: str, **options: Any) -> None:
        """Edit or delete a message, unarchiving its thread if necessary, as a post would."""
        try:
            await self._rest.request(route, **options)
            return
        except discord.HTTPException as error:
            if error.code != ARCHIVED:
                raise
        opened = Route("PATCH", "/channels/{channel_id}", channel_id=channel)
        await self._rest.request(opened, json={"archived": False})
        await self._rest.request(route, **options)

    async def _read_page_after(self, address: ReplyAddress, after: int) -> Any:
        """Return the first page of messages after an id."""
        route = Route("GET", "/channels/{channel_id}/messages", channel_id=channel_of(address))
        query = {"after": str(after), "limit": str(PAGE)}
        return await self.call(route, posting=False, params=query)

    async def _answer_command(self, message: OutboundMessage, channel: str, text: str) -> Any:
        """Fill the pending answer of a command, or continue a private one; None if this message is not such
        an answer.
        """
        following = self._asks.find_followed(message)
        if following is not None:
            return await self._post_followup(following, message, text)
        try:
            ask = await self._asks.claim(message, channel)
            if ask is None:
                return None
        except discord.DiscordException as error:
            raise self.to_delivery_error(error, posting=False) from None
        try:
            return await self._asks.answer(ask, self._build_body(message, text))
        except discord.HTTPException as error:
            if ask.alone and error.code == UNKNOWN_MESSAGE:
                self._asks.note_gone(ask)
                return await self._post_followup(ask, message, text)
            if error.code in TOKEN_OVER or error.status == 404:
                self._asks.drop(ask.id)
                return None
            raise self.to_delivery_error(error, posting=False) from None
        except discord.DiscordException as error:
            raise self.to_delivery_error(error, posting=False) from None

    async def _post_followup(self, ask: CommandUse, message: OutboundMessage, text: str) -> Any:
        return await self.post_followup(ask, self._build_body(message, text))

    async def post_followup(
        self,
        ask: CommandUse,
        body: dict[str, Any],
        build: Callable[[dict[str, Any]], dict[str, Any]] = _as_json,
    ) -> Any:
        """Post a further message of a private answer; None if its token has expired. Raises DeliveryError."""
        try:
            return await self._asks.post_followup(ask, body, build)
        except discord.DiscordException as error:
            if isinstance(error, discord.HTTPException) and (error.code in TOKEN_OVER or error.status == 404):
                self._asks.drop(ask.id)
                return None
            raise self.to_delivery_error(error, posting=True) from None

    def _next_nonce(self, key: str) -> None:
        """Change a deleted message's nonce, so that the next post with its key creates a new message."""
        self._reposts.put(key, (self._reposts.get(key) or 0) + 1)


def _as_direct(message: OutboundMessage, address: ReplyAddress) -> OutboundMessage:
    """Return a private answer as a direct message without buttons: a click there would belong to the
    conversation of the direct messages rather than the original one. The text mentions what the buttons stand
    for.
    """
    return replace(message, address=address, choices=())


def channel_of(address: ReplyAddress) -> str:
    """Return the channel to write to; a thread is its own channel."""
    return check_id(address.topic or address.chat)


def reply_reference(sent: OutboundMessage | OutboundFile) -> dict[str, Any]:
    """Build a post's reply reference. The post succeeds if the replied-to message is gone, unless it is
    private, where the reference may be a slash command. Raises ReplyNotFound.
    """
    address = sent.address
    if address.chat_kind is ChatKind.PRIVATE:
        return {}
    if not address.reply_to:
        if sent.alone:
            raise ReplyNotFound
        return {}
    answered = {"message_id": check_id(address.reply_to), "fail_if_not_exists": bool(sent.alone)}
    return {"message_reference": answered}


def message_id_of(posted: Any) -> str:
    """Return the message id in a response."""
    found = posted.get("id") if isinstance(posted, dict) else None
    if not isinstance(found, str):
        raise DeliveryError(
            DeliveryCategory.TRANSIENT, "Discord's response contains no message id", unknown_outcome=True
        )
    return found


def check_id(value: str) -> str:
    """Return an id that is safe in a path. Raises DeliveryError otherwise."""
    if not value.isascii() or not value.isdecimal():
        raise DeliveryError(DeliveryCategory.NOT_FOUND, f"{value!r} is not a Discord id")
    return value


def _grows(message: OutboundMessage) -> bool:
    return not message.final and not message.full


def _message_route(method: str, address: ReplyAddress, message_id: str) -> Any:
    return Route(
        method, "/channels/{channel_id}/messages/{message_id}", channel_id=channel_of(address),
        message_id=check_id(message_id),
    )  # fmt: skip


def allow_mentions(key: str, written: Sequence[Mention] = ()) -> dict[str, Any]:
    """Return who is notified: exactly the people mentioned in the text, and in a reply's first part the
    author of the replied-to message (docs.discord.com/developers/resources/message#allowed-mentions-object).
    """
    people = [one.id for one in written if one.kind is MentionKind.PERSON]
    roles = [one.id for one in written if one.kind is MentionKind.ROLE]
    named = {kind: ids for kind, ids in (("users", people), ("roles", roles)) if ids}
    return {"parse": [], "replied_user": key.endswith(FIRST_PART), **named}
