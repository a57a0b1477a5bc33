"""Who may use the bot: entries, sections, and one account's own rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent.config.errors import join_words
from bot.config import AccessConfig, AccessEntry, AccessOverrides
from bot.config.platforms import known_platforms
from bot.platforms.slack.account import SlackAccount

if TYPE_CHECKING:
    from .conftest import Folder

V = "config_version: 1\n"
WANTED = "expected platform:id or account:id, or with a kind of id, such as platform:team:id"


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("telegram:123", AccessEntry("telegram", "123")),
        ("telegram:-1001234567890", AccessEntry("telegram", "-1001234567890")),
        ("web:ann.b-c_d", AccessEntry("web", "ann.b-c_d")),
        ("my-bot_2:7", AccessEntry("my-bot_2", "7")),
        ("slack:team:T1", AccessEntry("slack", "T1", "team")),
        ("discord:role:987", AccessEntry("discord", "987", "role")),
    ],
)
def test_entries_that_can_be_parsed(text: str, entry: AccessEntry) -> None:
    assert AccessEntry.parse(text) == entry
    assert str(entry) == text
    assert AccessEntry.parse(entry) is entry


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("123456", f"{WANTED}, got a whole number"),
        ("'123456'", WANTED),
        ("1.5", f"{WANTED}, got a number"),
        ("true", f"{WANTED}, got true or false"),
        ("", f"{WANTED}, got nothing"),
        ("[telegram:1]", f"{WANTED}, got a list"),
        ("{telegram: 123}", f"{WANTED}, got a mapping; remove the space after the colon"),
        ("{telegram: 1, web: 2}", f"{WANTED}, got a mapping"),
        ("telegram", WANTED),
        ("'telegram:'", WANTED),
        ("':123'", WANTED),
        ("''", WANTED),
        ("'*'", WANTED),
        ("'telegram:*'", WANTED),
        ("Telegram:123", WANTED),
        ("'telegram: 123'", f"{WANTED}; write several entries as a list, one per item"),
        ("'telegram:1,telegram:2'", f"{WANTED}; write several entries as a list, one per item"),
        ("'telegram:1 telegram:2'", f"{WANTED}; write several entries as a list, one per item"),
        (
            "'telegram:@bob'",
            f"{WANTED}; a name can change hands, so use the id (the command whoami shows it)",
        ),
        ("telegram:1:2", WANTED),
        ('"telegram:1\\n"', WANTED),
        ("telegram:１２", WANTED),
        (
            "telegramm:1",
            "telegramm is neither a platform nor an account;"
            f" expected {join_words(sorted(known_platforms()))}",
        ),
    ],
)
@pytest.mark.parametrize("role", ["owners", "admins", "members", "blocked", "groups"])
def test_an_entry_that_cannot_be_parsed_stops_the_start(
    folder: Folder, role: str, written: str, message: str
) -> None:
    lines = folder.refuse(V + f"access:\n  {role}:\n    - web:me\n    - {written}\n")
    assert lines == [f"config.yaml:5: access.{role}[1]: {message}"]


PERSON = "expected a person's numeric id after telegram: (the command whoami shows it to them)"
GROUP = "expected a group's numeric id (it starts with a minus sign) after telegram:"


@pytest.mark.parametrize(
    "entry", ["telegram:abc", "telegram:0", "telegram:0123", "telegram:12345678901234567"]
)
@pytest.mark.parametrize("role", ["owners", "admins", "members", "blocked", "groups"])
def test_ids_on_telegram_are_numbers(folder: Folder, role: str, entry: str) -> None:
    message = GROUP if role == "groups" else PERSON
    assert folder.refuse(V + f"access: {{{role}: ['{entry}']}}\n") == [
        f"config.yaml:2: access.{role}[0]: {message}"
    ]


def test_a_group_is_no_person_and_a_person_no_group(folder: Folder) -> None:
    text = V + "access:\n  owners: telegram:-100\n  admins: telegram:-100\n  members: telegram:-100\n"
    assert folder.refuse(text + "  groups: telegram:100\n") == [
        f"config.yaml:3: access.owners[0]: {PERSON}",
        f"config.yaml:4: access.admins[0]: {PERSON}",
        f"config.yaml:5: access.members[0]: {PERSON}",
        f"config.yaml:6: access.groups[0]: {GROUP}",
    ]
    blocked = folder.load(V + "access: {blocked: [telegram:-100, telegram:100]}\n").config.access.blocked
    assert [entry.id for entry in blocked] == ["-100", "100"]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("123456", f"access.owners[0]: {WANTED}, got a whole number"),
        ("'123456'", f"access.owners[0]: {WANTED}"),
        (
            "'telegram:1,telegram:2'",
            f"access.owners[0]: {WANTED}; write several entries as a list, one per item",
        ),
        ("true", "access.owners: expected a list, got true or false"),
        ("{a: b}", "access.owners: expected a list, got a mapping"),
    ],
)
def test_one_value_where_a_list_belongs_is_an_entry_or_an_error(
    folder: Folder, written: str, message: str
) -> None:
    assert folder.refuse(V + f"access: {{owners: {written}}}\n") == [f"config.yaml:2: {message}"]


def test_one_entry_is_a_list_of_one(folder: Folder) -> None:
    access = folder.load(
        V + "access: {owners: telegram:123456, members: $ME}\n", {"ME": "web:me"}
    ).config.access
    assert access.owners == (AccessEntry("telegram", "123456"),)
    assert access.members == (AccessEntry("web", "me"),)


@pytest.mark.parametrize(
    "text", ["access:\n", "access: {}\n", "access: {owners: }\n", "access: {owners: []}\n"]
)
def test_an_empty_list_lets_nobody_in(folder: Folder, text: str) -> None:
    assert folder.load(V + text).config.access == AccessConfig(default="pair")


@pytest.mark.parametrize("default", ["open", "everybody", "true", "''"])
def test_another_default_is_refused(folder: Folder, default: str) -> None:
    (line,) = folder.refuse(V + f"access: {{default: {default}}}\n")
    assert line.startswith("config.yaml:2: access.default: expected pair, closed or allow, got ")


def test_an_account_overrides_what_it_names_and_adds_to_blocked(folder: Folder) -> None:
    text = V + (
        "access: {default: allow, owners: [telegram:1], members: [telegram:2],\n"
        "         blocked: [telegram:8, web:x]}\n"
        "channels:\n"
        "  telegram:\n"
        "    bot_token: '1:a'\n"
        "    access: {default: closed, members: [telegram:3],\n"
        "             blocked: [telegram:9, telegram:8], groups: []}\n"
    )
    config = folder.load(text).config
    own = config.access_for("telegram")
    assert own.default == "closed"
    assert [str(entry) for entry in own.owners] == ["telegram:1"]
    assert [str(entry) for entry in own.members] == ["telegram:3"]
    assert [str(entry) for entry in own.blocked] == ["telegram:8", "web:x", "telegram:9"]
    assert config.access_for("web") == config.access
    with pytest.raises(KeyError):
        config.access_for("nobody")


APPS = (
    V + "channels:\n  work:\n    platform: slack\n    bot_token: xoxb-1\n    app_token: xapp-1\n    apps:\n"
)


def test_apps_are_listed_by_id(folder: Folder) -> None:
    text = "      - {id: 'slack:B7', chats: 'work:C123'}\n      - {id: 'work:A0', mention: false}\n"
    first, second = folder.load(APPS + text).config.channels["work"].apps
    assert (str(first.id), [str(one) for one in first.chats], first.mention) == (
        "slack:B7",
        ["work:C123"],
        True,
    )
    assert (str(second.id), second.chats, second.mention) == ("work:A0", (), False)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{id: Grafana}", f"apps[0].id: {WANTED}"),
        (
            "{id: '@grafana'}",
            f"apps[0].id: {WANTED}; a name can change hands, so use the id (the command whoami shows it)",
        ),
        ("{id: 'telegram:5'}", "apps[0].id: expected an entry for this account, such as work:id"),
        ("{id: 'slack:team:T1'}", "apps[0].id: expected the id of an app or a chat after slack:"),
        (
            "{id: 'slack:B7', chats: ['web:5']}",
            "apps[0].chats[0]: expected an entry for this account, such as work:id",
        ),
    ],
)
def test_no_name_and_no_other_account_lists_an_app(folder: Folder, entry: str, message: str) -> None:
    assert folder.refuse(APPS + f"      - {entry}\n") == [f"config.yaml:8: channels.work.{message}"]


def test_roles_that_answers_may_mention_have_a_name_and_an_id(folder: Folder) -> None:
    slack = "channels:\n  slack:\n    bot_token: xoxb-1\n    app_token: xapp-1\n    mention_groups: {%s}\n"
    account = folder.load(V + slack % "oncall: S0123456789, Team 2: S9876543210").config.channels["slack"]
    assert isinstance(account, SlackAccount)
    assert account.mention_groups == {"oncall": "S0123456789", "Team 2": "S9876543210"}
    for entry, problem in (
        ("oncall: U0123456789", "oncall: expected the id of a user group (S…)"),
        ("Here: S0123456789", "this name addresses everybody; expected another one"),
        (
            "'@oncall': S0123456789",
            "expected 1 to 80 letters, digits, spaces or any of . - _, without the @, such as oncall",
        ),
    ):
        [refused] = folder.refuse(V + slack % entry)
        assert problem in refused
        assert "config.yaml:6: channels.slack.mention_groups" in refused


def test_an_app_can_be_blocked_but_is_no_member(folder: Folder) -> None:
    config = folder.load(V + "access: {blocked: ['slack:B0CI00000', 'slack:A0CI00000']}\n").config
    assert [one.id for one in config.access.blocked] == ["B0CI00000", "A0CI00000"]
    [refused] = folder.refuse(V + "access: {members: ['slack:B0CI00000']}\n")
    assert "expected a person's member id (U…) after slack:" in refused


def test_an_override_may_empty_a_list() -> None:
    general = AccessConfig(admins=("web:a",))
    assert AccessOverrides(admins=()).over(general).admins == ()
    assert AccessOverrides().over(general) == general


@pytest.mark.parametrize("scope", ["telegram", "work"])
def test_entries_of_an_account_name_it_or_its_platform(folder: Folder, scope: str) -> None:
    account = f"work: {{platform: telegram, bot_token: '1:a', access: {{owners: ['{scope}:5']}}}}"
    config = folder.load(V + f"channels: {{{account}}}\n").config
    assert config.access_for("work").owners == (AccessEntry(scope, "5"),)


def test_entries_of_an_account_name_no_other(folder: Folder) -> None:
    text = V + "channels:\n  web:\n    access:\n      owners:\n        - telegram:5\n"
    assert folder.refuse(text) == [
        "config.yaml:6: channels.web.access.owners[0]: expected an entry for this account, such as web:id"
    ]


def test_an_account_name_is_a_scope_even_when_it_is_disabled(folder: Folder) -> None:
    text = V + "channels: {old: {platform: telegram, enabled: false}}\naccess: {blocked: ['old:5']}\n"
    assert folder.load(text).config.access.blocked == (AccessEntry("old", "5"),)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("telegram:team:T1", "team ids do not exist on this platform; expected telegram:id"),
        (
            "slack:role:1",
            "role ids do not exist on this platform; expected slack:team:id or slack:usergroup:id",
        ),
        ("slack:team:U0123", "expected a team id after slack:team:"),
    ],
)
@pytest.mark.parametrize("role", ["members", "blocked", "groups"])
def test_a_kind_is_one_of_the_platform(folder: Folder, role: str, entry: str, told: str) -> None:
    assert folder.refuse(V + f"access: {{{role}: ['{entry}']}}\n") == [
        f"config.yaml:2: access.{role}[0]: {told}"
    ]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("slack:U0123456", ": members: expected platform:usergroup:id or platform:department:id"),
        ("slack:team:T0123456", ": members: expected platform:usergroup:id or platform:department:id"),
        ("slack:department:od-01234567", ".members: department ids do not exist on this platform; expected"),
        ("feishu:department:7", ".members: expected a department id after feishu:department:"),
        ("else:usergroup:S1", ".members: else is neither a platform nor an account"),
    ],
)
def test_members_on_call_are_those_of_a_group(folder: Folder, entry: str, told: str) -> None:
    [refused] = folder.refuse(V + f"oncall: {{schedules: {{team: {{members: '{entry}'}}}}}}\n")
    assert refused.startswith(f"config.yaml:2: oncall.schedules.team{told}")


@pytest.mark.parametrize("role", ["owners", "admins", "members", "blocked", "groups"])
def test_everybody_of_a_workspace_or_with_a_role(folder: Folder, role: str) -> None:
    written = ["slack:team:T024BE7LD", "slack:usergroup:S0123456"]
    access = folder.load(V + f"access: {{{role}: {written}}}\n").config.access
    assert [str(entry) for entry in getattr(access, role)] == written
