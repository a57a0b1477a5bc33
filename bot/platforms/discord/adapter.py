"""One bot account on Discord."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from typing import Any

from bot.config import DiscordAccount
from bot.domain import Attachment, Earlier, OutboundFile, OutboundMessage, ReplyAddress
from bot.errors import AccountError, AccountRefused, DeliveryCategory, DeliveryError
from bot.platforms.base import AdapterContext, CommandHint
from bot.platforms.connection import AccountHealth
from bot.platforms.discord.components import MAX_CHOICES
from bot.platforms.discord.connection import DiscordSession
from bot.platforms.discord.files import DiscordFiles
from bot.platforms.discord.outbound import DiscordOutbound
from bot.platforms.discord.receiver import DiscordCounts
from bot.platforms.discord.rest import Route
from bot.render.discord import DISCORD
from bot.render.renderer import Renderer

COMMANDS_LIMIT = 100
DESCRIPTION_LIMIT = 100
"""docs.discord.com/developers/interactions/application-commands#registering-a-command"""
STOP_SECONDS = 1.2
_TEXT, _GUILD, _BOT_DM = 3, 0, 1


class DiscordAdapter:
    """Receives from the gateway and answers over the API. Frames are edits; a post of the same key is one."""

    def __init__(self, name: str, config: DiscordAccount) -> None:
        self.name = name
        self._config = config
        self._connection: DiscordSession | None = None
        self._running: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._cut_off = False

    @property
    def renderer(self) -> Renderer:
        return DISCORD

    @property
    def repeats_safely(self) -> bool:
        """See RepeatsSafely: by the nonce of a post."""
        return True

    @property
    def counts(self) -> DiscordCounts:
        """Events received since the last start."""
        return self._connection.receiver.counts if self._connection is not None else DiscordCounts()

    async def start(self, context: AdapterContext) -> None:
        self._ended.clear()
        self._running = running = asyncio.current_task()
        self._cut_off = False
        health = AccountHealth("Discord", context.report, context.clock)
        health.mark_connecting()
        try:
            await self._live(context, health)
            health.mark_stopped()
        except AccountError as error:
            health.mark_failed(str(error))
            raise
        except asyncio.CancelledError:
            if not self._cut_off:
                raise
            if running is not None:
                running.uncancel()
            health.mark_stopped()
        finally:
            self._running = None
            await self._close()
            self._ended.set()

    async def stop(self) -> None:
        running = self._running
        if running is None:
            return
        if self._connection is not None:
            self._connection.end()
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    await self._ended.wait()
        if not self._ended.is_set():  # it still signs in, or does not come to an end
            self._cut_off = True
            running.cancel()
            await self._ended.wait()

    async def send(self, message: OutboundMessage) -> str:
        return await self._out().send(message)

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        await self._out().edit(message, message_id)

    def streaming(self, address: ReplyAddress, message_id: str) -> bool:
        """See StreamsNatively: a message has a stop button while it grows."""
        return self._connection is not None and self._connection.outbound.is_growing(message_id)

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        await self._out().delete(address, message_id)

    async def typing(self, address: ReplyAddress) -> None:
        await self._out().show_typing(address)

    @property
    def most_choices(self) -> int:
        return MAX_CHOICES

    async def send_file(self, file: OutboundFile) -> str:
        return await self._files().send(file)

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        async with aclosing(self._files().fetch(attachment)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def earlier(self, address: ReplyAddress, before: str, limit: int) -> Sequence[Earlier]:
        self._out()
        assert self._connection is not None
        return await self._connection.threads.read_history(address, before, limit)

    async def register_commands(self, commands: Sequence[CommandHint]) -> None:
        """See RegistersCommands: application commands everywhere, with one free field for words."""
        hints = [_command_json(command) for command in commands[:COMMANDS_LIMIT]]
        outbound = self._out()
        assert self._connection is not None
        route = Route(
            "PUT", "/applications/{application_id}/commands", application_id=self._connection.application
        )
        await outbound.call(route, posting=False, json=hints)

    async def _live(self, context: AdapterContext, health: AccountHealth) -> None:
        token = self._config.bot_token
        if token is None:
            raise AccountRefused(f"account {self.name} has no bot_token")
        self._connection = connection = await DiscordSession.sign_in(
            self.name, token.get_secret_value(), self._config.base_url, context, health
        )
        await connection.run()

    async def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def _out(self) -> DiscordOutbound:
        if self._connection is None:
            raise DeliveryError(DeliveryCategory.TRANSIENT, f"account {self.name} is not connected")
        return self._connection.outbound

    def _files(self) -> DiscordFiles:
        self._out()
        assert self._connection is not None
        return self._connection.files


def create(name: str, config: DiscordAccount) -> DiscordAdapter:
    """The factory that the manifest names."""
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
