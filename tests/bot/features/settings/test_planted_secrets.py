"""Thirty secrets in the configuration, typed or inline, are in no response, log, version or audit event."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from bot.store.audit import list_audit_entries
from tests.platforms.web.serving import World, world

pytestmark = pytest.mark.may_block


def planted(number: int) -> str:
    """A secret that looks like those of providers."""
    return f"sk-Planted{number:02}aB9cD8eF7gH6iJ5kL4"


SECRETS = [planted(number) for number in range(30)]
INLINE = f"""\
# an old key: {SECRETS[0]}
channels:
  tg:
    platform: telegram
    enabled: false
    bot_token: {SECRETS[1]} # was {SECRETS[2]}
    webhook_secret: &shared "{SECRETS[3]}"
  slack-eu: {{platform: slack, enabled: false, bot_token: {SECRETS[4]}, app_token: "{SECRETS[5]}"}}
  feishu: {{enabled: false, app_id: cli_a, app_secret: {SECRETS[6]}, encrypt_key: *shared}}
  discord:
    enabled: false
    bot_token: >-
      {SECRETS[7]}
models:
  - name: one
    use: "roebot_testing.agent.model:ScriptedChatModel"
    api_key: {SECRETS[8]}
    default_headers: {{X-Api: {SECRETS[9]}, Cookie: "{SECRETS[10]}"}}
    base_url: "https://user:{SECRETS[11]}@127.0.0.1/v1"
  - {{name: two, use: "roebot_testing.agent.model:ScriptedChatModel", options: {{secret: {SECRETS[12]}}}}}
  - {{name: three, use: "roebot_testing.agent.model:ScriptedChatModel", note: "Bearer {SECRETS[13]}"}}
tools:
  - name: web_search
    group: web
    use: "agent.tools.community.tavily:web_search_tool"
    api_key: {SECRETS[14]}
events:
  sources:
    hook: {{type: generic, secrets: [{SECRETS[15]}, "{SECRETS[16]}"]}}
  routes: [{{source: hook, account: tg, chat: "-1"}}]
acp_agents:
  codex:
    enabled: false
    command: codex-acp
    args: [--token, {SECRETS[17]}]
    env: {{KEY: {SECRETS[18]}}}
    description: d
"""
CHANGES: tuple[dict[str, Any], ...] = (
    {"kind": "credentials", "account": "tg", "values": {"bot_token": SECRETS[19]}},
    {
        "kind": "credentials",
        "account": "slack-eu",
        "values": {"bot_token": SECRETS[20], "app_token": SECRETS[21]},
    },
    {"kind": "credentials", "model": "one", "values": {"api_key": SECRETS[22]}},
    {
        "kind": "model",
        "name": "four",
        "model": "m",
        "base_url": "http://127.0.0.1:9/v1",
        "api_key": SECRETS[23],
    },
    {
        "kind": "account",
        "name": "team",
        "platform": "slack",
        "settings": {
            "bot_token": SECRETS[24],
            "app_token": SECRETS[25],
            "signing_secret": SECRETS[26],
            "base_url": "http://127.0.0.1:9",
        },
    },
    {
        "kind": "event_source",
        "name": "more",
        "type": "generic",
        "secret": SECRETS[27],
        "account": "tg",
        "chat": "-1",
    },
)
WRONG = (
    {"kind": "credentials", "account": "tg", "values": {"bot_tokn": SECRETS[28]}},
    {"kind": "account", "name": "x", "platform": "slack", "settings": {"bot_token": f"xapp-{SECRETS[29]}"}},
    {"kind": "account", "name": SECRETS[28], "platform": SECRETS[28], "settings": SECRETS[29]},
    {"kind": "model", "name": "x", "model": "m", "api_key": [SECRETS[29]]},
)


async def everything(at: World) -> list[str]:
    """All texts that people and programs get from the routes."""
    found = []
    version = (await at.http.get("/api/settings")).json()["version"]
    for change in (*CHANGES, *WRONG):
        for path in ("preview", "apply", "check"):
            body = {"change": change} if path == "check" else {"changes": [change]}
            answer = await at.http.post(
                f"/api/settings/{path}", json=body, headers={"If-Match": version}, timeout=60
            )
            found.append(answer.text + str(answer.headers))
            version = answer.json().get("version", version) if path == "apply" else version
    versions = (await at.http.get("/api/settings/versions")).json()
    assert len(versions["versions"]) == len(CHANGES) + 1
    body = {"number": versions["versions"][-1]["number"]}
    restored = await at.http.post("/api/settings/restore", json=body, headers={"If-Match": version})
    assert restored.status_code == 200, restored.text
    pages = (
        "/api/settings",
        "/api/settings/options",
        "/api/settings/versions",
        "/api/models",
        "/api/channels",
    )
    for path in (
        *pages,
        "/api/events/sources",
        "/api/config/problems",
        "/api/audit",
        "/api/openapi.json",
        "/",
    ):
        found.append((await at.http.get(path)).text)
    return [*found, restored.text, json.dumps(versions)]


async def test_planted_secrets_are_nowhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with world(tmp_path, extra=INLINE) as at:
        found = await everything(at)
        entries = await at.service.db.transact(list_audit_entries, limit=200)
        found += [str(entry) for entry in entries]
        stored = [path for path in (tmp_path / "config-versions").iterdir() if path.suffix == ".json"]
        assert len(stored) == len(CHANGES) + 2
        found += [path.read_text() for path in stored]
        config = at.service.core.config
        assert config.channels["tg"].bot_token.get_secret_value() == SECRETS[1]  # type: ignore[attr-defined]
    output = capsys.readouterr()
    found += [output.out, output.err, caplog.text]
    for path in tmp_path.rglob("*.log"):
        found.append(path.read_text())
    shown = {secret for secret in SECRETS for text in found if secret[3:] in text}
    assert shown == set()
    kept = (tmp_path / "secrets.env").read_text()
    assert (tmp_path / "secrets.env").stat().st_mode & 0o777 == 0o600
    assert all(secret in kept for secret in (SECRETS[1], SECRETS[19], SECRETS[27]))
