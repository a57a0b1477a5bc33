"""The refusals of Discord's API.

Codes are those of docs.discord.com/developers/topics/opcodes-and-status-codes#json. The texts are the ones
that the API sends, which differ from the table in capitals and wording; where a text or an HTTP status comes
from a report about the live API, its issue is named.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from roebot_testing.emulators.api import ApiRefusal


class DiscordApiError(ApiRefusal):
    """A call is refused: HTTP `status`, JSON error `code` and `message`."""

    def __init__(self, status: int, code: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.more = {"code": code, **more}

    def body(self) -> dict[str, Any]:
        return {"message": self.message, **self.more}


class TooMany(DiscordApiError):
    """429; `wait` is in seconds."""

    def __init__(self, wait: float, *, everywhere: bool) -> None:
        super().__init__(429, 0, "You are being rate limited.")
        self.wait = wait
        self.more = {"retry_after": round(wait, 3), "global": everywhere}


class DiscordRefusal(Enum):
    """A call that Discord refuses whatever its fields contain: HTTP status, JSON error code and text."""

    UNAUTHORIZED = (401, 0, "401: Unauthorized")
    """The token is wrong or was reset."""
    NOT_FOUND = (404, 0, "404: Not Found")
    """No such route."""
    UNKNOWN_CHANNEL = (404, 10003, "Unknown Channel")
    """No such channel, or it was deleted."""
    UNKNOWN_GUILD = (404, 10004, "Unknown Guild")
    """No such server, or the bot is not in it."""
    UNKNOWN_MEMBER = (404, 10007, "Unknown Member")
    """No such person in the server."""
    UNKNOWN_MESSAGE = (404, 10008, "Unknown Message")
    """No such message, or it was deleted; to edit or delete what one person alone sees needs the token of
    its interaction (discord-api-docs#6007, #6253)."""
    UNKNOWN_EMOJI = (400, 10014, "Unknown Emoji")
    """No emoji of Unicode's, nor the `name:id` of one that the bot may use (discord-api-docs#864)."""
    UNKNOWN_WEBHOOK = (404, 10015, "Unknown Webhook")
    """An interaction was not answered yet."""
    UNKNOWN_INTERACTION = (404, 10062, "Unknown interaction")
    """Three seconds passed without an answer, or there is no such interaction."""
    TOO_MANY_ATTACHMENTS = (400, 30015, "Maximum number of attachments in a message reached (10).")
    """The request has more than ten files (discord-api-docs#1486)."""
    TOO_MANY_COMMANDS = (400, 30032, "Maximum number of application commands reached (100).")
    """docs.discord.com/developers/interactions/application-commands#registering-a-command"""
    TOO_LARGE = (413, 40005, "Request entity too large")
    """A file is over 10 MiB or the request over 25 MiB (docs.discord.com/developers/reference#uploading-files
    and …/resources/message#create-message-limitations)."""
    ALREADY_ACKNOWLEDGED = (400, 40060, "Interaction has already been acknowledged.")
    """An interaction is answered once."""
    MISSING_ACCESS = (403, 50001, "Missing Access")
    """The bot is not in the server, or may not view the channel."""
    OTHER_AUTHOR = (403, 50005, "Cannot edit a message authored by another user")
    """Only the author changes content, embeds and components."""
    EMPTY_MESSAGE = (400, 50006, "Cannot send an empty message")
    """There is neither content nor an embed, component or file."""
    NOT_A_TEXT_CHANNEL = (400, 50008, "Cannot send messages in a non-text channel")
    """Messages go into the posts of a forum, not into the forum (appwrite/grafana-oncall#26)."""
    MISSING_PERMISSIONS = (403, 50013, "Missing Permissions")
    """docs.discord.com/developers/topics/permissions"""
    WRONG_CHANNEL_TYPE = (400, 50024, "Cannot execute action on this channel type")
    """Threads start in text and announcement channels alone
    (docs.discord.com/developers/resources/channel#start-thread-from-message)."""
    INVALID_WEBHOOK_TOKEN = (401, 50027, "Invalid Webhook Token")
    """The token of an interaction expires after 15 minutes."""
    INVALID_RECIPIENT = (400, 50033, "Invalid Recipient(s)")
    """No such person, or the bot itself (bwmarrin/discordgo#953)."""
    INVALID_FORM = (400, 50035, "Invalid Form Body")
    """A form can't be read; where single fields are wrong, `forms` names them."""
    THREAD_ARCHIVED = (400, 50083, "Thread is archived")
    """Messages of an archived thread can't be changed or deleted (victornpb/undiscord#399)."""
    NO_JSON = (400, 50109, "The request body contains invalid JSON.")
    """The body is not JSON."""
    NO_HISTORY = (403, 160002, "Cannot reply without permission to read message history")
    """A reply needs Read Message History (member-gentei/member-gentei#42)."""
    THREAD_EXISTS = (400, 160004, "A thread has already been created for this message")
    """A message has one thread."""
    THREAD_LOCKED = (403, 160005, "Thread is locked")
    """Who lacks Manage Threads can't write or edit there
    (docs.discord.com/developers/topics/threads#locked-threads, which names no HTTP status)."""

    def error(self) -> DiscordApiError:
        """Return the error to raise."""
        status, code, message = self.value
        return DiscordApiError(status, code, message)
