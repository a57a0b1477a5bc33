"""Findings about approvals: whether tools need them, who grants them, and forbidden commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase

from agent.config.forbidden_commands import DEFAULT_RULES
from bot.cli.security import Installation, SecurityFinding, Severity
from bot.cli.security.agent_powers import (
    NEVER,
    WITHOUT_APPROVAL,
    approval_of,
    has_host_access,
    list_host_tools,
)
from bot.domain import LOCAL_PLATFORMS

SHOWN_RULES = 3


def check_approvals(found: Installation) -> Iterator[SecurityFinding]:
    """Check the approval rules. A remote runtime has its own."""
    if not found.config.runtime.url:
        yield from _check_guard(found)
        yield from _check_requesters(found)
        yield from _check_forbidden_commands(found)


def _check_guard(found: Installation) -> Iterator[SecurityFinding]:
    if found.config.guardrails.enabled:
        return
    powerful = has_host_access(found)
    yield SecurityFinding(
        "approvals-off",
        Severity.WARNING if powerful else Severity.NOTE,
        "the agent uses its tools without approval (guardrails.enabled: false)",
        "A message, page or file with hidden instructions can have the agent use tools that reach beyond its "
        "sandbox."
        if powerful
        else "Commands are isolated in a sandbox; tools that you add later need no approval either.",
        "Enable guardrails, and list the tools to approve under guardrails.provider.ask "
        "(docs/howto/approve-tool-calls.md).",
    )


def _check_requesters(found: Installation) -> Iterator[SecurityFinding]:
    """Check whether people approve powerful tools for their own work."""
    config, rules = found.config, found.config.approvals
    needed = {tool: approval_of(config, tool) for tool in list_host_tools(found)}
    tools = [tool for tool, needs in needed.items() if needs not in (NEVER, WITHOUT_APPROVAL)]
    if rules.by != "requester" or not tools:
        return
    chats = [account.name for account in config.accounts if account.platform not in LOCAL_PLATFORMS]
    is_open = any(config.access_for(name).default == "allow" for name in chats)
    everyone = "Everyone" if is_open else "Every member"
    here = f", and for {rules.here_days} days at once (approve here)" if rules.here == "anyone" else ""
    yield SecurityFinding(
        "approvals-self",
        Severity.WARNING if is_open else Severity.NOTE,
        f"whoever asks for work also approves its calls of {', '.join(tools)} (approvals.by: requester)",
        f"{everyone} can have the agent reach beyond its sandbox{here}; "
        "their approval only stops hidden instructions.",
        "Set approvals.by to admins or others (docs/howto/approve-tool-calls.md#choose-who-decides).",
    )


def _check_forbidden_commands(found: Installation) -> Iterator[SecurityFinding]:
    config = found.config
    given = config.guardrails.forbidden_commands
    missing = [rule for rule in DEFAULT_RULES if not any(_covers(one, rule) for one in given)]
    if not missing:
        return
    powerful = any(approval_of(config, tool) != NEVER for tool in list_host_tools(found))
    shown = ", ".join(missing[:SHOWN_RULES])
    more = f" and {len(missing) - SHOWN_RULES} more" if len(missing) > SHOWN_RULES else ""
    yield SecurityFinding(
        "forbidden-commands",
        Severity.WARNING if powerful else Severity.NOTE,
        f"guardrails.forbidden_commands lacks default rules: {shown}{more}"
        if given
        else "no command is refused regardless of approval (guardrails.forbidden_commands is empty)",
        "An approval by mistake is enough to run these commands, which destroy the system or read secrets."
        if powerful
        else "Only the sandbox stops these commands; tools that you add later may run outside it.",
        "Remove guardrails.forbidden_commands to use the default rules, or add the missing ones to it.",
    )


def _covers(rule: str, default: str) -> bool:
    """Return whether a rule forbids every command that a default rule forbids."""
    program, *arguments = shlex.split(rule) or [""]
    default_program, *default_arguments = shlex.split(default)
    return fnmatchcase(default_program, program) and set(arguments) <= set(default_arguments)
