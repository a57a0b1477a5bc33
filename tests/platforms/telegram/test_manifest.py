"""Telegram as data, without its SDK."""

from __future__ import annotations

import subprocess
import sys

from bot.domain import ChatKind
from bot.platforms.manifest import Scope
from bot.platforms.telegram.manifest import MANIFEST


def test_the_budgets_are_the_published_ones() -> None:
    figures = {(budget.scope, budget.kinds, budget.count, budget.period) for budget in MANIFEST.budgets}
    everywhere = frozenset(ChatKind)
    assert figures == {
        (Scope.CHAT, everywhere, 1, 1.0),
        (Scope.CHAT, frozenset({ChatKind.GROUP}), 20, 60.0),
        (Scope.ACCOUNT, everywhere, 30, 1.0),
    }
    assert all(budget.source for budget in MANIFEST.budgets)


def test_reading_it_does_not_load_the_sdk() -> None:
    code = (
        "import sys, bot.platforms.telegram.manifest as m; "
        "print(m.MANIFEST.platform, any(name == 'telegram' for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["telegram", "False"]


def test_the_factory_it_names_exists() -> None:
    from importlib import import_module

    module, _, name = MANIFEST.adapter.partition(":")
    assert callable(getattr(import_module(module), name))
