"""An account that is connected for a moment: messages in channels do not hold it up."""

from __future__ import annotations

import pytest

from roebot_testing.emulators.discord import DiscordEmulator
from tests.component.cli.test_connect_probe import account, asked

pytestmark = pytest.mark.may_block


async def test_what_is_said_in_a_channel_before_does_not_hold_it_up() -> None:
    async with DiscordEmulator.serve() as emulator:
        guild = emulator.people.make_guild()
        channel = emulator.people.make_channel(guild)
        waiting, _ = await asked(account("discord", emulator))
        emulator.people.says(f"<@{emulator.world.bot.id}> hi all", chat=channel)
        emulator.people.says("in private")
        found = await waiting
        assert found is not None
        assert found.text == "in private"
