"""How far somebody's word about others goes: the one answer for commands and for the port."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from bot.access.policy import AccessPolicy, Role
from bot.domain import ChatKind, Origin, Sender


def at_home(platform: str, account: str, sender: Sender) -> Origin:
    """Somebody in private on the account that they are known from; at the page, of who came by a link, that
    of the link.
    """
    if not sender.account:
        return Origin(account, platform, "", ChatKind.PRIVATE, "", sender)
    home, _, id_ = sender.id.partition(":")
    known = replace(sender, id=id_, account="")
    return Origin(sender.account, home, "", ChatKind.PRIVATE, "", known)


def within_reach(
    role: Role,
    home: Origin,
    scope: str,
    states: Mapping[str, tuple[str, object]],
    policy: Callable[[str], AccessPolicy],
) -> bool:
    """Whether somebody with this role at `home` is an admin of every account that an entry's `scope` means;
    owners are of all. `states` are the platforms and states of all accounts, by name.
    """
    if role is Role.OWNER:
        return True
    if role < Role.ADMIN:
        return False
    if scope == home.account:
        return True
    meant = [(account, on) for account, (on, _) in states.items() if scope in (account, on)]
    return bool(meant) and all(
        on == home.platform and policy(account).role_of(replace(home, account=account)) >= Role.ADMIN
        for account, on in meant
    )
