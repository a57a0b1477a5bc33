"""Closed by default, and only by exact ids."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.access import AccessPolicy, Role
from bot.config import AccessConfig, AccessEntry, AppRule
from bot.domain import ChatKind, Origin, Sender


def origin(
    person: str = "7", *, chat: str = "7", kind: ChatKind = ChatKind.PRIVATE, platform: str = "telegram"
) -> Origin:
    return Origin("work-bot", platform, chat, kind, "1", Sender(person, "Ann", "ann"))


def entries(*texts: str) -> tuple[AccessEntry, ...]:
    return tuple(AccessEntry.parse(text) for text in texts)


def test_nobody_is_let_in_by_empty_lists() -> None:
    assert AccessPolicy(AccessConfig()).role_of(origin()) is Role.STRANGER


@pytest.mark.parametrize(
    ("rules", "role"),
    [
        ({"owners": ("telegram:7",)}, Role.OWNER),
        ({"admins": ("work-bot:7",)}, Role.ADMIN),
        ({"members": ("telegram:7",)}, Role.MEMBER),
        ({"members": ("telegram:77",)}, Role.STRANGER),
        ({"members": ("discord:7",)}, Role.STRANGER),
        ({"owners": ("telegram:7",), "blocked": ("telegram:7",)}, Role.BLOCKED),
    ],
)
def test_a_person_has_the_role_of_the_entry_that_means_them(
    rules: dict[str, tuple[str, ...]], role: Role
) -> None:
    config = AccessConfig(**{key: entries(*value) for key, value in rules.items()})
    assert AccessPolicy(config).role_of(origin()) is role


def test_a_listed_group_lets_its_people_in_there_only() -> None:
    policy = AccessPolicy(AccessConfig(groups=entries("telegram:-100")))
    assert policy.role_of(origin(chat="-100", kind=ChatKind.GROUP)) is Role.MEMBER
    assert policy.role_of(origin(chat="-200", kind=ChatKind.GROUP)) is Role.STRANGER
    assert policy.role_of(origin()) is Role.STRANGER


def test_a_blocked_group_is_closed_for_everybody() -> None:
    config = AccessConfig(blocked=entries("telegram:-100"), owners=entries("telegram:7"))
    assert AccessPolicy(config).role_of(origin(chat="-100", kind=ChatKind.GROUP)) is Role.BLOCKED


def test_the_default_can_be_opened() -> None:
    assert AccessPolicy(AccessConfig(default="allow")).role_of(origin()) is Role.MEMBER


def test_page_and_terminal_belong_to_the_owner() -> None:
    assert AccessPolicy(AccessConfig()).role_of(origin("owner", platform="web")) is Role.OWNER
    assert AccessPolicy(AccessConfig()).role_of(origin("owner", platform="terminal")) is Role.OWNER


def test_a_role_holds_those_below_it() -> None:
    assert Role.OWNER.role_names == ("owner", "admin", "member")
    assert Role.ADMIN.role_names == ("admin", "member")
    assert Role.MEMBER.role_names == ("member",)
    assert Role.STRANGER.role_names == Role.BLOCKED.role_names == ()


def test_the_line_to_add_is_valid_configuration() -> None:
    import yaml

    line = yaml.safe_load(AccessPolicy.config_lines(origin()))
    assert AccessConfig(members=line["access"]["members"]).members == entries("telegram:7")


GRAFANA = Sender("B7", "Grafana", is_bot=True, belongs=("app:A9", "team:T1"))


@pytest.mark.parametrize("entry", ["slack:B7", "work-bot:A9"])
def test_an_app_is_listed_by_either_of_its_ids(entry: str) -> None:
    policy = AccessPolicy(AccessConfig(), apps=(AppRule(id=AccessEntry.parse(entry)),))
    here = Origin("work-bot", "slack", "C1", ChatKind.GROUP, "1", GRAFANA)
    assert policy.role_of(here) is Role.MEMBER
    assert policy.role_of(replace(here, sender=Sender("A9", belongs=("app:A9",)))) is Role.STRANGER


@pytest.mark.parametrize("entry", ["slack:B7", "slack:A9", "slack:team:T1", "slack:C1"])
def test_a_listed_app_is_blocked_like_a_person(entry: str) -> None:
    apps = (AppRule(id=AccessEntry("slack", "B7")),)
    here = Origin("work-bot", "slack", "C1", ChatKind.GROUP, "1", GRAFANA)
    blocked = AccessEntry.parse(entry)
    assert AccessPolicy(AccessConfig(blocked=(blocked,)), apps=apps).role_of(here) is Role.BLOCKED
    assert AccessPolicy(AccessConfig(), {blocked: Role.BLOCKED}, apps=apps).role_of(here) is Role.BLOCKED
