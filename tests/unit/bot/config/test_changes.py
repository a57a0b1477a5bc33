"""Accounts, owners and event sources are added to a configuration; the rest stays as it was written."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import yaml

from agent.config.errors import ConfigErrors
from bot.config.changes import (
    AddEventSource,
    Change,
    ConfigDraft,
    ConnectAccount,
    ConnectModel,
)
from bot.config.loader import load_file
from bot.config.versions import load, save

ENTRY = {"base_url": "http://127.0.0.1:9"}


def changed(text: str, *changes: Change) -> str:
    draft = ConfigDraft(text, "config.yaml")
    for one in changes:
        one.apply(draft)
    return draft.text


def connect(name: str, platform: str, owner: str = "", **settings: str) -> ConnectAccount:
    given = {"name": name, "platform": platform, "owner": owner, "settings": settings or ENTRY}
    return ConnectAccount.model_validate(given)


def added(text: str, name: str = "telegram") -> str:
    return changed(text, connect(name, "telegram"))


def test_an_empty_file_becomes_a_configuration() -> None:
    data = yaml.safe_load(added(""))
    assert data == {"config_version": 1, "channels": {"telegram": ENTRY}}


@pytest.mark.parametrize(
    "text",
    [
        "config_version: 1\n",
        "config_version: 1\nchannels:\n",
        "config_version: 1\nchannels: {}\n",
        "config_version: 1\nchannels: null\n",
        "config_version: 1\nchannels: {web: {enabled: true}}\nserver: {port: 0}\n",
        "# mine\nconfig_version: 1\nchannels:\n  web: {enabled: true} # the page\n  # more\nserver: {}\n",
        "config_version: 1\r\nchannels:\r\n    web:\r\n        enabled: true\r\n",
        "config_version: 1\nchannels:\n  web: {enabled: true}",
    ],
)
def test_every_way_of_writing_it(text: str) -> None:
    before, after = yaml.safe_load(text), yaml.safe_load(added(text))
    assert after["channels"].pop("telegram") == ENTRY
    assert after["channels"] == (before.get("channels") or {})
    assert {key: value for key, value in after.items() if key != "channels"} == {
        key: value for key, value in before.items() if key != "channels"
    }
    for comment in ("# mine", "# the page", "# more"):
        assert (comment in text) == (comment in added(text))


def test_an_account_that_is_there_is_not_written_over() -> None:
    with pytest.raises(ConfigErrors, match="already exists"):
        added("config_version: 1\nchannels: {telegram: {bot_token: x}}\n")
    assert "work" in added("config_version: 1\nchannels: {telegram: {bot_token: x}}\n", "work")


@pytest.mark.parametrize("value", ["a: b", "x # y", '"', "$NAME", "'", "{", "\\", "ß"])
def test_values_are_quoted(value: str) -> None:
    text = changed("", connect("telegram", "telegram", base_url=value))
    written = f"${value}" if value.startswith("$") else value
    assert yaml.safe_load(text)["channels"]["telegram"]["base_url"] == written


def with_person(text: str, person: str = "8") -> str:
    """A configuration with the account `team` on Telegram, and its owner."""
    return changed(text, connect("team", "telegram", person))


def test_an_owner_is_added_once() -> None:
    assert yaml.safe_load(with_person("config_version: 1\n"))["access"] == {"owners": ["team:8"]}


@pytest.mark.parametrize("owner", ["telegram:8", "team:8"])
def test_a_person_who_is_an_owner_already_is_not_added(owner: str) -> None:
    text = f"config_version: 1\naccess:\n  owners: [{owner}]\n"
    assert yaml.safe_load(with_person(text))["access"] == {"owners": [owner]}


@pytest.mark.parametrize(
    "access",
    [
        "",
        "access:\n",
        "access: {}\n",
        "access: null # later\n",
        "access:\n  default: allow # everyone\n",
        "access: {default: allow}\n",
        "access:\n  owners:\n  default: allow\n",
        "access:\n  owners: # nobody\n",
        "access:\n  owners: []\n",
        "access:\n  owners: null\n",
        "access:\n  owners: [] # nobody\n  default: allow\n",
        "access:\n  owners: telegram:7 # me\n",
        "access:\n  owners: $OWNER\n",
        "access:\n  owners: [telegram:7]\n",
        "access:\n  owners: [telegram:7, ]\n",
        "access:\n  owners: [ # these\n    telegram:7, # me\n    'slack:U1' # Ada\n    ]\n  default: allow\n",
        "access: {owners: [telegram:7], default: allow}\n",
        "access:\n  owners:\n    - telegram:7 # me\n    # and\n    - slack:U1\n  default: allow\n",
        "access:\n  owners:\n  - telegram:7\n  - slack:U1\n  # more\n\nserver: {port: 0}\n",
        "access:\r\n    owners:\r\n    - telegram:7\r\n    default: allow\r\n",
        "access:\n  owners: &people\n    - telegram:7\n  admins: [slack:U1]\n",
        "access:\n  owners:\n    - telegram:7",
    ],
)
def test_an_owner_is_added_to_those_that_are_there(access: str) -> None:
    text = f"config_version: 1\n{access}"
    before, after = yaml.safe_load(text), yaml.safe_load(with_person(text))
    owners = (before.get("access") or {}).get("owners") or []
    assert after["access"]["owners"] == [*([owners] if isinstance(owners, str) else owners), "team:8"]
    assert after["access"].get("default") == (before.get("access") or {}).get("default")
    assert after["channels"] == {"team": {"platform": "telegram", **ENTRY}}
    for comment in ("# me", "# and", "# more", "# nobody", "# later", "# everyone", "# these", "# Ada"):
        assert (comment in text) == (comment in with_person(text))


@pytest.mark.parametrize(
    "access",
    [
        "access:\n  admins: &people [telegram:7]\n  owners: *people\n",
        "access:\n  admins: &people\n    - telegram:7\n  owners: *people\n",
        "access:\n  owners: &people [telegram:7]\n  admins: *people\n",
    ],
)
def test_a_list_that_is_shared_is_left_as_it_is(access: str) -> None:
    text = f"config_version: 1\n{access}"
    after = yaml.safe_load(with_person(text))
    assert after["access"] == yaml.safe_load(text)["access"]
    assert after["channels"]["team"]["access"] == {"owners": ["telegram:7", "team:8"]}


def test_a_list_of_its_own_has_no_entries_of_other_platforms(tmp_path: Path) -> None:
    shared = "access: {owners: &o ['telegram:123', 'slack:U11111', 'work:U22222'], admins: *o}\n"
    draft = ConfigDraft(f"config_version: 1\n{shared}", "config.yaml")
    connect("work", "slack", bot_token="xoxb-1", app_token="xapp-1").apply(draft)
    connect("team", "slack", "U12345", bot_token="xoxb-2", app_token="xapp-2").apply(draft)
    path = tmp_path / "config.yaml"
    path.write_text(draft.text)
    config = load_file(path, draft.secrets, tmp_path).config
    owners = config.channels["team"].access.owners or ()
    assert list(map(str, owners)) == ["slack:U11111", "team:U12345"]
    assert len(config.access.owners) == 3


def test_a_new_file_is_its_owners_alone_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    save(path, "a: 1\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    save(path, "a: 2\n")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("a: 2\n", 0o640)
    assert [found.name for found in tmp_path.iterdir()] == ["config.yaml"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_endings_and_a_byte_order_mark_stay(tmp_path: Path, mark: bytes) -> None:
    path = tmp_path / "config.yaml"
    before = mark + "config_version: 1\r\n\r\n# für uns\r\nserver:\r\n  port: 0\r\n".encode()
    path.write_bytes(before)
    model = ConnectModel(name="m", model="m", base_url="http://127.0.0.1:9")
    save(path, changed(with_person(load(path)), model))
    after = path.read_bytes()
    assert after.startswith(before) and len(after) > len(before)
    assert after.count(b"\n") == after.count(b"\r\n")


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    assert load(path) == ""
    path.write_bytes("# für uns\n".encode("latin-1"))
    with pytest.raises(ConfigErrors, match="is not UTF-8 text"):
        load(path)
    with pytest.raises(ConfigErrors, match="cannot be read"):
        load(tmp_path)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors, match="cannot be written"):
        save(tmp_path / "none" / "config.yaml", "a: 1\n")


SOURCE = {"type": "github", "secrets": "$EVENTS_CI_SECRET"}
CHANGE = AddEventSource.model_validate(
    {"name": "ci", "type": "github", "secret": "a", "account": "telegram", "chat": "-1001", "private": True}
)
ROUTE = {"source": "ci", "account": "telegram", "chat": "-1001", "private": True}


@pytest.mark.parametrize(
    "text",
    [
        "config_version: 1\n",
        "config_version: 1\nevents:\n",
        "config_version: 1\nevents: {}\n",
        "config_version: 1\nevents: {sources: {}, routes: []}\nserver: {port: 0}\n",
        "config_version: 1\nevents:\n  sources:\n  routes:\nserver: {port: 0}\n",
        "config_version: 1\nevents:\n  storm_limit: 5 # of us\n# the rest\nserver: {port: 0}",
        "config_version: 1\nevents:\n  sources:\n    a: {type: alertmanager}\n  # between\n  routes:\n"
        "    - {source: a, account: telegram, chat: '1'}\n",
        "config_version: 1\nevents:\n  routes: [{source: a, account: telegram, chat: '1'}]\n"
        "  sources: {a: {type: alertmanager}}\n",
        "config_version: 1\r\nevents:\r\n  routes:\r\n  - source: a\r\n    account: telegram\r\n"
        "    chat: '1'\r\n  sources:\r\n    a:\r\n      type: alertmanager\r\n",
    ],
)
def test_an_event_source_and_its_route(text: str) -> None:
    before, written = yaml.safe_load(text), changed(text, CHANGE)
    after = yaml.safe_load(written)
    assert after["events"]["sources"].pop("ci") == SOURCE
    assert after["events"]["routes"].pop() == ROUTE
    events = before.pop("events", None) or {}
    assert after["events"]["sources"] == (events.pop("sources", None) or {})
    assert after["events"]["routes"] == (events.pop("routes", None) or [])
    assert {
        key: one for key, one in after.pop("events").items() if key not in ("sources", "routes")
    } == events
    assert after == before
    for comment in ("# of us", "# the rest", "# between"):
        assert (comment in text) == (comment in written)


def test_an_event_source_that_is_there_is_not_written_over() -> None:
    text = changed("config_version: 1\n", CHANGE)
    assert "\n  sources:\n    ci: {type" in text
    with pytest.raises(ConfigErrors, match=r"events\.sources\.ci already exists"):
        changed(text, CHANGE)
