"""Private answers sent as direct messages, if Discord no longer accepts them as answers to commands.

Only a slash command's token can post what just one person sees. It is invalid if Discord did not accept the
deferral within three seconds, and expires after 15 minutes; a reply would then be public. After a restart an
expired command is not recognized, so the reply needs its message to exist (`fail_if_not_exists`), which
Discord also denies without Read Message History. No buttons: a press would act on the direct conversation.
"""

from __future__ import annotations

from typing import Any

from bot.core.recent_values import RecentValues
from bot.domain import ChatKind, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.discord.rest import DiscordRest, Route
from bot.platforms.discord.snowflake import snowflake
from bot.platforms.payload import Malformed

REMEMBERED = 500
_SEPARATOR = "/"


class ReplyNotFound(Exception):
    """The message that a post replies to does not exist or is not visible."""


class DirectMessages:
    """Finds the address for messages to a person. Calls raise the errors of DiscordRest."""

    def __init__(self, rest: DiscordRest) -> None:
        self._rest = rest
        self._channels: RecentValues[str] = RecentValues(REMEMBERED)

    async def find_address(self, address: ReplyAddress, person: str) -> ReplyAddress:
        """Return the address of a person's direct messages. Raises DeliveryError without a person.

        Opening a channel that exists returns it (docs.discord.com/developers/resources/user#create-dm).
        """
        if not person:
            raise DeliveryError(
                DeliveryCategory.PERMISSION, "the recipient of this private answer is unknown"
            )
        channel = self._channels.get(person)
        if channel is None:
            opened: Any = await self._rest.request(
                Route("POST", "/users/@me/channels"), json={"recipient_id": person}
            )
            channel = _channel_id(opened)
            self._channels.put(person, channel)
        return _direct_address(address, channel)


def _channel_id(opened: Any) -> str:
    try:
        return snowflake(opened, "id")
    except (Malformed, AttributeError):
        raise DeliveryError(DeliveryCategory.TRANSIENT, "Discord's response contains no channel") from None


def name_direct(address: ReplyAddress, message_id: str) -> str:
    """Return the id by which a reply in another chat refers to a direct message."""
    return f"{address.chat}{_SEPARATOR}{message_id}"


def locate(address: ReplyAddress, message_id: str) -> tuple[ReplyAddress, str]:
    """Return the address of a reply's message, and its id there."""
    channel, separator, number = message_id.rpartition(_SEPARATOR)
    return (_direct_address(address, channel), number) if separator else (address, message_id)


def _direct_address(address: ReplyAddress, channel: str) -> ReplyAddress:
    return ReplyAddress(address.account, channel, ChatKind.PRIVATE)
