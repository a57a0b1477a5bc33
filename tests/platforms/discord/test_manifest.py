"""Discord as data, without its SDK."""

from __future__ import annotations

import subprocess
import sys

from bot.cli.manifest import steps as all_steps
from bot.platforms.base import Operation, Scope
from bot.platforms.discord.manifest import MANIFEST

VIEW, SEND, ATTACH, HISTORY, IN_THREADS = 1 << 10, 1 << 11, 1 << 15, 1 << 16, 1 << 38


def test_the_budgets_say_where_they_are_from() -> None:
    figures = {(budget.scope, budget.operations, budget.count, budget.period) for budget in MANIFEST.budgets}
    assert figures == {
        (Scope.CHAT, frozenset({Operation.POST}), 5, 5.0),
        (Scope.CHAT, frozenset({Operation.EDIT, Operation.FINAL}), 5, 5.0),
        (Scope.CHAT, frozenset({Operation.TYPING}), 5, 5.0),
        (Scope.ACCOUNT, frozenset(Operation), 50, 1.0),
    }
    assert all("docs.discord.com" in budget.source for budget in MANIFEST.budgets)


def test_the_steps_name_intent_and_invitation() -> None:
    steps = "\n".join(MANIFEST.setup_steps)
    wanted = VIEW | SEND | ATTACH | HISTORY | IN_THREADS
    assert f"permissions={wanted} " in steps
    assert "scope=bot+applications.commands" in steps
    assert "Message Content Intent" in steps
    assert "DISCORD_BOT_TOKEN" in "\n".join(all_steps(MANIFEST))


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
