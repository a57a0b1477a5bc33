"""The link that adds the bot to a server, with exactly the permissions used by the adapter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntFlag
from types import MappingProxyType
from urllib.parse import urlencode

from bot.clock import SystemClock
from bot.config import AccountConfig
from bot.errors import AccountRefused
from bot.platforms.discord.account import DiscordAccount

_PAGE = "https://discord.com/oauth2/authorize"
PLACEHOLDER = "APPLICATION_ID"


class InvitePermission(IntFlag):
    """Permission bits (docs.discord.com/developers/topics/permissions)."""

    ADD_REACTIONS = 1 << 6
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    ATTACH_FILES = 1 << 15
    READ_MESSAGE_HISTORY = 1 << 16
    SEND_MESSAGES_IN_THREADS = 1 << 38


USES: Mapping[InvitePermission, str] = MappingProxyType(
    {
        InvitePermission.VIEW_CHANNEL: "receive messages and read a channel's name",
        InvitePermission.SEND_MESSAGES: "post answers in a channel",
        InvitePermission.SEND_MESSAGES_IN_THREADS: "post answers in a thread or a forum post",
        InvitePermission.ATTACH_FILES: "post the agent's files",
        InvitePermission.READ_MESSAGE_HISTORY: "read a thread's earlier messages, and any that were missed",
        InvitePermission.ADD_REACTIONS: "mark messages that are being answered, if `reaction` is set",
    }
)
"""What the adapter needs each permission for."""


def invite_address(application: str, permissions: Iterable[InvitePermission] = USES) -> str:
    """Return the link that adds an application to a server
    (docs.discord.com/developers/topics/oauth2#bot-authorization-flow).
    """
    asked = sum(permissions)
    query = {"client_id": application, "scope": "bot applications.commands", "permissions": asked}
    return f"{_PAGE}?{urlencode(query)}"


class DiscordSetup:
    """Builds the link from the account's token."""

    async def invite_link(self, account: AccountConfig | None) -> str:
        """Return the link; the application's id comes from the API. Raises AccountError."""
        if account is None:
            return f"{invite_address(PLACEHOLDER)} ({PLACEHOLDER}: General Information > Application ID)"
        # The SDK is loaded only here: the manifest command needs no SDK.
        from bot.platforms.discord.adapter import find_identity
        from bot.platforms.discord.rest import DiscordRest

        if not isinstance(account, DiscordAccount) or account.bot_token is None:
            raise AccountRefused(f"account {account.name} has no bot_token")
        rest = DiscordRest(account.base_url, SystemClock().now)
        try:
            _, application = await find_identity(account.name, rest, account.bot_token.get_secret_value())
        finally:
            await rest.close()
        return invite_address(application)


SETUP = DiscordSetup()
