"""A Feishu (Lark) server in memory, for tests and for playing without an account."""

from roebot_testing.emulators.feishu.emulator import FeishuEmulator

__all__ = ["FeishuEmulator"]
