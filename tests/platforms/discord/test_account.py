"""The account's entry in the configuration, and what `doctor` says about an account."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.cli.doctor import network
from bot.config.access import AccessEntry
from bot.config.loader import wrong_person
from bot.platforms.discord.account import DiscordAccount
from roebot_testing.emulators.discord import DiscordEmulator
from tests.unit.bot.cli.test_doctor_checks import bad, config, told


def test_an_account_needs_a_token() -> None:
    assert list(DiscordAccount(name="discord").needs()) == ["bot_token"]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (AccessEntry("discord", "123456789012345678", "role"), None),
        (AccessEntry("discord", "12", "role"), "expected a role id after discord:role:"),
        (
            AccessEntry("discord", "123456789012345678", "team"),
            "team ids do not exist on this platform; expected discord:role:id",
        ),
    ],
)
def test_a_role_is_the_only_kind_of_group(entry: AccessEntry, problem: str | None) -> None:
    assert wrong_person("discord", entry) == problem


@pytest.mark.may_block
async def test_an_intent_that_is_off(tmp_path: Path) -> None:
    async with DiscordEmulator.serve() as emulator:
        emulator.disallow_content()
        made = config(
            tmp_path,
            f"channels: {{discord: {{base_url: '{emulator.url}', bot_token: '{emulator.token}'}}}}",
        )
        [text] = bad(await told(lambda: network.accounts(made)))
        assert "Message Content Intent" in text
