"""Feishu as data, without its SDK; the adapter loads parts of it when it connects."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from bot.platforms.feishu.guide import CHINESE_EVENTS, CHINESE_SCOPES
from bot.platforms.feishu.inbound import EVENTS as HANDLED
from bot.platforms.feishu.manifest import EVENTS, MANIFEST, SCOPES
from bot.platforms.manifest import Operation, Scope


def test_the_budgets_are_within_the_published_ones() -> None:
    figures = {
        (budget.scope, budget.count, budget.period)
        for budget in MANIFEST.budgets
        if Operation.POST in budget.operations
    }
    assert figures == {(Scope.CHAT, 5, 1.0), (Scope.ACCOUNT, 50, 1.0), (Scope.ACCOUNT, 1000, 60.0)}
    edits = [budget for budget in MANIFEST.budgets if Operation.EDIT in budget.operations]
    assert all(budget.count / budget.period <= 50 for budget in edits)
    [card] = [budget for budget in edits if budget.scope is Scope.CHAT]
    assert (card.count, card.period, card.operations) == (10, 1.0, {Operation.EDIT, Operation.FINAL})
    assert all(budget.source for budget in MANIFEST.budgets)


@pytest.mark.parametrize("locale", ["en", "zh"])
def test_what_the_setup_says_is_what_the_adapter_handles(locale: str) -> None:
    guide = MANIFEST.guide(locale)
    steps = "\n".join((*guide.setup_steps, *guide.later_steps))
    assert all(scope in steps for scope, _ in SCOPES)
    assert {name for name, _ in EVENTS} | {"card.action.trigger"} == set(HANDLED)
    assert all(event in steps for event in HANDLED)
    assert "open.larksuite.com" in steps
    assert [*CHINESE_SCOPES] == [scope for scope, _ in SCOPES]
    assert [*CHINESE_EVENTS] == [event for event, _ in EVENTS]


def test_neither_the_manifest_nor_the_adapter_loads_the_sdk() -> None:
    for module in (MANIFEST.adapter.partition(":")[0], "bot.platforms.feishu.manifest"):
        code = f"import sys, {module}; print(any(name.startswith('lark_oapi') for name in sys.modules))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["False"]


def test_the_factory_it_names_exists() -> None:
    module, _, name = MANIFEST.adapter.partition(":")
    assert callable(getattr(import_module(module), name))
