"""The refusals of Discord's API (docs.discord.com/developers/topics/opcodes-and-status-codes#json)."""

from __future__ import annotations

from typing import Any

from bot.testing.emulators.api import ApiRefusal


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


def unauthorized() -> DiscordApiError:
    """The token is wrong or was reset."""
    return DiscordApiError(401, 0, "401: Unauthorized")


def not_found() -> DiscordApiError:
    """No such route."""
    return DiscordApiError(404, 0, "404: Not Found")


def unknown_channel() -> DiscordApiError:
    """No such channel, or it was deleted."""
    return DiscordApiError(404, 10003, "Unknown Channel")


def unknown_guild() -> DiscordApiError:
    """No such server, or the bot is not in it."""
    return DiscordApiError(404, 10004, "Unknown Guild")


def unknown_member() -> DiscordApiError:
    """No such person in the server."""
    return DiscordApiError(404, 10007, "Unknown Member")


def unknown_message() -> DiscordApiError:
    """No such message, or it was deleted."""
    return DiscordApiError(404, 10008, "Unknown Message")


def unknown_interaction() -> DiscordApiError:
    """Three seconds passed without an answer, or there is no such interaction."""
    return DiscordApiError(404, 10062, "Unknown interaction")


def unknown_webhook() -> DiscordApiError:
    """The token of an interaction has expired after 15 minutes."""
    return DiscordApiError(404, 10015, "Unknown Webhook")


def missing_access() -> DiscordApiError:
    """The bot has no access to the channel."""
    return DiscordApiError(403, 50001, "Missing Access")


def not_the_author() -> DiscordApiError:
    """The message has another author."""
    return DiscordApiError(403, 50005, "Cannot edit a message authored by another user")


def invalid(**fields: str) -> DiscordApiError:
    """A form error: field by field."""
    errors = {name: {"_errors": [{"code": "INVALID", "message": text}]} for name, text in fields.items()}
    return DiscordApiError(400, 50035, "Invalid Form Body", errors=errors)


def empty_message() -> DiscordApiError:
    """The message has neither text nor file."""
    return DiscordApiError(400, 50006, "Cannot send an empty message")
