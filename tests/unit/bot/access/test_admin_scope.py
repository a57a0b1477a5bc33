"""An admin of one account decides about nobody beyond it."""

from __future__ import annotations

import pytest

from bot.access import AccessPolicy, Role
from bot.access.permissions import administers_scope, home_origin
from bot.config import AccessConfig
from bot.domain import Sender
from tests.unit.bot.access.test_policy import entries

STATES = {
    "one": ("telegram", None),
    "two": ("telegram", None),
    "work": ("slack", None),
    "web": ("web", None),
}


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
    assert administers_scope(role, home, scope, STATES, lambda _account: policy) is expected
