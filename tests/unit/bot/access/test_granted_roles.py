"""Roles that people were given beside the rules of the configuration, and who is a guest."""

from __future__ import annotations

import pytest

from bot.access import AccessPolicy, Caller, Permission, PermissionPolicy, Role, Target
from bot.access.permissions import home_origin
from bot.config import AccessConfig, AccessEntry
from bot.domain import ChatKind, Origin, Sender
from tests.unit.bot.access.test_policy import entries

ROLES = (Role.BLOCKED, Role.MEMBER, Role.ADMIN, Role.OWNER)


def writes(*belongs: str, guest: bool = False, chat: str = "") -> Origin:
    """Somebody writes in private, or in that chat."""
    sender = Sender("7", "Ann", belongs=belongs, guest=guest)
    kind = ChatKind.GROUP if chat else ChatKind.PRIVATE
    return Origin("work", "slack", chat or "D7", kind, "1", sender)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("entry", ["slack:7", "work:7"])
def test_a_person(entry: str, role: Role) -> None:
    assert AccessPolicy(AccessConfig(), {AccessEntry.parse(entry): role}).role_of(writes()) is role


@pytest.mark.parametrize("listed", ["owners", "admins", "members", "blocked"])
@pytest.mark.parametrize("role", ROLES)
def test_the_higher_one_counts_but_for_who_is_blocked(listed: str, role: Role) -> None:
    by_rules = {"owners": Role.OWNER, "admins": Role.ADMIN, "members": Role.MEMBER, "blocked": Role.BLOCKED}
    rules = AccessConfig.model_validate({listed: entries("slack:7")})
    found = AccessPolicy(rules, {AccessEntry("slack", "7"): role}).role_of(writes())
    if listed == "owners":
        assert found is Role.OWNER
    elif Role.BLOCKED in (role, by_rules[listed]):
        assert found is Role.BLOCKED
    else:
        assert found is max(role, by_rules[listed])


@pytest.mark.parametrize(
    ("entry", "chat", "belongs", "role"),
    [
        ("slack:C1", "C1", (), Role.MEMBER),
        ("slack:C1", "C2", (), Role.STRANGER),
        ("slack:C1", "", (), Role.STRANGER),
        ("slack:team:T1", "", ("team:T1",), Role.MEMBER),
        ("slack:team:T1", "C1", ("role:T1", "team:T2"), Role.STRANGER),
        ("work:team:T1", "C1", ("team:T2", "team:T1"), Role.MEMBER),
        ("discord:team:T1", "", ("team:T1",), Role.STRANGER),
        ("slack:T1", "", ("team:T1",), Role.STRANGER),
    ],
)
@pytest.mark.parametrize("by_rules", [False, True])
def test_a_group_or_a_workspace(
    entry: str, chat: str, belongs: tuple[str, ...], role: Role, *, by_rules: bool
) -> None:
    (parsed,) = entries(entry)
    listed = {"groups": (parsed,)} if parsed.id.startswith("C") else {"members": (parsed,)}
    rules = AccessConfig.model_validate(listed if by_rules else {})
    policy = AccessPolicy(rules, {} if by_rules else {parsed: Role.MEMBER})
    assert policy.role_of(writes(*belongs, chat=chat)) is role


@pytest.mark.parametrize("blocked", ["slack:C1", "slack:team:T1", "slack:7"])
def test_what_is_blocked_beats_what_is_given(blocked: str) -> None:
    (parsed,) = entries(blocked)
    policy = AccessPolicy(AccessConfig(default="allow"), {parsed: Role.BLOCKED})
    assert policy.role_of(writes("team:T1", chat="C1")) is Role.BLOCKED


@pytest.mark.parametrize("blocked", ["slack:C1", "slack:team:T1"])
@pytest.mark.parametrize("role", [Role.ADMIN, Role.OWNER])
def test_a_place_that_is_blocked_leaves_out_its_admins(blocked: str, role: Role) -> None:
    (parsed,) = entries(blocked)
    policy = AccessPolicy(AccessConfig(), {parsed: Role.BLOCKED, AccessEntry("slack", "7"): role})
    assert policy.role_of(writes("team:T1", chat="C1")) is role
    policy = AccessPolicy(AccessConfig(blocked=(parsed,)), {AccessEntry("slack", "7"): role})
    assert policy.role_of(writes("team:T1", chat="C1")) is Role.BLOCKED


@pytest.mark.parametrize("guests", [False, True])
@pytest.mark.parametrize(
    "rules",
    [
        {"default": "allow"},
        {"groups": entries("slack:C1")},
        {"members": entries("slack:team:T1")},
        {"admins": entries("slack:team:T1")},
    ],
)
def test_guests_count_among_everybody_only_if_it_is_said(rules: dict[str, object], *, guests: bool) -> None:
    policy = AccessPolicy(AccessConfig.model_validate({**rules, "guests": guests}))
    as_a_guest = policy.role_of(writes("team:T1", guest=True, chat="C1"))
    assert as_a_guest is (policy.role_of(writes("team:T1", chat="C1")) if guests else Role.STRANGER)
    assert policy.role_of(writes("team:T1", chat="C1")) >= Role.MEMBER


def test_a_guest_is_let_in_by_name() -> None:
    assert AccessPolicy(AccessConfig(members=entries("slack:7"))).role_of(writes(guest=True)) is Role.MEMBER
    policy = AccessPolicy(AccessConfig(), {AccessEntry("slack", "7"): Role.MEMBER})
    assert policy.role_of(writes(guest=True, chat="C1")) is Role.MEMBER


@pytest.mark.guard(
    "admins cannot act on admins and owners",
    "bot/access/permissions.py",
    "if target.rank >= Role.ADMIN:",
    "if False:",
    against="admins of another account",
)
@pytest.mark.parametrize(
    ("giver", "role", "held", "may"),
    [
        (Role.OWNER, Role.OWNER, Role.OWNER, True),
        (Role.OWNER, Role.BLOCKED, Role.ADMIN, True),
        (Role.ADMIN, Role.MEMBER, Role.STRANGER, True),
        (Role.ADMIN, Role.BLOCKED, Role.MEMBER, True),
        (Role.ADMIN, Role.MEMBER, Role.BLOCKED, True),
        (Role.ADMIN, Role.ADMIN, Role.MEMBER, False),
        (Role.ADMIN, Role.MEMBER, Role.ADMIN, False),
        (Role.ADMIN, Role.BLOCKED, Role.OWNER, False),
        (Role.MEMBER, Role.MEMBER, Role.STRANGER, False),
    ],
)
def test_who_may_give_what(giver: Role, role: Role, held: Role, *, may: bool) -> None:
    permissions = PermissionPolicy(dict, lambda _account: AccessPolicy(AccessConfig()))
    caller = Caller(giver, home_origin("telegram", "tg", Sender("7")))
    target = Target("tg", rank=max(role, held))
    assert permissions.decide(caller, Permission.GRANT, target) is may


@pytest.mark.parametrize("listed", [None, "owners", "admins", "members", "blocked"])
@pytest.mark.parametrize("role", ROLES)
def test_what_is_overruled_would_change_nothing(listed: str | None, role: Role) -> None:
    rules = AccessConfig.model_validate({listed: entries("slack:7")} if listed else {})
    policy = AccessPolicy(rules, {AccessEntry("slack", "7"): role})
    overruled = policy.configured_role_of_entry(AccessEntry("slack", "7")).outranks_grant(role)
    assert overruled is (policy.role_of(writes()) is not role)
