"""Check the running service: accounts, models, configuration and schedules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from agent.shared.install_hints import STOP
from bot.cli.common import bearer_headers, error_detail
from bot.cli.doctor import Finding, agent, label_findings
from bot.cli.doctor.network import describe_live

ASK_SECONDS = 5.0
SCHEDULES = 200
BAD_AFTER = 3
"""Number of consecutive failed runs after which the check of a schedule fails."""


def service(url: str, token: str | None) -> Iterator[Finding]:
    """Return all findings that the service reports."""
    headers = bearer_headers(token)
    try:
        with httpx.Client(base_url=url, headers=headers, timeout=ASK_SECONDS, trust_env=False) as client:
            ready = client.get("/health/ready")
            listed = client.get("/api/channels")
            models = client.get("/api/models")
            schedules = client.get("/api/schedules", params={"limit": SCHEDULES})
            servers = client.get("/api/mcp/servers")
    except httpx.HTTPError as error:
        yield Finding(
            False,
            f"service at {url}: {type(error).__name__}. It is stuck or has just stopped. Run `{STOP}`, "
            "then start it again",
            "service",
        )
        return
    if not listed.is_success:
        yield Finding(
            False,
            f"service at {url} rejected the request: {error_detail(listed)}",
            "service",
        )
        return
    yield Finding(
        ready.is_success, f"service at {url}: {'ready' if ready.is_success else unready(ready)}", "service"
    )
    yield from label_findings("account", (_account(channel) for channel in listed.json()["channels"]))
    yield from label_findings("configuration", agent.check_served_config(url, headers))
    yield from label_findings("model", agent.check_served_models(url, headers, models))
    yield from label_findings("mcp", _servers(servers))
    yield from label_findings("schedule", _schedules(schedules))


def _account(channel: Mapping[str, Any]) -> Finding:
    state, reason = channel["state"], channel.get("reason") or ""
    text = f"account {channel['account']} is {state}"
    if state == "live":
        return describe_live(text, reason)
    good = None if state in {"connecting", "limited", "stopped"} else False
    return Finding(good, f"{text}: {reason}" if reason else text)


def _servers(answer: httpx.Response) -> Iterator[Finding]:
    """Return the configured MCP servers that failed; a remote runtime may report none."""
    if not answer.is_success:
        return
    for server in answer.json()["servers"]:
        if server["state"] == "unavailable":
            why = server.get("detail") or "no reason given"
            advice = "fix it in extensions_config.json, or switch it off in the web console"
            yield Finding(False, f"MCP server {server['name']}: {why}; {advice}")
        elif server.get("detail"):
            yield Finding(None, f"MCP server {server['name']}: tools that can't be used: {server['detail']}")


def _schedules(answer: httpx.Response) -> Iterator[Finding]:
    """Return the schedules whose last runs failed."""
    if not answer.is_success:
        return
    for schedule in answer.json()["schedules"]:
        failures = schedule["failures"]
        if schedule["state"] == "active" and failures:
            times = "the last run" if failures == 1 else f"the last {failures} runs"
            yield Finding(
                None if failures < BAD_AFTER else False,
                f"schedule {schedule['id']} ({schedule['when']}, {schedule['account']}): {times} failed; "
                "check its runs under Schedules in the web console, and the state of the account",
            )


def unready(answer: httpx.Response) -> str:
    """Describe the failing parts in the service's readiness response."""
    try:
        parts = {name: part for name, part in answer.json().items() if isinstance(part, dict)}
    except (ValueError, AttributeError):
        return answer.text
    bad = [
        f"{name}: {part.get('detail')}"
        for name, part in parts.items()
        if name != "accounts" and not part["ok"]
    ]
    return "not ready" + (f"; {'; '.join(bad)}" if bad else "; see the accounts below")
