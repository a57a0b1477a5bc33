"""The findings of `roebot security audit`: for the defaults, for deploy/, and for faulty configurations."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bot.cli.doctor import Finding
from bot.cli.security import Installation, Severity
from bot.cli.security.command import audit_command, doctor_findings
from bot.cli.security.report import examine, inspect_installation
from bot.config.loader import LoadedConfig, load_config, load_file
from tests.docs.blocks import ROOT

pytestmark = pytest.mark.may_block

STRONG = "0J9qv-Yk2sXw7_TnB4cD8eF1"
BUDGET = "budgets: {account: {tokens_per_day: 100000}}\n"
TELEGRAM = f"telegram: {{bot_token: '1:{STRONG}'"
ENV = {
    "ROEBOT_TOKEN": STRONG,
    "ROEBOT_SANDBOX_TOKEN": STRONG,
    "TELEGRAM_BOT_TOKEN": "1:a",
    "DATABASE_URL": "postgresql://roebot:secret@127.0.0.1/roebot",
}


def installation(folder: Path, loaded: LoadedConfig, **files: str) -> Installation:
    """An installation with a private data directory, on a machine rather than in a container."""
    home = folder / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    for name, text in files.items():
        (home / name.replace("__", ".")).write_text(text)
    return replace(inspect_installation(loaded, home, folder, {}), in_container=False)


def configured(folder: Path, text: str, extensions: object = None) -> Installation:
    path = folder / "config.yaml"
    path.touch(mode=0o600)
    path.write_text(f"config_version: 1\n{text}")
    if extensions is not None:
        (folder / "extensions_config.json").touch(mode=0o600)
        (folder / "extensions_config.json").write_text(json.dumps(extensions))
    return installation(folder, load_file(path, ENV, folder))


def found(where: Installation) -> dict[str, str]:
    """Severities by check, without notes about literal secrets, which every inline test token causes."""
    return {one.check: str(one.severity) for one in examine(where).findings if one.check != "config-secrets"}


def test_the_defaults(tmp_path: Path) -> None:
    report = examine(installation(tmp_path, load_config(None, {}, tmp_path)))
    assert [(one.check, one.severity) for one in report.findings] == [("approvals-off", Severity.NOTE)]
    assert report.exit_code == 0
    assert {one.account for one in report.accounts} == {"web", "terminal"}
    port = report.entrances[0]
    assert (port.address, port.reachable_by) == ("127.0.0.1:2026", "programs on this machine")


def examples(page: str) -> list[str]:
    found = re.findall(r"^```yaml config\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    return [str(body).removeprefix("config_version: 1\n") for body in found]


CONTAINERS = ("deploy/container/config/config.yaml", "deploy/replicas/config/config.yaml")


@pytest.mark.parametrize("path", CONTAINERS)
def test_the_container_examples(tmp_path: Path, path: str) -> None:
    loaded = load_file(ROOT / path, ENV, tmp_path)
    made = replace(installation(tmp_path, loaded), path=None)
    assert found(made) == {"server-address": "warning", "approvals-off": "note"}
    assert found(replace(made, in_container=True)) == {"server-address": "note", "approvals-off": "note"}


EXAMPLES: dict[str, list[dict[str, str]]] = {
    "deploy/proxy/README.md": [{"approvals-off": "note"}],
    "deploy/systemd/README.md": [
        {"approvals-off": "note"},
        {"server-address": "warning", "approvals-off": "note"},
    ],
}


@pytest.mark.parametrize("page", EXAMPLES)
def test_the_other_examples(tmp_path: Path, page: str) -> None:
    assert [found(configured(tmp_path, body)) for body in examples(page)] == EXAMPLES[page]


def test_every_example_of_deploy_is_examined() -> None:
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "deploy").rglob("*.md")}
    assert {page for page in pages if "```yaml config" in (ROOT / page).read_text()} == set(EXAMPLES)
    configs = {str(path.relative_to(ROOT)) for path in (ROOT / "deploy").rglob("config.yaml")}
    assert configs - {"deploy/helm/roebot/templates/config.yaml"} == set(CONTAINERS)


MCP = {
    "mcpServers": {
        "files": {"command": "mcp-files"},
        "off": {"command": "x", "enabled": False},
        "disabled": {"command": "x", "disabled": True},
    }
}
FAULTY: dict[str, tuple[str, object, dict[str, str]]] = {
    "everybody is a member": (
        f"channels: {{{TELEGRAM}}}}}\naccess: {{default: allow, owners: ['telegram:1']}}\n",
        None,
        {"access-allow": "critical", "access-allow-unlimited": "warning", "approvals-off": "note"},
    ),
    "everybody in the organization has a shell without isolation": (
        f"channels: {{slack: {{bot_token: xoxb-{STRONG}, app_token: xapp-{STRONG}}}}}\n{BUDGET}"
        "access: {default: allow, owners: ['slack:U0123456']}\nsandbox: {isolation: none}\n",
        None,
        {"access-allow": "critical", "sandbox-off": "critical", "approvals-off": "warning"},
    ),
    "a workspace owns the bot": (
        f"channels: {{slack: {{bot_token: xoxb-{STRONG}, app_token: xapp-{STRONG}}}}}\n"
        "access: {owners: ['slack:team:T024BE7LD'], admins: ['slack:usergroup:S0123']}\n",
        None,
        {"access-wide-owners": "critical", "access-wide-admins": "warning", "approvals-off": "note"},
    ),
    "open groups and guests": (
        f"channels: {{slack: {{bot_token: xoxb-{STRONG}, app_token: xapp-{STRONG}}}}}\n"
        "access: {groups: ['slack:C0123456'], guests: true}\n",
        None,
        {
            "access-groups": "note",
            "access-guests": "warning",
            "access-no-admin": "note",
            "approvals-off": "note",
        },
    ),
    "a console without TLS": (
        f"server: {{token: {STRONG}, public_url: 'http://bot.example.org'}}\n",
        None,
        {"public-url-http": "critical", "proxies-none": "warning", "approvals-off": "note"},
    ),
    "groups of the identity provider that own the bot": (
        "server: {oidc: {issuer: 'https://id.example.org', client_id: roebot, client_secret: $ROEBOT_TOKEN, "
        "roles: {bot-owners: owner, bot-admins: admin, staff: member}}}\n",
        None,
        {"sign-on-owners": "warning", "sign-on-admins": "note", "approvals-off": "note"},
    ),
    "a weak token": (
        "server: {token: change-me}\n",
        None,
        {"token-weak": "warning", "approvals-off": "note"},
    ),
    "a weak token behind a proxy": (
        "server: {token: your-token-goes-right-here-now, allowed_hosts: [bot.example.org]}\n",
        None,
        {"token-weak": "critical", "proxies-none": "warning", "approvals-off": "note"},
    ),
    "proxies that everybody can be": (
        "server: {allowed_hosts: [bot.example.org], trusted_proxies: [0.0.0.0/0]}\n",
        None,
        {"proxies-wide": "critical", "approvals-off": "note"},
    ),
    "a network of proxies": (
        "server: {allowed_hosts: [bot.example.org], trusted_proxies: [10.0.0.0/8, 127.0.0.1]}\n",
        None,
        {"proxies-wide": "warning", "approvals-off": "note"},
    ),
    "a guessable webhook": (
        f"channels: {{{TELEGRAM}, mode: webhook, webhook_secret: abc, webhook_url: 'http://bot.example.org'}}}}"
        "\n"
        "access: {owners: ['telegram:1']}\n",
        None,
        {"webhook-secret-weak": "critical", "webhook-http": "critical", "approvals-off": "note"},
    ),
    "an event source with a short secret, and an API without TLS": (
        "events: {sources: {ci: {type: github, secrets: abc, api_url: 'http://github.example.org/hooks/1',"
        " api_token: t0ken-of-the-api}}}\n",
        None,
        {"event-secret-weak": "critical", "event-api-http": "warning", "approvals-off": "note"},
    ),
    "a runtime and a database on the network": (
        "runtime: {url: 'http://agent.example.org:2024'}\n"
        "database: {url: 'postgresql://roebot:p4ssw0rdp4ss@db.example.org/roebot'}\n",
        None,
        {"runtime-url-http": "critical", "runtime-no-key": "warning", "database-no-tls": "warning"},
    ),
    "commands on the internet, without approval": (
        "sandbox: {network: public}\n",
        None,
        {"sandbox-network": "warning", "approvals-off": "note"},
    ),
    "commands in a private network": (
        "sandbox: {network: [packages.example.internal, 10.0.0.0/8]}\n",
        None,
        {"sandbox-network": "warning", "approvals-off": "warning"},
    ),
    "commands that reach one host, with approval": (
        "sandbox: {network: [packages.example.org]}\nguardrails: {enabled: true, provider: {ask: [bash]}}\n",
        None,
        {"sandbox-network": "note"},
    ),
    "a sandbox service with an empty token": (
        "sandbox: {use: 'agent.sandbox.remote:RemoteSandboxProvider', url: 'http://10.0.0.5:2027'}\n",
        None,
        {"sandbox-token-weak": "critical", "sandbox-http": "warning", "approvals-off": "note"},
    ),
    "external agents that get every permission": (
        "acp_agents: {codex: {command: codex-acp, auto_approve_permissions: true}, other: {command: x}}\n"
        "guardrails: {enabled: true, provider: {ask: [bash]}}\n",
        None,
        {"acp-automatic": "critical", "acp-agent": "warning"},
    ),
    "MCP programs without approval": ("", MCP, {"mcp-program": "warning", "approvals-off": "warning"}),
    "MCP programs with approval": (
        "guardrails: {enabled: true, provider: {ask: ['files_*']}}\n",
        MCP,
        {"approvals-self": "note"},
    ),
    "MCP programs with approval by admins": (
        "guardrails: {enabled: true, provider: {ask: ['files_*']}}\napprovals: {by: admins}\n",
        MCP,
        {},
    ),
    "everybody approves their own calls": (
        f"channels: {{{TELEGRAM}}}}}\naccess: {{default: allow, owners: ['telegram:1']}}\n{BUDGET}"
        "guardrails: {enabled: true, provider: {ask: ['files_*']}}\n",
        MCP,
        {"access-allow": "critical", "approvals-self": "warning"},
    ),
    "no forbidden commands": (
        "guardrails: {forbidden_commands: []}\n",
        None,
        {"approvals-off": "note", "forbidden-commands": "note"},
    ),
    "fewer forbidden commands, without isolation": (
        "guardrails: {enabled: true, provider: {ask: [bash]}, forbidden_commands: [shutdown]}\n"
        "sandbox: {isolation: none}\napprovals: {by: others}\n",
        None,
        {"sandbox-off": "critical", "forbidden-commands": "warning"},
    ),
    "an MCP server in the clear": (
        "guardrails: {enabled: true, provider: {denied: [bash]}}\n",
        {
            "mcpServers": {
                "wiki": {"url": "http://wiki.example.org/mcp", "headers": {"Authorization": "$KEY"}}
            }
        },
        {"mcp-http": "critical"},
    ),
    "models and platforms in the clear": (
        f"channels: {{{TELEGRAM}, base_url: 'http://telegram.example.org'}}}}\n"
        "access: {owners: ['telegram:1']}\n"
        "models: [{name: m, use: 'a.b:C', base_url: 'http://llm.example.org/v1'}]\n",
        None,
        {"platform-http": "critical", "model-http": "warning", "approvals-off": "note"},
    ),
}


@pytest.mark.parametrize("name", FAULTY)
def test_a_faulty_configuration(tmp_path: Path, name: str) -> None:
    text, extensions, expected = FAULTY[name]
    made = configured(tmp_path, text, extensions)
    assert found(made) == expected
    report = examine(made)
    worst = set(expected.values())
    assert report.exit_code == (2 if "critical" in worst else int("warning" in worst))
    for one in report.findings:
        assert all((one.what, one.why, one.remedy))
        assert STRONG not in f"{one.what} {one.why} {one.remedy}"


FILES: dict[str, tuple[Mapping[str, int], dict[str, str]]] = {
    "private": ({}, {"config-secrets": "note"}),
    "a data directory that others list": (
        {"home": 0o755},
        {"home-readable": "warning", "config-secrets": "note"},
    ),
    "a database that others read": (
        {"home": 0o755, "home/bot.db": 0o644},
        {"home-readable": "critical", "config-secrets": "note"},
    ),
    "a data directory that others write": (
        {"home": 0o777},
        {"home-writable": "critical", "config-secrets": "note"},
    ),
    "a configuration that others read": ({"config.yaml": 0o644}, {"config-readable": "critical"}),
    "a configuration that others write": (
        {"config.yaml": 0o602},
        {"config-writable": "critical", "config-secrets": "note"},
    ),
    "a folder that others write": ({".": 0o707}, {"config-writable": "critical", "config-secrets": "note"}),
    "an environment file that others read": (
        {".env": 0o644},
        {"environment-readable": "critical", "config-secrets": "note"},
    ),
    "a backup that others read": (
        {"roebot-backup-1.tar.gz": 0o604},
        {"backup-readable": "critical", "config-secrets": "note"},
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_others_reach(tmp_path: Path, name: str) -> None:
    modes, expected = FILES[name]
    made = configured(tmp_path, f"server: {{token: {STRONG}}}\n")
    (tmp_path / "home" / "bot.db").touch(mode=0o600)
    for path, mode in modes.items():
        if not (tmp_path / path).exists():
            (tmp_path / path).write_text("")
        (tmp_path / path).chmod(mode)
    report = examine(made)
    assert {
        one.check: str(one.severity) for one in report.findings if one.check != "approvals-off"
    } == expected


def test_a_setting_of_extensions_that_others_change(tmp_path: Path) -> None:
    servers = {"mcpServers": {"wiki": {"url": "https://wiki.example.org", "headers": {"X-Key": "literal"}}}}
    made = configured(tmp_path, "guardrails: {enabled: true, provider: {ask: [bash]}}\n", servers)
    assert found(made) == {}
    (tmp_path / "extensions_config.json").chmod(0o646)
    assert found(made) == {"config-writable": "critical", "extensions-readable": "critical"}


POWERS = """
channels:
  telegram: {bot_token: '1:0J9qv-Yk2sXw7_TnB4cD8eF1'}
