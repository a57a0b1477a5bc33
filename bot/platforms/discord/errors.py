"""Errors of calls other than the SDK's own for refusals, and their conversion to delivery errors.

The codes are those of docs.discord.com/developers/topics/opcodes-and-status-codes#json.
"""

from __future__ import annotations

import re

from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.discord.sdk import discord


class DiscordLimited(discord.DiscordException):
    """Discord requires a pause of `retry_after` seconds for this call or (`everywhere`) all calls."""

    def __init__(self, retry_after: float, *, everywhere: bool) -> None:
        super().__init__(f"retry after {retry_after:g} s")
        self.retry_after = retry_after
        self.everywhere = everywhere


class DiscordNotSent(discord.DiscordException):
    """The request did not leave the machine."""


class DiscordNoAnswer(discord.DiscordException):
    """The request was sent, but no readable response was received."""


_BY_STATUS = {
    400: DeliveryCategory.INVALID_PAYLOAD,
    401: DeliveryCategory.AUTH,
    403: DeliveryCategory.PERMISSION,
    404: DeliveryCategory.NOT_FOUND,
    409: DeliveryCategory.CONFLICT,
    413: DeliveryCategory.INVALID_PAYLOAD,
}
UNKNOWN_MESSAGE = 10008
OLD_EDITS = 30046
"""A message older than an hour was edited too often; later edits work again (discord-api-docs#4381)."""
ARCHIVED = 50083
"""Messages of an archived thread can't be edited until it is opened again."""
NO_HISTORY, INVALID_FORM = 160002, 50035
_IN_REFERENCE = re.compile(r"^In message_reference[.:]", re.MULTILINE)
"""How the SDK names the field of a refused form, or one within it."""
ACKNOWLEDGED = 40060
"""An interaction was answered before."""
TOKEN_OVER = frozenset({10008, 10015, 10062, 50027})
"""Codes of an interaction that can no longer be answered."""
_ADVICE = {
    50001: "the bot was removed from the server or cannot see the channel; invite it again or give it access",
    50007: "this person takes no direct messages from the bot",
    50013: "the bot may not write there: its role lacks Send Messages, the same in threads, or Attach Files",
    160005: "the thread is locked",
}


def is_reference_refused(error: discord.HTTPException) -> bool:
    """Return whether Discord only refused the reference to the replied-to message.

    The bot may not read the channel's history, or the message is one that nobody wrote
    (docs.discord.com/developers/resources/message#create-message-limitations).
    """
    if error.code == NO_HISTORY:
        return True
    return error.code == INVALID_FORM and bool(_IN_REFERENCE.search(error.text))


def delivery_error(error: discord.DiscordException, *, posting: bool) -> DeliveryError:
    """Convert an error of a call; with `posting`, repeating the call might duplicate a message."""
    if isinstance(error, DiscordLimited):
        return RateLimited(error.retry_after, account_wide=error.everywhere)
    if isinstance(error, discord.HTTPException):
        return _convert_refusal(error, posting)
    sent = not isinstance(error, DiscordNotSent)
    return DeliveryError(DeliveryCategory.TRANSIENT, str(error), unknown_outcome=posting and sent)


def _convert_refusal(error: discord.HTTPException, posting: bool) -> DeliveryError:
    detail = _ADVICE.get(error.code) or error.text or f"HTTP status {error.status}"
    if error.code == OLD_EDITS:
        return DeliveryError(DeliveryCategory.TRANSIENT, detail)
    if error.status >= 500:
        return DeliveryError(DeliveryCategory.TRANSIENT, detail, unknown_outcome=posting)
    return DeliveryError(_BY_STATUS.get(error.status, DeliveryCategory.INVALID_PAYLOAD), detail)
