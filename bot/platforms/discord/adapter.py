"""One bot account on Discord."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

from bot.config import DiscordAccount
from bot.domain import Attachment, HistoryMessage, OutboundFile, OutboundMessage, ReplyAddress
from bot.errors import AccountRefused
from bot.platforms.base import AdapterContext, CommandHint
from bot.platforms.connection import AccountHealth, ConnectedAdapter
from bot.platforms.discord.components import MAX_CHOICES
from bot.platforms.discord.connection import DiscordSession
from bot.platforms.discord.receiver import DiscordCounts
from bot.platforms.discord.rest import Route
from bot.render.discord import DISCORD
from bot.render.renderer import Renderer

COMMANDS_LIMIT = 100
DESCRIPTION_LIMIT = 100
"""docs.discord.com/developers/interactions/application-commands#registering-a-command"""
_TEXT, _GUILD, _BOT_DM = 3, 0, 1


class DiscordAdapter(ConnectedAdapter[DiscordSession]):
    """Receives from the gateway and answers over the API. Frames are edits; a post of the same key is one."""

    title = "Discord"
    renderer: Renderer = DISCORD
    repeats_safely = True
    """By the nonce of a post."""
    most_choices = MAX_CHOICES

    def __init__(self, name: str, config: DiscordAccount) -> None:
        super().__init__(name)
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
        session = await DiscordSession.sign_in(
            self.name, token.get_secret_value(), self._config.base_url, context, health
        )
        try:
            yield session
        finally:
            await session.close()

    async def send(self, message: OutboundMessage) -> str:
        return await self.session.outbound.send(message)

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        await self.session.outbound.edit(message, message_id)

    def streaming(self, address: ReplyAddress, message_id: str) -> bool:
        """See StreamsNatively: a message has a stop button while it grows."""
        return self._session is not None and self._session.outbound.is_growing(message_id)

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        await self.session.outbound.delete(address, message_id)

    async def typing(self, address: ReplyAddress) -> None:
        await self.session.outbound.show_typing(address)

    async def send_file(self, file: OutboundFile) -> str:
        return await self.session.files.send(file)

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        async with aclosing(self.session.files.fetch(attachment)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def earlier(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        return await self.session.threads.read_history(address, before, limit)

    async def register_commands(self, commands: Sequence[CommandHint]) -> None:
        """See RegistersCommands: application commands everywhere, with one free field for words."""
        hints = [_command_json(command) for command in commands[:COMMANDS_LIMIT]]
        session = self.session
        route = Route("PUT", "/applications/{application_id}/commands", application_id=session.application)
        await session.outbound.call(route, posting=False, json=hints)


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
