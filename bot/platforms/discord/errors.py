"""What a call of the API can end with beside its answer; the SDK's own errors tell Discord's refusals."""

from __future__ import annotations

from bot.platforms.discord.sdk import discord


class Limited(discord.DiscordException):
    """Discord asks to wait `retry_after` seconds, with this call or (`everywhere`) with all of them."""

    def __init__(self, retry_after: float, *, everywhere: bool) -> None:
        super().__init__(f"retry after {retry_after:g} s")
        self.retry_after = retry_after
        self.everywhere = everywhere


class Unsent(discord.DiscordException):
    """The request did not leave the machine."""


class Unanswered(discord.DiscordException):
    """The request left, and no answer that can be read came back."""
