"""Command targets: a person, this group or a workspace."""

from __future__ import annotations

from dataclasses import replace

from bot.access import Permission, Role, Target
from bot.commands.escaping import quoted
from bot.commands.registry import Invocation, Result, nearest, nearest_line
from bot.config import AccessEntry, wrong_entry
from bot.domain import DIRECT_PLATFORMS, ChatKind, person_of

HERE = "here"


def home_of(call: Invocation) -> str:
    """Return the caller's platform, in the web console that of their sign-in link."""
    return person_of(call.turn.platform, call.turn.messages[-1].sender).partition(":")[0]


def account_of(call: Invocation) -> str:
    """Return the caller's account, resolved in the same way."""
    return call.turn.messages[-1].sender.account or call.turn.address.account


def entry_of(call: Invocation, who: str, scope: str) -> AccessEntry | Result:
    """Parse a command's target as an access entry: this group, an id in the scope, or an entry with its own
    scope.

    Returns the usage text if the word is no entry.
    """
    address = call.turn.address
    if who.lower() == HERE:
        if address.chat_kind is not ChatKind.GROUP:
            return Result(call.texts("who_here"))
        return AccessEntry(scope, address.chat)
    try:
        entry = AccessEntry.parse(who if ":" in who else f"{scope}:{who}")
    except ValueError:
        return Result(call.texts("who_unknown", who=quoted(who)) if who else call.texts("who_missing"))
    states = call.core.accounts.states()
    known = {*states, *DIRECT_PLATFORMS, *(platform for platform, _ in states.values())}
    if entry.scope not in known:
        near = nearest_line(call.texts, nearest(entry.scope, sorted(known)) or sorted(known), mark="")
        return Result(call.texts("who_nowhere", scope=quoted(entry.scope), nearest=near))
    platform = states[entry.scope][0] if entry.scope in states else entry.scope
    problem = wrong_entry(platform, entry)
    # An existing grant can always be revoked, whatever it covers.
    if problem and entry not in call.core.people:
        return Result(call.texts("who_wrong", who=quoted(str(entry)), problem=problem))
    return entry


def whom(call: Invocation, who: str) -> AccessEntry | Result:
    """Parse a command's target as an access entry on this account.

    The entry covers the whole platform if the word names a scope or the existing grant does.
    """
    entry = entry_of(call, who, account_of(call))
    if isinstance(entry, Result) or ":" in who:
        return entry
    people, wide = call.core.people, twin(call, entry)
    return wide if wide in people and entry not in people else entry


def twin(call: Invocation, entry: AccessEntry) -> AccessEntry:
    """Return the equivalent entry in the other scope: platform for account, account for platform."""
    account, platform = account_of(call), home_of(call)
    if account == platform or entry.scope not in (account, platform):
        return AccessEntry("", "")
    return replace(entry, scope=platform if entry.scope == account else account)


def own_accounts(call: Invocation, rank: Role) -> Target:
    """Return people of this rank on the caller's own account."""
    return Target(call.caller.home.account, rank=rank)


def reaches(call: Invocation, entry: AccessEntry, permission: Permission = Permission.GRANT) -> bool:
    """Return whether the caller has a permission on every account that the entry covers."""
    return call.may(permission, Target(entry.scope))
