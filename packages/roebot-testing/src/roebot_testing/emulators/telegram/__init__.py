"""A Telegram Bot API server in memory, for tests and for playing without an account."""

from roebot_testing.emulators.telegram.emulator import TelegramEmulator

__all__ = ["TelegramEmulator"]
