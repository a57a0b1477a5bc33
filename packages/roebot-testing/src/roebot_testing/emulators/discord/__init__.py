"""An emulated Discord: REST API v10, gateway and attachments, for one bot."""

from roebot_testing.emulators.discord.emulator import DiscordEmulator

__all__ = ["DiscordEmulator"]
