"""An emulated Slack: Web API, Socket Mode and the Events API over HTTP."""

from bot.testing.emulators.slack.emulator import SlackEmulator

__all__ = ["SlackEmulator"]
