"""Uses of application commands, deferred within three seconds and answered by the reply's first message."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import structlog

from bot.clock import Clock
from bot.core.recent_values import RecentValues
from bot.domain import ChatKind, OutboundFile, OutboundMessage, ReplyAddress
from bot.platforms.discord.callbacks import CALLBACK_SECONDS
from bot.platforms.discord.cursor import CommandUse
from bot.platforms.discord.errors import ACKNOWLEDGED, DiscordNoAnswer
from bot.platforms.discord.rest import DiscordRest, Route
from bot.platforms.discord.sdk import discord
from bot.platforms.discord.snowflake import snowflake_time

log = structlog.get_logger(__name__)

TOKEN_SECONDS = 14 * 60.0
"""How long an answer may use the token: a minute less than Discord lets it
(docs.discord.com/developers/interactions/receiving-and-responding#followup-messages)."""
DEFERRED = 5
FOR_ONE = 1 << 6
"""Flag of an answer that only who used the command sees."""
LOADING = 1 << 7
"""Flag of an answer that has no content yet."""
FIRST_PART = ":0"
"""How the key of a reply's first part ends (`OutboundMessage.key`)."""
MOST = 50
REMEMBERED = 500
"""How many private uses are known to be private after their token is over."""


class CommandUses:
    """Open command uses of an account. Calls raise the errors of `Rest`."""

    def __init__(self, rest: DiscordRest, application: str, clock: Clock) -> None:
        self._rest = rest
        self._application = application
        self._clock = clock
        self._open: OrderedDict[str, CommandUse] = OrderedDict()
        self._taken: dict[str, str] = {}
        self._deferred: dict[str, asyncio.Event] = {}
        self._restored: set[str] = set()
        self._gone: set[str] = set()
        self._private: RecentValues[str] = RecentValues(REMEMBERED)

    @property
    def open_uses(self) -> Iterable[CommandUse]:
        """Return the uses without an answer, and those whose private answer may continue."""
        return [ask for ask in self._open.values() if ask.alone or ask.id not in self._taken]

    def restore(self, asks: Iterable[CommandUse]) -> None:
        """Restore the uses that were open when the service stopped."""
        for ask in asks:
            self._keep(ask)
            self._restored.add(ask.id)

    def add(self, ask_id: str, token: str, channel: str, person: str, *, alone: bool = False) -> None:
        """Record a person's use before its message is stored, so that an answer can find it."""
        self._keep(CommandUse(ask_id, token, channel, snowflake_time(ask_id) + TOKEN_SECONDS, alone), person)
        self._deferred[ask_id] = asyncio.Event()
        while len(self._open) > MOST:
            self.drop(next(iter(self._open)))

    async def defer(self, ask_id: str) -> None:
        """Announce an answer to Discord. If that is refused, the use is dropped; if the outcome is unknown,
        the answer's first message reveals it.
        """
        ask = self._open.get(ask_id)
        if ask is None:
            return
        waiting = self._deferred[ask_id]
        route = Route(
            "POST", "/interactions/{webhook_id}/{webhook_token}/callback", webhook_id=ask_id,
            webhook_token=ask.token,
        )  # fmt: skip
        data = {"data": {"flags": FOR_ONE}} if ask.alone else {}
        try:
            async with asyncio.timeout(CALLBACK_SECONDS):
                await self._rest.request(route, json={"type": DEFERRED, **data})
        except (TimeoutError, DiscordNoAnswer, discord.DiscordServerError) as error:
            log.info("discord.maybe_not_deferred", reason=type(error).__name__)
        except discord.DiscordException as error:
            if isinstance(error, discord.HTTPException) and error.code == ACKNOWLEDGED:
                return  # the gateway sent the same use twice
            log.info("discord.not_deferred", reason=type(error).__name__)
            self.drop(ask_id)
        finally:
            waiting.set()

    async def claim(self, message: OutboundMessage, channel: str) -> CommandUse | None:
        """Return the use answered by this message, which must be the first of a reply."""
        if not message.key.endswith(FIRST_PART):
            return None
        ask = self._find_use(message, channel)
        if ask is None:
            return None
        if message.alone and not ask.alone:  # what the person may do has changed since it was deferred
            await self._take_back(ask)
            return None
        self._taken[ask.id] = message.key
        if not await self._wait_for_deferral(ask):
            self._taken.pop(ask.id, None)
            if message.address.reply_to == ask.id:
                self.drop(ask.id)
            return None
        if self._open.get(ask.id) is None or not await self._is_usable(ask, message):
            self.drop(ask.id)
            return None
        return ask

    async def answer(self, ask: CommandUse, body: dict[str, Any]) -> Any:
        """Fill the deferred answer; repeated calls are harmless."""
        return await self._rest.request(self._answer_route("PATCH", ask), json=body)

    def find_followed(self, message: OutboundMessage) -> CommandUse | None:
        """Return the private use whose answer this message continues, if any."""
        return None if message.key.endswith(FIRST_PART) else self.find_private_use(message.address)

    def is_untraceable(self, message: OutboundMessage) -> bool:
        """Return whether a message is part of a private answer: no call lists those, and follow-ups accept no
        nonce (discord-api-docs#6647). The first part fills the deferred answer, whose address is known while
        the token is valid.
        """
        use = message.address.reply_to
        if use not in self._private:
            return False
        ask = self._open.get(use)
        is_first = message.key.endswith(FIRST_PART) and use not in self._gone
        return not is_first or ask is None or ask.until <= self._clock.now()

    def is_private(self, sent: OutboundMessage | OutboundFile) -> bool:
        """Return whether a message is part of an answer visible only to the command's user; False if the use
        is no longer known.
        """
        return sent.address.reply_to in self._private

    def find_person(self, sent: OutboundMessage | OutboundFile) -> str:
        """Return the person who may see a private answer, or "" if unknown."""
        return sent.alone or self._private.get(sent.address.reply_to) or ""

    def note_gone(self, ask: CommandUse) -> None:
        """Record that the deferred answer was deleted, so that the answer consists of follow-ups."""
        self._gone.add(ask.id)

    def find_private(self, message: OutboundMessage) -> CommandUse | None:
        """Return the private use to which this message belongs, if any."""
        for ask in self._open.values():
            mine = message.address.reply_to == ask.id or self._taken.get(ask.id) == message.key
            if ask.alone and mine and ask.until > self._clock.now():
                return ask
        return None

    def find_private_use(self, address: ReplyAddress) -> CommandUse | None:
        """Return the private use answered at this address, if its token is valid."""
        ask = self._open.get(address.reply_to)
        return ask if ask is not None and ask.alone and ask.until > self._clock.now() else None

    def build_message_route(self, method: str, ask: CommandUse, message_id: str) -> Any:
        """Build the route to edit ("PATCH") or delete a private answer, which the channel does not contain
        (discord-api-docs#6253, for deletions #5570).
        """
        return Route(
            method, "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}",
            webhook_id=self._application, webhook_token=ask.token, message_id=message_id,
        )  # fmt: skip

    async def post_followup(
        self, ask: CommandUse, body: dict[str, Any], build: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> Any:
        """Send another private message to the command's user. `build` creates the request options from its
        body.
        """
        await self._wait_for_deferral(ask)
        route = Route(
            "POST", "/webhooks/{webhook_id}/{webhook_token}",
            webhook_id=self._application, webhook_token=ask.token,
        )  # fmt: skip
        flags = body.get("flags", 0) | FOR_ONE
        return await self._rest.request(route, **build({**body, "flags": flags}), params={"wait": "true"})

    async def expire(self) -> None:
        """Remove "thinking" indicators shortly before their token expires; private ones disappear by
        themselves.
        """
        now = self._clock.now()
        for ask in [ask for ask in self._open.values() if ask.until <= now]:
            if ask.alone or ask.id in self._taken:
                self.drop(ask.id)
            else:
                await self._take_back(ask)

    async def _take_back(self, ask: CommandUse) -> None:
        """Drop a use and delete its deferred answer."""
        await self._wait_for_deferral(ask)
        self.drop(ask.id)
        try:
            await self._rest.request(self._answer_route("DELETE", ask))
        except discord.DiscordException as error:
            log.info("discord.not_taken_back", reason=type(error).__name__)

    async def _wait_for_deferral(self, ask: CommandUse) -> bool:
        """Wait until the interaction has been acknowledged. Return False after twice the time limit of a
        callback: the use may not be stored yet, or its callback was lost.
        """
        waiting = self._deferred.get(ask.id)
        if waiting is None:
            return True
        try:
            async with asyncio.timeout(2 * CALLBACK_SECONDS):
                await waiting.wait()
        except TimeoutError:
            log.warning("discord.deferral_missing", interaction=ask.id)
            return False
        return True

    def _find_use(self, message: OutboundMessage, channel: str) -> CommandUse | None:
        for ask in self._open.values():
            if ask.channel != channel or ask.until <= self._clock.now():
                continue
            if self._taken.get(ask.id) == message.key:
                return ask
            # A reply in private names no message that it answers: the oldest use there is meant.
            meant = message.address.chat_kind is ChatKind.PRIVATE and not message.address.reply_to
            if ask.id not in self._taken and (meant or message.address.reply_to == ask.id):
                return ask
        return None

    async def _is_usable(self, ask: CommandUse, message: OutboundMessage) -> bool:
        """Return whether, after a restart, the answer is certainly this reply's, or still open."""
        if ask.id not in self._restored or message.address.reply_to == ask.id:
            return True
        try:
            found = await self._rest.request(self._answer_route("GET", ask))
        except discord.DiscordServerError:
            raise
        except discord.HTTPException:
            return False
        self._restored.discard(ask.id)
        return bool(found.get("flags", 0) & LOADING)

    def _answer_route(self, method: str, ask: CommandUse) -> Any:
        return Route(
            method, "/webhooks/{webhook_id}/{webhook_token}/messages/@original",
            webhook_id=self._application, webhook_token=ask.token,
        )  # fmt: skip

    def _keep(self, ask: CommandUse, person: str = "") -> None:
        self._open[ask.id] = ask
        if ask.alone:
            self._private.put(ask.id, person)

    def drop(self, ask_id: str) -> None:
        """Drop a use that is over or whose token can't be used."""
        self._open.pop(ask_id, None)
        self._taken.pop(ask_id, None)
        self._restored.discard(ask_id)
        self._gone.discard(ask_id)
        waiting = self._deferred.pop(ask_id, None)
        if waiting is not None:
            waiting.set()
