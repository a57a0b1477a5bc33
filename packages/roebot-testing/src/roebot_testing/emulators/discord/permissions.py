"""The bot's permissions in a channel, and each route's requirements.

Source unless another is named: docs.discord.com/developers/topics/permissions. Direct messages have no
permissions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntFlag
from types import MappingProxyType
from typing import Any, NamedTuple

from roebot_testing.emulators.discord.errors import DiscordRefusal
from roebot_testing.emulators.discord.state import THREADS, DiscordChatChannel


class BotPermission(IntFlag):
    """Bits of permissions (…#permissions-bitwise-permission-flags)."""

    ADD_REACTIONS = 1 << 6
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    MANAGE_MESSAGES = 1 << 13
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_MESSAGE_HISTORY = 1 << 16
    MANAGE_THREADS = 1 << 34
    CREATE_PUBLIC_THREADS = 1 << 35
    SEND_MESSAGES_IN_THREADS = 1 << 38


INVITED = (
    BotPermission.VIEW_CHANNEL
    | BotPermission.SEND_MESSAGES
    | BotPermission.SEND_MESSAGES_IN_THREADS
    | BotPermission.ATTACH_FILES
    | BotPermission.READ_MESSAGE_HISTORY
    | BotPermission.ADD_REACTIONS
)
"""What the bot has in a server: the permissions that our setup link asks for, nothing more."""


class Need(NamedTuple):
    """A permission that a call needs if `applies`, and how Discord refuses it."""

    permission: BotPermission
    refusal: DiscordRefusal
    applies: Callable[[DiscordChatChannel, Mapping[str, Any], bool], bool]
    source: str


def _always(channel: DiscordChatChannel, body: Mapping[str, Any], files: bool) -> bool:
    return True


def _in_thread(channel: DiscordChatChannel, body: Mapping[str, Any], files: bool) -> bool:
    return channel.type in THREADS


def _in_channel(channel: DiscordChatChannel, body: Mapping[str, Any], files: bool) -> bool:
    return channel.type not in THREADS


def _with_files(channel: DiscordChatChannel, body: Mapping[str, Any], files: bool) -> bool:
    return files


def _embeds_alone(channel: DiscordChatChannel, body: Mapping[str, Any], files: bool) -> bool:
    return bool(body.get("embeds")) and not (body.get("content") or files or body.get("components"))


def _replies(channel: DiscordChatChannel, body: Mapping[str, Any], files: bool) -> bool:
    return bool(body.get("message_reference"))


_CREATE = "docs.discord.com/developers/resources/message#create-message-limitations"
_WRITES = (
    Need(BotPermission.SEND_MESSAGES, DiscordRefusal.MISSING_PERMISSIONS, _in_channel, _CREATE),
    Need(
        BotPermission.SEND_MESSAGES_IN_THREADS,
        DiscordRefusal.MISSING_PERMISSIONS,
        _in_thread,
        "docs.discord.com/developers/topics/threads#permissions",
    ),
)
NEEDS: Mapping[str, tuple[Need, ...]] = MappingProxyType(
    {
        "createMessage": (
            *_WRITES,
            Need(
                BotPermission.ATTACH_FILES,
                DiscordRefusal.MISSING_PERMISSIONS,
                _with_files,
                "docs.discord.com/developers/topics/permissions#permissions-bitwise-permission-flags",
            ),
            Need(
                BotPermission.EMBED_LINKS,
                DiscordRefusal.MISSING_PERMISSIONS,
                _embeds_alone,
                "discord-api-docs#2601",
            ),
            Need(BotPermission.READ_MESSAGE_HISTORY, DiscordRefusal.NO_HISTORY, _replies, _CREATE),
        ),
        "typing": tuple(need._replace(source="discordeno/discordeno#622") for need in _WRITES),
        "addReaction": tuple(
            Need(
                permission,
                DiscordRefusal.MISSING_PERMISSIONS,
                _always,
                "docs.discord.com/developers/resources/message#create-reaction",
            )
            for permission in (BotPermission.READ_MESSAGE_HISTORY, BotPermission.ADD_REACTIONS)
        ),
        "getMessage": (
            Need(
                BotPermission.READ_MESSAGE_HISTORY,
                DiscordRefusal.MISSING_PERMISSIONS,
                _always,
                "docs.discord.com/developers/resources/message#get-channel-message",
            ),
        ),
        "startThread": (
            Need(
                BotPermission.CREATE_PUBLIC_THREADS,
                DiscordRefusal.MISSING_PERMISSIONS,
                _always,
                "docs.discord.com/developers/topics/threads#permissions",
            ),
        ),
    }
)
"""Needs by route, in addition to View Channel, without which every route of a channel is refused."""


def permissions_of(channel: DiscordChatChannel) -> BotPermission:
    """Return the bot's permissions in a channel; a thread inherits its channel's."""
    base = permissions_of(channel.parent) if channel.parent is not None else INVITED
    return base & ~BotPermission(channel.denied) | BotPermission(channel.granted)


def check_permissions(
    route: str, channel: DiscordChatChannel, body: Mapping[str, Any], *, files: bool = False
) -> None:
    """Check that the bot may call a route about a channel. Raises DiscordApiError 403."""
    if channel.guild is None:
        return
    held = permissions_of(channel)
    if not held & BotPermission.VIEW_CHANNEL:
        raise DiscordRefusal.MISSING_ACCESS.error()
    for need in NEEDS.get(route, ()):
        if need.applies(channel, body, files) and not held & need.permission:
            raise need.refusal.error()
