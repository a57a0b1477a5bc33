"""Discord as data, without its SDK."""

from __future__ import annotations

import subprocess
import sys
from urllib.parse import parse_qs, urlsplit

import pytest

from bot.cli.manifest import steps as all_steps
from bot.errors import AccountRefused
from bot.platforms.discord.account import DiscordAccount
from bot.platforms.discord.invite import SETUP, USES
from bot.platforms.discord.manifest import MANIFEST
from bot.platforms.manifest import Operation, Scope
from bot.texts import texts_for
from roebot_testing.emulators.discord import DiscordEmulator

REACT, VIEW, SEND, ATTACH, HISTORY, IN_THREADS = 1 << 6, 1 << 10, 1 << 11, 1 << 15, 1 << 16, 1 << 38


def test_the_budgets_say_where_they_are_from() -> None:
    figures = {(budget.scope, budget.operations, budget.count, budget.period) for budget in MANIFEST.budgets}
    assert figures == {
        (Scope.CHAT, frozenset({Operation.POST}), 5, 5.0),
        (Scope.CHAT, frozenset({Operation.EDIT, Operation.FINAL}), 5, 5.0),
        (Scope.CHAT, frozenset({Operation.TYPING}), 5, 5.0),
        (Scope.CHAT, frozenset({Operation.REACTION}), 1, 0.25),
        (Scope.ACCOUNT, frozenset(Operation), 50, 1.0),
    }
    assert all(
        "discord.com" in budget.source or "discord-api-docs#" in budget.source for budget in MANIFEST.budgets
    )


@pytest.mark.parametrize("locale", ["en", "zh"])
def test_the_steps_name_intent_and_invitation(locale: str) -> None:
    steps = "\n".join(all_steps(MANIFEST, texts_for(locale)))
    wanted = REACT | VIEW | SEND | ATTACH | HISTORY | IN_THREADS
    assert f"client_id=APPLICATION_ID&scope=bot+applications.commands&permissions={wanted} " in steps
    assert "Message Content Intent" in steps
    assert "DISCORD_BOT_TOKEN" in steps
    assert "{" not in steps.replace("{discord: {", "")


async def test_the_invitation_is_built_from_the_token() -> None:
    async with DiscordEmulator.serve() as emulator:
        account = DiscordAccount(name="discord", bot_token=emulator.token, base_url=emulator.url)
        link = urlsplit(await SETUP.invite_link(account))
        assert link.netloc == "discord.com"
        assert parse_qs(link.query) == {
            "client_id": [str(emulator.world.bot.id)],
            "scope": ["bot applications.commands"],
            "permissions": [str(sum(USES))],
        }
        emulator.revoke_token()
        with pytest.raises(AccountRefused, match="refuses the token"):
            await SETUP.invite_link(account)


def test_reading_it_does_not_load_the_sdk() -> None:
    code = (
        "import sys, bot.platforms.discord.manifest as m; "
        "print(m.MANIFEST.platform, any(name == 'discord' for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["discord", "False"]


def test_the_factory_it_names_exists() -> None:
    from importlib import import_module

    module, _, name = MANIFEST.adapter.partition(":")
    assert callable(getattr(import_module(module), name))
