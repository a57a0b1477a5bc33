"""Where the configuration is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.config.errors import ConfigErrors
from agent.config.reader import display_path, find_config
from bot.config import load_config
from bot.config.loader import load_server

CONTENT = "config_version: 1\n"


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "home").mkdir()
    paths = {
        "cwd": inner,
        "here": inner / "config.yaml",
        "above": tmp_path / "config.yaml",
        "home": tmp_path / "home" / "config.yaml",
        "named": tmp_path / "named.yaml",
        "given": tmp_path / "given.yaml",
    }
    for path in paths.values():
        if path != inner:
            path.write_text(CONTENT)
    return paths


def test_the_order(places: dict[str, Path]) -> None:
    env = {"ROEBOT_CONFIG_PATH": str(places["named"])}
    cwd, home = places["cwd"], places["home"].parent
    assert find_config(places["given"], env, cwd) == places["given"]
    assert find_config(None, env, cwd) == places["named"]
    assert find_config(None, {}, cwd) == places["here"]
    places["here"].unlink()
    assert find_config(None, {}, cwd) == places["above"]
    assert find_config(None, {}, cwd, home) == places["above"]
    places["above"].unlink()
    assert find_config(None, {}, cwd, home) == places["home"]
    assert find_config(None, {}, cwd) is None


def test_a_file_in_the_data_directory_is_used_or_named(places: dict[str, Path]) -> None:
    cwd, home = places["cwd"], places["home"].parent
    [warning] = load_config(None, {}, cwd, home).warnings
    assert str(warning) == (
        f"{places['home']}: is ignored because config.yaml takes precedence. "
        "To use it, pass it with --config or remove config.yaml."
    )
    named = {"ROEBOT_CONFIG_PATH": str(places["named"])}
    assert load_config(None, named, cwd, home).warnings == ()
    assert load_config(places["given"], {}, cwd, home).warnings == ()
    assert load_config(None, {}, home, home).warnings == (), "it is the same file"
    places["here"].unlink()
    places["above"].unlink()
    loaded = load_config(None, {}, cwd, home)
    assert (loaded.path, loaded.warnings) == (places["home"], ())
    places["home"].write_text("server: {port: 7}\n")
    assert load_server(None, {}, cwd, home).port == 7


def test_an_empty_variable_is_none(places: dict[str, Path]) -> None:
    assert find_config(None, {"ROEBOT_CONFIG_PATH": " "}, places["cwd"]) == places["here"]


def test_relative_paths_start_in_the_folder(places: dict[str, Path]) -> None:
    cwd = places["cwd"]
    assert find_config(Path("config.yaml"), {}, cwd) == places["here"]
    assert find_config(None, {"ROEBOT_CONFIG_PATH": "../named.yaml"}, cwd).samefile(places["named"])


def test_a_folder_of_that_name_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").mkdir()
    assert find_config(None, {}, tmp_path) is None


@pytest.mark.parametrize(
    ("explicit", "env", "message"),
    [
        ("no.yaml", {}, "no.yaml: there is no such file; remove the option or create the file"),
        (
            None,
            {"ROEBOT_CONFIG_PATH": "no.yaml"},
            "no.yaml: there is no such file; ROEBOT_CONFIG_PATH names it; "
            "unset the variable or create the file",
        ),
        (".", {}, ".: is a folder; name a file in it"),
    ],
)
def test_a_given_path_must_be_a_file(
    places: dict[str, Path], explicit: str | None, env: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigErrors) as caught:
        find_config(Path(explicit) if explicit else None, env, places["cwd"])
    assert str(caught.value) == message


def test_how_messages_name_the_file(tmp_path: Path) -> None:
    assert display_path(tmp_path / "a" / "config.yaml", tmp_path) == "a/config.yaml"
    assert display_path(Path("/elsewhere/config.yaml"), tmp_path) == "/elsewhere/config.yaml"
