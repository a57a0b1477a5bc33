"""An emulated Slack: Web API, Socket Mode and the Events API over HTTP."""

from roebot_testing.emulators.slack.emulator import SlackEmulator

__all__ = ["SlackEmulator"]
