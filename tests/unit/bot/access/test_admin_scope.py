"""An admin of one account decides about nobody beyond it."""

from __future__ import annotations

import pytest

from bot.access import AccessPolicy, Role
from bot.access.permissions import RULES, Caller, Permission, PermissionPolicy, Target, home_origin
from bot.config import AccessConfig
from bot.domain import ChatKind, Origin, Sender
from tests.unit.bot.access.test_policy import entries

PLATFORMS = {"one": "telegram", "two": "telegram", "work": "slack", "web": "web"}


@pytest.mark.guard(
    "an admin needs the role on every account concerned",
    "bot/access/permissions.py",
    "return bool(covered) and all(",
    "return bool(covered) or all(",
    against="admins of another account",
)
@pytest.mark.parametrize(
    ("role", "admins", "scope", "expected"),
    [
        (Role.ADMIN, ["one:7"], "one", True),
        (Role.ADMIN, ["one:7"], "two", False),
        (Role.ADMIN, ["one:7"], "telegram", False),
        (Role.ADMIN, ["one:7", "two:7"], "two", True),
        (Role.ADMIN, ["one:7", "two:7"], "telegram", True),
        (Role.ADMIN, ["telegram:7"], "telegram", True),
        (Role.ADMIN, ["telegram:7", "slack:7"], "work", False),
        (Role.ADMIN, ["telegram:7", "slack:7"], "slack", False),
        (Role.ADMIN, ["telegram:7", "web:7"], "web", False),
        (Role.ADMIN, ["telegram:7"], "nowhere", False),
        (Role.MEMBER, ["telegram:7"], "one", False),
        (Role.OWNER, [], "telegram", True),
        (Role.OWNER, [], "nowhere", True),
    ],
)
@pytest.mark.parametrize("sender", [Sender("7"), Sender("telegram:7", account="one")], ids=["chat", "link"])
def test_whom_somebody_decides_about(
    role: Role, admins: list[str], scope: str, sender: Sender, *, expected: bool
) -> None:
    policy = AccessPolicy(AccessConfig(admins=entries(*admins)))
    platform, account = ("web", "web") if sender.account else ("telegram", "one")
    home = home_origin(platform, account, sender)
    assert (home.platform, home.account, home.sender) == ("telegram", "one", Sender("7"))
    permissions = PermissionPolicy(lambda: PLATFORMS, lambda _account: policy)
    caller = Caller(role, home)
    assert permissions.decide(caller, Permission.GRANT, Target(scope)) is expected
    reached = permissions.accounts_with(caller, Permission.GRANT)
    if scope in PLATFORMS:
        assert (reached is None or scope in reached) is expected


@pytest.mark.guard(
    "what affects everybody needs an admin of all accounts",
    "bot/access/permissions.py",
    '"" if rule.everywhere else target.scope',
    "target.scope",
    against="admins of another account",
)
@pytest.mark.parametrize(
    ("admins", "platforms", "expected"),
    [
        (["one:7"], {"one": "telegram", "web": "web"}, True),
        (["one:7"], {"one": "telegram", "two": "telegram"}, False),
        (["telegram:7"], {"one": "telegram", "two": "telegram"}, True),
        (["telegram:7", "work:7"], {"one": "telegram", "work": "slack"}, False),
    ],
)
def test_what_affects_everybody_needs_an_admin_of_all_accounts(
    admins: list[str], platforms: dict[str, str], *, expected: bool
) -> None:
    policy = AccessPolicy(AccessConfig(admins=entries(*admins)))
    permissions = PermissionPolicy(lambda: platforms, lambda _account: policy)
    home = home_origin("telegram", "one", Sender("7"))
    everywhere = {one for one in Permission if RULES[one].everywhere and RULES[one].least is Role.ADMIN}
    assert everywhere == {Permission.EXTEND, Permission.CONFIGURE, Permission.HEALTH}
    for permission in everywhere:
        assert permissions.decide(Caller(Role.ADMIN, home), permission, Target("one")) is expected
        assert permissions.decide(Caller(Role.OWNER, home), permission)
        assert not permissions.decide(Caller(Role.MEMBER, home), permission, Target("one", own=True))


@pytest.mark.parametrize("role", Role)
def test_ones_own_needs_no_admin(role: Role) -> None:
    permissions = PermissionPolicy(lambda: PLATFORMS, lambda _account: AccessPolicy(AccessConfig()))
    caller = Caller(role, home_origin("telegram", "one", Sender("7")))
    own, foreign = Target("two", own=True), Target("two")
    assert permissions.decide(caller, Permission.READ, own) is (role >= Role.MEMBER)
    assert permissions.decide(caller, Permission.READ, foreign) is (role is Role.OWNER)
    assert permissions.decide(caller, Permission.RAW_RUNS, own) is (role is Role.OWNER)
    assert not permissions.decide(caller, Permission.RAW_RUNS, foreign)


@pytest.mark.guard(
    "the role of a link counts on its own account only",
    "bot/access/policy.py",
    "if linked is Role.OWNER or origin.platform in LOCAL_PLATFORMS or origin.account == sender.account:",
    "if True:",
    against="admins of another account",
)
@pytest.mark.parametrize("linked", Role)
def test_the_role_of_a_link_counts_on_its_own_account(linked: Role) -> None:
    """On another account somebody has the role that they have there; owners are owners of all."""
    policy = AccessPolicy(AccessConfig(members=entries("two:7")), linked=lambda _sender: linked)
    sender = Sender("telegram:7", account="one")
    roles = [
        policy.role_of(Origin(account, platform, "c", ChatKind.PRIVATE, "", sender))
        for account, platform in (("web", "web"), ("one", "telegram"), ("two", "telegram"), ("work", "slack"))
    ]
    there = Role.MEMBER if linked >= Role.MEMBER else min(linked, Role.STRANGER)
    stranger = min(linked, Role.STRANGER)
    assert roles == ([linked] * 4 if linked is Role.OWNER else [linked, linked, there, stranger])
