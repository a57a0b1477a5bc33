"""The adapter of one bot account on Discord."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

from bot.domain import (
    Attachment,
    ChatDescription,
    HistoryMessage,
    MentionKind,
    OutboundFile,
    OutboundMessage,
    ReplyAddress,
)
from bot.errors import AccountLost, AccountRefused
from bot.platforms.base import AdapterContext, CommandHint
from bot.platforms.choice_markers import ChoiceMarkers
from bot.platforms.connection import AccountHealth, ConnectedAdapter, CredentialWatch, open_task_group
from bot.platforms.discord.account import DiscordAccount
from bot.platforms.discord.channel_cache import ChannelCache
from bot.platforms.discord.components import MAX_CHOICES, DiscordClickAnswers
from bot.platforms.discord.cursor import read_cursor
from bot.platforms.discord.errors import DiscordLimited
from bot.platforms.discord.events import DiscordCounts
from bot.platforms.discord.files import DiscordFiles
from bot.platforms.discord.gateway import GatewayClient, HeartbeatWatchdog
from bot.platforms.discord.inbound import DiscordInbound
from bot.platforms.discord.interactions import CommandUses
from bot.platforms.discord.lookups import DiscordLookups
from bot.platforms.discord.missed_messages import DiscordBackfill
from bot.platforms.discord.names import DiscordIdentity, KnownNames
from bot.platforms.discord.outbound import DiscordOutbound
from bot.platforms.discord.receiver import DiscordReceiver
from bot.platforms.discord.renderer import DISCORD
from bot.platforms.discord.rest import DiscordRest, Route
from bot.platforms.discord.sdk import discord
from bot.platforms.discord.snowflake import snowflake
from bot.platforms.discord.threads import DiscordThreads
from bot.platforms.payload import Json, Malformed, get_string
from bot.render.renderer import Renderer

CLOSE_SECONDS = 0.5
STORE_SECONDS = 0.5
AUTHENTICATION_FAILED = 4004
COMMANDS_LIMIT = 100
DESCRIPTION_LIMIT = 100
"""docs.discord.com/developers/interactions/application-commands#registering-a-command"""
_TEXT, _GUILD, _BOT_DM = 3, 0, 1


class DiscordSession:
    """The parts of a connected account."""

    def __init__(
        self,
        name: str,
        rest: DiscordRest,
        identity: DiscordIdentity,
        application: str,
        cursor: str,
        context: AdapterContext,
        health: AccountHealth,
        *,
        previews: bool = False,
    ) -> None:
        self.application = application
        self._name = name
        self._credentials = CredentialWatch(lambda _: refused_token(name))
        rest.on_unauthorized = self._credentials.report
        self.places = places = ChannelCache(identity.id)
        known = KnownNames(identity, places)
        inbound = DiscordInbound(name, known, rest.site)
        lookups = DiscordLookups(rest, known, context.clock)
        stored, threads, asks = read_cursor(cursor)
        for thread in threads:
            inbound.note_own_thread(thread)
        self.asks = CommandUses(rest, application, context.clock)
        self.asks.restore(asks)
        gaps = DiscordBackfill(name, rest, places, context.clock)
        signs = ChoiceMarkers()
        clicks = DiscordClickAnswers(rest, signs)
        self.receiver = DiscordReceiver(
            name, inbound, places, lookups, gaps, self.asks, clicks, context, health, stored
        )
        self.outbound = DiscordOutbound(
            name, identity.id, rest, self.asks, signs, health, context.clock, previews=previews
        )
        self.files = DiscordFiles(rest, self.outbound, self.asks)
        self.threads = DiscordThreads(self.outbound, inbound, places, lookups)
        self.watch = HeartbeatWatchdog(context.clock, health, self.asks)
        self.client = GatewayClient(rest, self.receiver.event_readers, self.watch.note_lost, context.clock)

    async def finish(self) -> None:
        """Store received events, because the backfill does not find a new person's direct message."""
        await self.receiver.finish(STORE_SECONDS)

    async def run(self) -> None:
        """Receive until cancelled. Raises AccountRefused and AccountLost."""
        async with open_task_group() as group:
            for work, name in (
                (self._run_gateway(), "gateway"),
                (self.receiver.run(), "worker"),
                (self.watch.run(self.client), "watch"),
                (self._credentials.run(), "refused"),
            ):
                group.create_task(work, name=f"discord:{self._name}:{name}")

    async def _run_gateway(self) -> None:
        """Receive from the gateway; the client reconnects by itself where that is useful."""
        try:
            async with self.client:
                await self.client.connect()
        except discord.PrivilegedIntentsRequired:
            raise AccountRefused(
                f"Discord refuses account {self._name} the Message Content Intent: switch it on in the "
                "developer portal, page Bot, under Privileged Gateway Intents, and save"
            ) from None
        except discord.ConnectionClosed as error:
            if error.code == AUTHENTICATION_FAILED:
                raise refused_token(self._name) from None
            raise AccountLost(f"Discord closed the connection (code {error.code})") from None
        raise AccountLost("the connection to Discord was closed")


def refused_token(account: str) -> AccountRefused:
    """Describe a token that Discord does not recognize."""
    return AccountRefused(
        f"Discord refuses the token of account {account}: it is wrong or was reset; "
        "the developer portal gives a new one (page Bot, Reset Token)"
    )


