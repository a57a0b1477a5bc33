"""Slack as data, without its SDK."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest
import yaml

from bot.cli.manifest import manifest_command
from bot.platforms.base import Operation, Scope
from bot.platforms.slack.app_manifest import BOT_EVENTS, BOT_SCOPES, app_manifest, document
from bot.platforms.slack.manifest import MANIFEST


def test_the_budgets_are_the_published_ones() -> None:
    figures = {(budget.scope, budget.operations, budget.count, budget.period) for budget in MANIFEST.budgets}
    assert figures == {
        (Scope.CHAT, frozenset({Operation.POST}), 1, 1.0),
        (Scope.CHAT, frozenset({Operation.TYPING}), 1, 1.0),
        (Scope.ACCOUNT, frozenset({Operation.EDIT}), 100, 60.0),
    }
    assert all(budget.source for budget in MANIFEST.budgets)


def test_reading_it_does_not_load_the_sdk() -> None:
    code = (
        "import sys, bot.platforms.slack.manifest as m, bot.platforms.slack.app_manifest; "
        "print(m.MANIFEST.platform, any(name.startswith('slack_') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["slack", "False"]


def test_the_factory_it_names_exists() -> None:
    module, _, name = MANIFEST.adapter.partition(":")
    assert callable(getattr(import_module(module), name))


def test_the_apps_manifest_has_what_slack_asks_for() -> None:
    made = app_manifest()
    assert made["settings"]["socket_mode_enabled"] is True
    assert made["settings"]["interactivity"] == {"is_enabled": True}
    assert made["settings"]["event_subscriptions"] == {"bot_events": list(BOT_EVENTS)}
    assert made["oauth_config"]["scopes"]["bot"] == list(BOT_SCOPES)
    assert made["features"]["app_home"]["messages_tab_read_only_enabled"] is False
    [command] = made["features"]["slash_commands"]
    assert command["command"] == "/roebot" and "url" not in command
    # Limits of a manifest (docs.slack.dev/reference/app-manifest).
    assert len(made["display_information"]["name"]) <= 35
    assert len(made["display_information"]["description"]) <= 140
    assert list(BOT_EVENTS) == sorted(BOT_EVENTS) and list(BOT_SCOPES) == sorted(BOT_SCOPES)


def test_for_http_it_names_the_address() -> None:
    address = "https://example.org/webhooks/slack"
    made = app_manifest("Helper", address)
    assert made["settings"]["socket_mode_enabled"] is False
    assert made["settings"]["event_subscriptions"]["request_url"] == address
    assert made["settings"]["interactivity"]["request_url"] == address
    assert made["features"]["slash_commands"][0]["url"] == address
    assert made["features"]["bot_user"]["display_name"] == "helper"


def test_the_command_prints_steps_and_a_document_that_can_be_pasted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    manifest_command("slack")
    printed = capsys.readouterr().out
    assert printed.startswith("Slack\n\n1. Open https://api.slack.com/apps")
    pasted = yaml.safe_load(printed[printed.index("_metadata:") :])
    assert pasted == app_manifest() == yaml.safe_load(document())


def test_platforms_without_a_document_print_their_steps_alone(capsys: pytest.CaptureFixture[str]) -> None:
    manifest_command("telegram")
    assert "_metadata" not in capsys.readouterr().out
