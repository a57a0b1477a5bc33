"""The service as a unit of the person's systemd, with a `systemctl` that writes down what it is asked."""

from __future__ import annotations

import json
import shlex
import stat
from pathlib import Path

import pytest

from bot.cli.init.user_service import ServiceNotInstalled, UserService, user_service

pytestmark = pytest.mark.may_block
CONFIG = """config_version: 1
channels: {telegram: {bot_token: $TELEGRAM_BOT_TOKEN}}
models: [{name: m, use: "langchain_openai:ChatOpenAI", model: m, api_key: $$typed}]
"""


class Systemd:
    """The program, and its calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._log = folder / "calls"
        self.refuses("")

    def refuses(self, word: str) -> None:
        """Refuse calls with this word."""
        script = self.folder / "systemctl"
        refusal = f'case "$*" in *{word}*) echo "no {word} here" >&2; exit 1;; esac' if word else ""
        script.write_text(f'#!/bin/sh\necho "$*" >> {shlex.quote(str(self._log))}\n{refusal}\n')
        script.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return Systemd(folder)


@pytest.fixture
def service(tmp_path: Path, systemd: Systemd) -> UserService:
    config = tmp_path / "my $bot 100%" / "config.yaml"
    config.parent.mkdir()
    config.write_text(CONFIG)
    environ = {
        "HOME": str(tmp_path),
        "TELEGRAM_BOT_TOKEN": '1:a"b\\c',
        "OPENAI_API_KEY": "sk-1",
        "UNRELATED": "x",
    }
    return user_service(config, tmp_path / "home", environ, ["OPENAI_API_KEY"])


def test_it_is_installed_and_started(service: UserService, systemd: Systemd, tmp_path: Path) -> None:
    assert service.is_offered()
    service.install()
    assert systemd.calls == [
        "--user show-environment",
        "--user daemon-reload",
        "--user enable --now roebot.service",
    ]
    unit = (tmp_path / ".config/systemd/user/roebot.service").read_text()
    [command] = [line for line in unit.splitlines() if line.startswith("ExecStart=")]
    assert f'"--home" "{tmp_path}/home" "--config" "{tmp_path}/my $$bot 100%%/config.yaml"' in command
    assert f"WorkingDirectory={tmp_path}/my $bot 100%%\n" in unit
    assert "sk-1" not in unit


def test_its_variables_are_in_a_private_file(service: UserService) -> None:
    service.install()
    assert service.environment.read_text() == (
        'OPENAI_API_KEY="sk-1"\nTELEGRAM_BOT_TOKEN="1:a\\"b\\\\c"\n'
    ), "the file's syntax is that of systemd.exec(5)"
    assert stat.S_IMODE(service.environment.stat().st_mode) == 0o600


def test_it_gets_the_variables_of_the_extensions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, home, elsewhere = tmp_path / "bot", tmp_path / "home", tmp_path / "elsewhere"
    for place, name in ((folder, "BESIDE"), (home, "AT_HOME"), (elsewhere, "NAMED")):
        place.mkdir()
        servers = {"web": {"command": "a", "env": {"KEY": f"${name}"}, "args": ["$ARGUMENT", "$$typed"]}}
        (place / "extensions_config.json").write_text(json.dumps({"mcpServers": servers}))
    (folder / "config.yaml").write_text(CONFIG)
    environ = dict.fromkeys(
        ("TELEGRAM_BOT_TOKEN", "BESIDE", "AT_HOME", "NAMED", "ARGUMENT", "ROEBOT_TOKEN", "typed"), "x"
    )
    general = {"TELEGRAM_BOT_TOKEN", "ARGUMENT", "ROEBOT_TOKEN"}
    assert user_service(folder / "config.yaml", home, environ).variables.keys() == {*general, "BESIDE"}
    monkeypatch.chdir(elsewhere)
    environ |= {"ROEBOT_EXTENSIONS_CONFIG_PATH": "extensions_config.json"}
    variables = user_service(folder / "config.yaml", home, environ).variables
    assert variables.keys() == {*general, "NAMED", "ROEBOT_EXTENSIONS_CONFIG_PATH"}
    assert variables["ROEBOT_EXTENSIONS_CONFIG_PATH"] == str(elsewhere / "extensions_config.json"), (
        "the service runs in another folder"
    )
    del environ["ROEBOT_EXTENSIONS_CONFIG_PATH"]
    (folder / "extensions_config.json").unlink()
    assert user_service(folder / "config.yaml", home, environ).variables.keys() == {*general, "AT_HOME"}
    (home / "extensions_config.json").write_text("{")
    assert user_service(folder / "config.yaml", home, environ).variables.keys() == general - {"ARGUMENT"}


def test_the_undo_command_removes_what_was_written(service: UserService) -> None:
    service.install()
    stop, _, removal = service.undo.partition(" && ")
    assert stop == "systemctl --user disable --now roebot"
    assert shlex.split(removal) == ["rm", str(service.unit), str(service.environment)]


@pytest.mark.parametrize("word", ["daemon-reload", "enable"])
def test_what_systemd_refuses_leaves_nothing(service: UserService, systemd: Systemd, word: str) -> None:
    systemd.refuses(word)
    with pytest.raises(ServiceNotInstalled, match=f"no {word} here"):
        service.install()
    assert not service.unit.exists()
    assert not service.environment.exists()


def test_without_a_systemd_of_the_person_it_is_not_offered(service: UserService, systemd: Systemd) -> None:
    systemd.refuses("show-environment")
    assert not service.is_offered()
    (systemd.folder / "systemctl").unlink()
    assert systemd.calls == ["--user show-environment"]


def test_a_unit_that_is_there_is_left_alone(service: UserService) -> None:
    service.unit.parent.mkdir(parents=True)
    service.unit.write_text("# mine\n")
    assert not service.is_offered()


def test_a_folder_that_cannot_be_written_is_said(service: UserService, tmp_path: Path) -> None:
    (tmp_path / ".config").write_text("a file")
    with pytest.raises(ServiceNotInstalled, match="config"):
        service.install()
