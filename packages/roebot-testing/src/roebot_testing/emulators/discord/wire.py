"""Objects as Discord's API writes them and as a person sees them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from roebot_testing.emulators.discord.components import labels
from roebot_testing.emulators.discord.errors import DiscordRefusal
from roebot_testing.emulators.discord.state import (
    DM,
    EPHEMERAL,
    FORUM,
    THREADS,
    DiscordChatChannel,
    DiscordMessage,
    DiscordUser,
    Guild,
)
from roebot_testing.emulators.discord.workspace import EPOCH_MS, DiscordWorkspace

GUEST = 1 << 4
"""Flag of a member (docs.discord.com/developers/resources/guild#guild-member-object-guild-member-flags)."""
ALL_PERMISSIONS = 0x7FFFFFFFFFFFFF


def timestamp(snowflake: int) -> str:
    """Return the time in an id, as ISO 8601."""
    return _iso(((snowflake >> 22) + EPOCH_MS) / 1000)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def message_wire(message: DiscordMessage, *, nested: bool = False, event: bool = False) -> dict[str, Any]:
    """Build the message object; `event` adds the fields of gateway events."""
    wire: dict[str, Any] = {
        "id": str(message.id),
        "channel_id": str(message.channel.id),
        "author": message.sender.wire(),
        "content": message.text,
        "timestamp": timestamp(message.id),
        "edited_timestamp": _iso(message.edited_at) if message.edited_at else None,
        "tts": False,
        "mention_everyone": False,
        "mentions": [_mention(message, user, event=event) for user in message.mentions],
        "mention_roles": re.findall(r"<@&(\d+)>", message.text),
        "attachments": [file.wire() for file in message.files],
        "embeds": [],
        "components": message.components,
        "pinned": False,
        "type": message.kind,
        "flags": message.flags,
        **({"nonce": message.nonce} if message.nonce else {}),
    }
    if message.reply_to is not None:
        replied = message.reply_to
        wire["message_reference"] = _reference(replied)
        if not nested:
            wire["referenced_message"] = None if replied.deleted else message_wire(replied, nested=True)
    guild = message.channel.guild
    if event and guild is not None:
        wire["guild_id"] = str(guild.id)
        wire["member"] = member_wire(guild, message.sender)
    if event:
        wire["channel_type"] = message.channel.type
    return {**wire, **message.extra}


def _mention(message: DiscordMessage, user: DiscordUser, *, event: bool) -> dict[str, Any]:
    """Build a mentioned user; events in servers have their member object too."""
    guild = message.channel.guild
    return {**user.wire(), "member": member_wire(guild, user)} if event and guild else user.wire()


def _reference(message: DiscordMessage) -> dict[str, Any]:
    reference = {"type": 0, "message_id": str(message.id), "channel_id": str(message.channel.id)}
    if message.channel.guild is not None:
        reference["guild_id"] = str(message.channel.guild.id)
    return reference


def channel_wire(channel: DiscordChatChannel) -> dict[str, Any]:
    """Build the channel object; threads and DMs have further fields."""
    wire: dict[str, Any] = {
        "id": str(channel.id),
        "type": channel.type,
        "last_message_id": channel.last_message_id,
        "flags": 0,
    }
    if channel.type == DM and channel.person is not None:
        return {**wire, "recipients": [channel.person.wire()]}
    wire |= {"name": channel.name, "parent_id": None, "nsfw": False, "rate_limit_per_user": 0}
    if channel.guild is not None:
        wire["guild_id"] = str(channel.guild.id)
    if channel.parent is None:
        wire |= {"position": 0, "permission_overwrites": [], "topic": None}
        return {**wire, "available_tags": _tags(channel)} if channel.type == FORUM else wire
    wire |= {
        "parent_id": str(channel.parent.id),
        "owner_id": str(channel.owner),
        "message_count": len(channel.messages),
        "member_count": 1,
        "thread_metadata": {
            "archived": channel.archived,
            "auto_archive_duration": 1440,
            "archive_timestamp": timestamp(channel.id),
            "locked": channel.locked,
            "create_timestamp": timestamp(channel.id),
        },
        "applied_tags": [str(tag) for tag in channel.applied],
    }
    return wire


def _tags(forum: DiscordChatChannel) -> list[dict[str, Any]]:
    unset = {"moderated": False, "emoji_id": None, "emoji_name": None}
    return [{"id": str(number), "name": name, **unset} for number, name in forum.tags.items()]


def member_wire(guild: Guild, user: DiscordUser) -> dict[str, Any]:
    """Build the member object, without its user."""
    wire: dict[str, Any] = {
        "roles": [str(role) for role in user.roles],
        "joined_at": timestamp(guild.id),
        "nick": user.nick or None,
        "flags": GUEST if user.is_guest else 0,
    }
    return wire | {"deaf": False, "mute": False}


def member_of(world: DiscordWorkspace, guild: int, user: int) -> dict[str, Any]:
    """Build a person's member object in a server. Raises DiscordApiError 404 for an unknown person."""
    found = world.users.get(user)
    if found is None:
        raise DiscordRefusal.UNKNOWN_MEMBER.error()
    return {**member_wire(world.guild(guild), found), "user": found.wire()}


def role_wire(number: int, name: str) -> dict[str, Any]:
    """Build a role object."""
    return {
        "id": str(number),
        "name": name,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "position": 0,
        "permissions": str(ALL_PERMISSIONS),
        "managed": False,
        "mentionable": False,
        "flags": 0,
    }


def roles_wire(guild: Guild) -> list[dict[str, Any]]:
    """Build a server's roles; the role of everyone has the server's id."""
    return [role_wire(guild.id, "@everyone"), *guild.roles]


def guild_wire(world: DiscordWorkspace, guild: Guild) -> dict[str, Any]:
    """Build the guild object of GUILD_CREATE."""
    return {
        "id": str(guild.id),
        "name": guild.name,
        "icon": None,
        "owner_id": str(world.bot.id),
        "roles": roles_wire(guild),
        "emojis": [],
        "stickers": [],
        "features": [],
        "verification_level": 0,
        "default_message_notifications": 0,
        "explicit_content_filter": 0,
        "mfa_level": 0,
        "nsfw_level": 0,
        "premium_tier": 0,
        "premium_progress_bar_enabled": False,
        "preferred_locale": "en-US",
        "system_channel_flags": 0,
        "afk_timeout": 300,
        "afk_channel_id": None,
        "large": False,
        "member_count": 2,
        "voice_states": [],
        "presences": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
        "members": [{**member_wire(guild, world.bot), "user": world.bot.wire()}],
        "channels": [channel_wire(channel) for channel in world.channels_of(guild)],
        "threads": [channel_wire(channel) for channel in world.threads(guild)],
        "joined_at": timestamp(guild.id),
        "unavailable": False,
    }


def seen(message: DiscordMessage, bot_id: int) -> dict[str, Any]:
    """Return a message as a person sees it now."""
    return {
        "message_id": message.id,
        "sender": message.sender.id,
        "name": message.sender.name,
        "from_bot": message.sender.id == bot_id,
        "text": message.text,
        "kind": "file" if message.files else "text",
        "filename": message.files[0].display_name if message.files else "",
        "files": [file.display_name for file in message.files],
        "topic": message.channel.id if message.channel.type in THREADS else 0,
        "reply_to": message.reply_to.id if message.reply_to else 0,
        "pinged": message.pinged,
        "edits": len(message.edits),
        "thinking": bool(message.flags & 1 << 7),
        "ephemeral": bool(message.flags & EPHEMERAL),
        "buttons": labels(message.components),
        "components": message.components,
    }


def view(channel: DiscordChatChannel, bot_id: int) -> dict[str, Any]:
    """Return a channel as a person sees it now: messages in order."""
    standing = [message for message in channel.messages.values() if not message.deleted]
    return {
        "chat": channel.id,
        "kind": "private" if channel.type == DM else "thread" if channel.type in THREADS else "group",
        "title": channel.name,
        "guild": channel.guild.id if channel.guild else 0,
        "parent": channel.parent.id if channel.parent else 0,
        "messages": [seen(message, bot_id) for message in standing],
    }
