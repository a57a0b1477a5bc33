"""Outcomes of a call other than an answer; Discord's refusals are the SDK's own errors."""

from __future__ import annotations

from bot.platforms.discord.sdk import discord


class DiscordLimited(discord.DiscordException):
    """Discord asks to wait `retry_after` seconds, with this call or (`everywhere`) with all of them."""

    def __init__(self, retry_after: float, *, everywhere: bool) -> None:
        super().__init__(f"retry after {retry_after:g} s")
        self.retry_after = retry_after
        self.everywhere = everywhere


class DiscordNotSent(discord.DiscordException):
    """The request did not leave the machine."""


class DiscordNoAnswer(discord.DiscordException):
    """The request left, and no answer that can be read came back."""
