"""Discord, over its gateway."""

from bot.platforms.discord.account import DiscordAccount
from bot.platforms.discord.manifest import MANIFEST
from bot.platforms.manifest import Platform

PLATFORM = Platform(MANIFEST, DiscordAccount)
