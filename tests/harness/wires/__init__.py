"""Every wire platform behind the same few words, so that one suite tests them all."""

from tests.harness.wires.base import Standing, Wire
from tests.harness.wires.discord import DiscordWire
from tests.harness.wires.feishu import FeishuWire
from tests.harness.wires.slack import SlackWire
from tests.harness.wires.telegram import TelegramWire

WIRES: dict[str, type[Wire]] = {
    "telegram": TelegramWire,
    "slack": SlackWire,
    "feishu": FeishuWire,
    "discord": DiscordWire,
}
"""The platforms that have an emulator, by name."""

__all__ = ["WIRES", "DiscordWire", "FeishuWire", "SlackWire", "Standing", "TelegramWire", "Wire"]
