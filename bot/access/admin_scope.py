"""Decide which accounts an admin administers, for commands and for the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from bot.access.policy import AccessPolicy, Role
from bot.domain import ChatKind, Origin, Sender


def home_origin(platform: str, account: str, sender: Sender) -> Origin:
    """Return a private chat with the sender on their own account.

    For a caller who signed in to the web console by a link, that is the account of the link.
    """
    if not sender.account:
        return Origin(account, platform, "", ChatKind.PRIVATE, "", sender)
    home, _, id_ = sender.id.partition(":")
    known = replace(sender, id=id_, account="")
    return Origin(sender.account, home, "", ChatKind.PRIVATE, "", known)


def administers_scope(
    role: Role,
    home: Origin,
    scope: str,
    states: Mapping[str, tuple[str, object]],
    policy: Callable[[str], AccessPolicy],
) -> bool:
    """Return whether a sender with this role at `home` is an admin of every account that `scope` covers.

    Owners are admins of all accounts. `states` maps account names to their platform and state.
    """
    if role is Role.OWNER:
        return True
    if role < Role.ADMIN:
        return False
    if scope == home.account:
        return True
    covered = [(account, on) for account, (on, _) in states.items() if scope in (account, on)]
    return bool(covered) and all(
        on == home.platform and policy(account).role_of(replace(home, account=account)) >= Role.ADMIN
        for account, on in covered
    )