async def _await_answer(account: str, work: Awaitable[Any]) -> Json:
    """Await a response while signing in. Raises AccountRefused and AccountLost."""
    try:
        answer = await work
    except discord.LoginFailure:
        raise refused_token(account) from None
    except DiscordLimited as error:
        raise AccountLost(f"Discord requires a wait of {error.retry_after:g} s before signing in") from None
    except discord.HTTPException as error:
        if error.status == 401:
            raise refused_token(account) from None
        raise AccountLost(f"Discord answers {error.status}: {error.text}") from None
    except discord.DiscordException as error:
        raise AccountLost(f"cannot reach Discord: {error}") from None
    if not isinstance(answer, dict):
        raise AccountLost("Discord's response does not match its API")
    return answer


async def find_identity(account: str, rest: DiscordRest, token: str) -> tuple[DiscordIdentity, str]:
    """Sign in, and return the bot's identity and its application's id. Raises AccountError."""
    me = await _await_answer(account, rest.static_login(token))
    application = await _await_answer(account, rest.request(Route("GET", "/oauth2/applications/@me")))
    try:
        identity = DiscordIdentity(snowflake(me, "id"), get_string(me, "username"))
        return identity, snowflake(application, "id")
    except Malformed:
        raise AccountLost("Discord's response does not match its API") from None


class DiscordAdapter(ConnectedAdapter[DiscordSession]):
    """Receives from the gateway and answers over the API. Frames are edits; posts with the same key are one
    message.
    """

    title = "Discord"
    renderer: Renderer = DISCORD
    repeats_safely = True
    """By the nonce of a post. Answers that one person alone sees have none."""
    most_choices = MAX_CHOICES
    mention_kinds = frozenset(MentionKind)

    def __init__(self, name: str, config: DiscordAccount) -> None:
        super().__init__(name)
        self.mentionable_groups: Mapping[str, str] = config.mention_roles
        self._config = config

    @property
    def counts(self) -> DiscordCounts:
        """Events received since the last start."""
        return self._session.receiver.counts if self._session is not None else DiscordCounts()

    @asynccontextmanager
    async def connect(self, context: AdapterContext, health: AccountHealth) -> AsyncIterator[DiscordSession]:
        token = self._config.bot_token
        if token is None:
            raise AccountRefused(f"account {self.name} has no bot_token")
        rest = DiscordRest(self._config.base_url, context.clock.now)
        try:
            identity, application = await find_identity(self.name, rest, token.get_secret_value())
            health.identity = f"@{identity.name}"
            cursor = await context.inbox.cursor()
            previews = self._config.link_previews
            session = DiscordSession(
                self.name, rest, identity, application, cursor, context, health, previews=previews
            )
            try:
                yield session
            finally:
                with suppress(TimeoutError):
                    async with asyncio.timeout(CLOSE_SECONDS):
                        await session.client.close()
        finally:
            await rest.close()

    async def describe_chat(self, address: ReplyAddress) -> ChatDescription:
        """Return a channel's name, as reported by the gateway."""
        return self.session.places.describe_channel(address.chat)

    async def send(self, message: OutboundMessage) -> str:
        return await self.session.outbound.send(message)

    def is_untraceable(self, message: OutboundMessage) -> bool:
        """Return whether a message is visible only to one person; without a connection, whether it may be."""
        if self._session is None:
            return bool(message.alone)
        return self._session.asks.is_untraceable(message)

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        await self.session.outbound.edit(message, message_id)

    def streaming(self, address: ReplyAddress, message_id: str) -> bool:
        """Return whether a message is growing, during which it has a stop button."""
        return self._session is None or self._session.outbound.is_growing(message_id)

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        await self.session.outbound.delete(address, message_id)

    async def typing(self, address: ReplyAddress) -> None:
        await self.session.outbound.show_typing(address)

    def reacts_in(self, address: ReplyAddress) -> bool:
        return bool(self._config.reaction)

    async def react(self, address: ReplyAddress, message_id: str) -> None:
        await self.session.outbound.change_reaction("PUT", address, message_id, self._config.reaction)

    async def unreact(self, address: ReplyAddress, message_id: str) -> None:
        await self.session.outbound.change_reaction("DELETE", address, message_id, self._config.reaction)

    async def send_file(self, file: OutboundFile) -> str:
        return await self.session.files.send(file)

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        async with aclosing(self.session.files.fetch(attachment)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def earlier(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        return await self.session.threads.read_history(address, before, limit)

    async def register_commands(self, commands: Sequence[CommandHint]) -> None:
        """Register the commands in all servers and chats, each with a single optional text field."""
        hints = [_command_json(command) for command in commands[:COMMANDS_LIMIT]]
        session = self.session
        route = Route("PUT", "/applications/{application_id}/commands", application_id=session.application)
        await session.outbound.call(route, posting=False, json=hints)


def create(name: str, config: DiscordAccount) -> DiscordAdapter:
    """Create the adapter of an account; the manifest names this factory."""
    return DiscordAdapter(name, config)


def _command_json(hint: CommandHint) -> dict[str, Any]:
    option = {"type": _TEXT, "name": "text", "description": "What else to say", "required": False}
    return {
        "type": 1,
        "name": hint.name,
        "description": hint.summary[:DESCRIPTION_LIMIT] or hint.name,
        "options": [option],
        "contexts": [_GUILD, _BOT_DM],
        "integration_types": [0],
    }
