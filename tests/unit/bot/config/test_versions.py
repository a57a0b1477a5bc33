"""`config_version`, and files of older versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from agent.config.upgrade import RENAMES, KeyRename, find_renames
from bot.platforms.telegram.account import TelegramAccount

if TYPE_CHECKING:
    from .conftest import Folder

OUTDATED = "the file is outdated (version 0, now 1): run `roebot config upgrade`"


@pytest.mark.parametrize("version", ["1", "'1'", "' 1 '", "'001'", "$VERSION"])
def test_the_version_of_today(folder: Folder, version: str) -> None:
    if version == "$VERSION":
        assert folder.refuse(f"config_version: {version}\n") == [
            "config.yaml:1: config_version: expected a whole number from 0 to 1"
        ]
    else:
        assert folder.load(f"config_version: {version}\n").warnings == ()


@pytest.mark.parametrize(
    "text", ["server: {}\n", "config_version: 0\n", "config_version: '0'\n", "config_version:\n"]
)
def test_an_older_file_starts_with_a_warning(folder: Folder, text: str) -> None:
    loaded = folder.load(text)
    (warning,) = loaded.warnings
    assert warning.message == OUTDATED
    assert str(warning).startswith("config.yaml")
    assert loaded.config.config_version == 1


@pytest.mark.parametrize("version", ["-1", "1.0", "true", "one", "[1]", "{a: 1}", "''", "'²'", "'-1'"])
def test_what_is_not_a_version(folder: Folder, version: str) -> None:
    assert folder.refuse(f"config_version: {version}\n") == [
        "config.yaml:1: config_version: expected a whole number from 0 to 1"
    ]


@pytest.mark.parametrize("version", ["2", "'2'", "99999999999999999999999", "'99999999999999999999999'"])
def test_a_newer_version_is_refused(folder: Folder, version: str) -> None:
    (line,) = folder.refuse(f"\nconfig_version: {version}\n")
    assert line.startswith("config.yaml:2: config_version: is ")
    assert line.endswith("this one supports up to 1: update Roebot")


def test_renamed_keys_of_an_older_file_hold(folder: Folder) -> None:
    text = (
        "runtime: {langgraph_url: 'http://agent'}\n"
        "channels:\n  telegram: {token: $T}\n  two: {platform: telegram, token: '2:b'}\n"
    )
    loaded = folder.load(text, {"T": "1:a"})
    assert loaded.config.runtime.url == "http://agent"
    telegram = loaded.config.channels["telegram"]
    assert isinstance(telegram, TelegramAccount)
    assert telegram.bot_token == SecretStr("1:a")
    assert len(loaded.warnings) == 1


def test_errors_in_renamed_keys_have_their_line(folder: Folder) -> None:
    text = "channels:\n  telegram:\n    enabled: true\n    token: $UNSET\n"
    (line,) = folder.refuse(text)
    assert line.startswith("config.yaml:4: channels.telegram.bot_token: the environment variable UNSET")


def test_old_and_new_name_together_are_refused(folder: Folder) -> None:
    (line,) = folder.refuse("channels:\n  telegram:\n    token: a\n    bot_token: b\n")
    assert line == (
        "config.yaml:3: channels.telegram.token: is the old name of channels.telegram.bot_token, "
        "which is also set; remove this one"
    )


def test_in_a_file_of_today_the_old_name_is_unknown(folder: Folder) -> None:
    (line,) = folder.refuse("config_version: 1\nchannels: {telegram: {token: '1:a', bot_token: '1:a'}}\n")
    assert line == "config.yaml:2: channels.telegram.token: unknown key; did you mean bot_token?"


def test_renames_are_data() -> None:
    data = {"channels": {"a": {"token": 1}, "b": {"bot_token": 2}, "c": 5}, "runtime": ["langgraph_url"]}
    assert list(find_renames(data, 0)) == [(("channels", "a", "token"), ("channels", "a", "bot_token"))]
    assert list(find_renames(data, 1)) == []
    assert all(isinstance(rename, KeyRename) and rename.version >= 1 for rename in RENAMES)