access: {default: closed, owners: ['telegram:1']}
tools: [{name: lookup, group: web, use: 'my.tools:lookup'}, {name: wipe, group: web, use: 'my.tools:wipe'}]
guardrails: {enabled: true, provider: {ask: [bash], denied: ['wi*'], allowed: ['*_file', lookup, bash]}}
"""


def test_what_members_can_do(tmp_path: Path) -> None:
    report = examine(configured(tmp_path, POWERS, MCP))
    [telegram] = [one for one in report.accounts if one.account == "telegram"]
    assert telegram.access == ("owners: telegram:1", "everyone else: no access")
    tools = [line for line in telegram.members if line.startswith("have the agent")]
    assert tools[:5] == [
        "have the agent run commands in the sandbox, no network: after approval",
        "have the agent read and write files of the conversation: without approval",
        "have the agent use the tool lookup: without approval",
        "have the agent use the tool wipe: never",
        "have the agent use the MCP server files: never",
    ]
    assert {one.name for one in report.entrances} >= {"web console and API", "account telegram (telegram)"}


def test_a_weak_token_of_the_environment(tmp_path: Path) -> None:
    loaded = load_config(None, {}, tmp_path)
    made = inspect_installation(loaded, tmp_path, tmp_path, {"ROEBOT_TOKEN": "change-me"})
    assert {one.check for one in examine(made).findings} >= {"token-weak"}
    [one] = [one for one in examine(made).findings if one.check == "token-weak"]
    assert one.what == "ROEBOT_TOKEN is weak: it is shorter than 24 characters"


def test_the_report_as_text_and_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(tmp_path, "sandbox: {isolation: none}\n")
    monkeypatch.chdir(tmp_path)
    assert audit_command(tmp_path / "home", None) == 2
    text = capsys.readouterr().out
    assert "  critical commands run without isolation (sandbox.isolation: none) [sandbox-off]" in text
    assert "Account web" in text
    assert "1 critical, 1 warning, 0 note" in text
    assert audit_command(tmp_path / "home", None, as_json=True) == 2
    shown = json.loads(capsys.readouterr().out)
    assert shown["exit_code"] == 2
    assert shown["findings"][0]["check"] == "sandbox-off"
    assert shown["entrances"][0]["address"] == "127.0.0.1:2026"


def test_the_doctor_repeats_what_matters(tmp_path: Path) -> None:
    calm = configured(tmp_path, "")
    [one] = doctor_findings(calm)
    assert one.good is True
    faulty = configured(tmp_path, "sandbox: {isolation: none}\n")
    assert list(doctor_findings(faulty)) == [
        Finding(
            False,
            "security: commands run without isolation (sandbox.isolation: none). Remove sandbox.isolation, "
            "or set sandbox.enabled to false. [sandbox-off]",
        ),
        Finding(
            None,
            "security: the agent uses its tools without approval (guardrails.enabled: false). Enable "
            "guardrails, and list the tools to approve under guardrails.provider.ask "
            "(docs/howto/approve-tool-calls.md). [approvals-off]",
        ),
    ]
