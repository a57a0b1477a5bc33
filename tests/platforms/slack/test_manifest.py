"""Slack as data, without its SDK."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jsonschema
import pytest
import yaml

from bot.cli.manifest import manifest_command
from bot.platforms.manifest import Operation, Scope
from bot.platforms.slack.app_manifest import BOT_EVENTS, BOT_SCOPES, app_manifest, creation_link, document
from bot.platforms.slack.manifest import MANIFEST
from bot.texts import texts_for

from .manifest_schema import NEW_APP_SCHEMA


def test_the_budgets_are_the_published_ones() -> None:
    figures = {(budget.scope, budget.operations, budget.count, budget.period) for budget in MANIFEST.budgets}
    assert figures == {
        (Scope.CHAT, frozenset({Operation.POST}), 1, 1.0),
        (Scope.CHAT, frozenset({Operation.TYPING}), 1, 1.0),
        (Scope.ACCOUNT, frozenset({Operation.EDIT}), 100, 60.0),
        (Scope.ACCOUNT, frozenset({Operation.REACTION}), 20, 60.0),
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
    assert list(BOT_EVENTS) == sorted(BOT_EVENTS) and list(BOT_SCOPES) == sorted(BOT_SCOPES)


@pytest.mark.parametrize("request_url", ["", "https://example.org/webhooks/slack"])
@pytest.mark.parametrize("name", ["Roebot", "My Helper (beta)", "小助手"])
def test_the_manifest_is_valid_for_a_new_app(name: str, request_url: str) -> None:
    jsonschema.validate(app_manifest(name, request_url), NEW_APP_SCHEMA)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("features", "assistant_view"), {"assistant_description": "Ask"}),
        (("features", "agent_view", "agent_description"), "x" * 301),
        (("features", "agent_view", "suggested_prompts"), [{"title": "a", "message": "b"}] * 5),
        (("features", "agent_view", "suggested_prompts"), [{"title": "a"}]),
        (("features", "bot_user", "display_name"), "My Helper"),
        (("settings", "event_subscriptions", "bot_events"), ["agent_stopped"]),
        (("display_information", "name"), "x" * 36),
    ],
)
def test_the_schema_refuses_what_slack_refuses(path: tuple[str, ...], value: Any) -> None:
    made = app_manifest()
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(made, NEW_APP_SCHEMA)


def test_the_link_carries_the_manifest() -> None:
    address = urlsplit(creation_link("Helper"))
    given = parse_qs(address.query)
    assert (address.netloc, address.path, given["new_app"]) == ("api.slack.com", "/apps", ["1"])
    assert json.loads(given["manifest_json"][0]) == app_manifest("Helper")


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
    manifest_command("slack", texts_for("en"))
    printed = capsys.readouterr().out
    assert printed.startswith("Slack\n\n1. Open Slack with the form filled in, select the workspace")
    assert printed.count(creation_link()) == 1
    pasted = yaml.safe_load(printed[printed.index("_metadata:") :])
    assert pasted == app_manifest() == yaml.safe_load(document())


def test_platforms_without_a_document_print_their_steps_alone(capsys: pytest.CaptureFixture[str]) -> None:
    manifest_command("telegram", texts_for("en"))
    assert "_metadata" not in capsys.readouterr().out


def test_the_steps_are_chinese_for_those_who_read_it(capsys: pytest.CaptureFixture[str]) -> None:
    manifest_command("slack", texts_for("zh"))
    printed = capsys.readouterr().out
    assert "选择工作区" in printed
    assert creation_link() in printed
    assert "SLACK_BOT_TOKEN 和 SLACK_APP_TOKEN" in printed
