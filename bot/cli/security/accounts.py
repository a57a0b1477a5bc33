"""Access rules of each account, permissions of its members and admins, and related findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from bot.app.accounts import load_manifest
from bot.cli.security import AccountPowers, Installation, SecurityFinding, Severity
from bot.cli.security.agent_powers import describe_tools, has_host_access
from bot.config import AccessConfig, AccessEntry, AccountConfig, Config
from bot.domain import LOCAL_PLATFORMS
from bot.errors import StartError

MEMBERS = (
    "chat with the agent, and stop or repeat their own work",
    "export and erase their own data",
    "plan digests in their chats",
)
ADMINS = (
    "grant and revoke the member role, approve access requests",
    "read other people's conversations, files and memory",
    "set usage limits, announce, restart the account",
)


def list_powers(found: Installation) -> Iterator[AccountPowers]:
    """List each account's access rules, and the permissions of its members and admins."""
    tools = tuple(describe_tools(found))
    for account in found.config.accounts:
        rules = found.config.access_for(account.name)
        access = (
            ("the owner, signed in to the service",)
            if account.platform in LOCAL_PLATFORMS
            else tuple(_access(rules))
        )
        members, admins = describe_approvals(found.config)
        yield AccountPowers(
            account.name, account.platform, access, (*MEMBERS, *members, *tools), (*ADMINS, admins)
        )


def describe_approvals(config: Config) -> tuple[tuple[str, ...], str]:
    """Return how members and admins can decide on tool calls."""
    by = config.approvals.by
    own = ("approve or reject the tool calls of their own work",) if by == "requester" else ()
    of = "of others, but not of their own work" if by == "others" else "of everyone"
    return own, f"approve or reject tool calls {of}, and allow a tool on the account"


def _access(rules: AccessConfig) -> Iterator[str]:
    for role in ("owners", "admins", "members", "groups", "blocked"):
        entries: Sequence[AccessEntry] = getattr(rules, role)
        if entries:
            yield f"{role}: {', '.join(map(str, entries))}"
    yield {
        "pair": "everyone else: a code that an admin can approve",
        "closed": "everyone else: no access",
        "allow": "everyone else: member",
    }[rules.default]


def check_accounts(found: Installation) -> Iterator[SecurityFinding]:
    """Check the access rules of all accounts on chat platforms."""
    for account in found.config.accounts:
        if account.platform not in LOCAL_PLATFORMS:
            rules = found.config.access_for(account.name)
            yield from _check_default(found, account, rules)
            yield from _check_entries(account, rules)


def _check_default(
    found: Installation, account: AccountConfig, rules: AccessConfig
) -> Iterator[SecurityFinding]:
    if rules.default != "allow":
        return
    public = not _is_members_only(account.platform)
    powerful = has_host_access(found)
    who = "Everyone who finds the bot" if public else "Everyone in the organization"
    yield SecurityFinding(
        "access-allow",
        Severity.CRITICAL if public or powerful else Severity.WARNING,
        f"account {account.name} admits everyone (access.default: allow)",
        f"{who} can use the agent"
        + (", which can reach beyond its sandbox." if powerful else " and its tools."),
        "Set access.default to pair or closed, and list people under access.members.",
    )
    if not _has_budget(found.config):
        yield SecurityFinding(
            "access-allow-unlimited",
            Severity.WARNING,
            f"account {account.name} admits everyone, without a limit on usage",
            "Anyone can use up your budget at the model provider.",
            "Set budgets.person and budgets.account.",
        )


def _is_members_only(platform: str) -> bool:
    """Return whether only an organization's members can message a bot on the platform."""
    with suppress(StartError):
        return load_manifest(platform).members_only
    return False


def _has_budget(config: Config) -> bool:
    limits = (config.budgets.person, config.budgets.account)
    return any(one.messages_per_hour or one.tokens_per_day for one in limits)


def _check_entries(account: AccountConfig, rules: AccessConfig) -> Iterator[SecurityFinding]:
    for role in ("owners", "admins"):
        wide = [str(entry) for entry in getattr(rules, role) if entry.kind]
        if wide:
            yield SecurityFinding(
                f"access-wide-{role}",
                Severity.CRITICAL if role == "owners" else Severity.WARNING,
                f"on account {account.name}, access.{role} contains {', '.join(wide)}",
                f"Whoever manages these groups on {account.platform} decides who the {role} of the bot are.",
                f"List people by their ids under access.{role} (the command whoami shows them).",
            )
    if rules.groups:
        yield SecurityFinding(
            "access-groups",
            Severity.NOTE,
            f"on account {account.name}, everyone in {', '.join(map(str, rules.groups))} is a member",
            "Whoever can add people to these groups gives them access.",
            "Remove the groups from access.groups that are open to outsiders.",
        )
    if rules.guests and (rules.groups or rules.default == "allow"):
        yield SecurityFinding(
            "access-guests",
            Severity.WARNING,
            f"on account {account.name}, guests of the workspace count as everyone (access.guests)",
            "People from other organizations can use the agent.",
            "Set access.guests to false, and list the guests who need access.",
        )
    if not rules.owners and not rules.admins:
        yield SecurityFinding(
            "access-no-admin",
            Severity.NOTE,
            f"account {account.name} has no configured owner or admin",
            "Until somebody is granted the role, access requests and approvals wait for the web console.",
            "Add yourself to access.owners (the command whoami shows your id).",
        )
