"""`roebot events add`, with the service as a process of its own."""

from __future__ import annotations

import asyncio
import io
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.config.errors import ConfigErrors
from agent.config.secrets_file import read_secrets, secrets_path
from bot.errors import StartError
from bot.features.events.add_command import NewSource, add_command
from bot.features.events.source_commands import try_command
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.service import ServiceProcess, config_text

pytestmark = pytest.mark.may_block


def new(kind: str = "alertmanager", name: str = "alerts", **values: Any) -> NewSource:
    return NewSource(kind, name, **{"account": "telegram", "chat": "-1001", **values})


async def test_a_source_is_added_to_a_running_service(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    async with TelegramEmulator.serve(limits=False) as emulator:
        chat = str(emulator.people.make_group("ops"))
        service = ServiceProcess(home, config_text(emulator), is_forked=True)
        service.start()
        try:
            running = await service.ready(60)
            for kind, name in (("alertmanager", "alerts"), ("github", "ci"), ("sentry", "errors")):
                monkeypatch.setattr("sys.stdin", io.StringIO("issued-by-the-system\n"))
                added = new(kind, name, chat=chat)
                assert await asyncio.to_thread(add_command, added, home, None) == 0
                printed = capsys.readouterr().out
                assert f"Address  {running.url}/events/{name}" in printed
                assert ("\n  Secret   " in printed) == (kind != "sentry")
                assert "not applied" not in printed
                assert await asyncio.to_thread(try_command, name, home, None) == 0
            async with asyncio.timeout(20):
                while len(emulator.view(int(chat))["messages"]) < 3:
                    await asyncio.sleep(0.02)
        finally:
            service.stop()
    path = Path(running.config)
    assert stat.S_IMODE(secrets_path(path).stat().st_mode) == 0o600
    written = yaml.safe_load(path.read_text())["events"]["sources"]
    secrets = [read_secrets(path)[one["secrets"].removeprefix("$")] for one in written.values()]
    assert secrets[2] == "issued-by-the-system"
    assert all(len(one) == 32 for one in secrets[:2])
    assert len({*secrets}) == 3


CONFIG = "config_version: 1\nchannels: {telegram: {bot_token: $UNSET}}\n"
ALL = f"{CONFIG}events: {{sources: {{a: {{type: github}}}}, routes: [{{account: telegram, chat: '1'}}]}}\n"


@pytest.mark.parametrize(
    ("text", "source", "told"),
    [
        (CONFIG, new("nagios"), "unknown type nagios; expected one of alertmanager,"),
        (CONFIG, new(name="My Alerts"), "the name My Alerts is invalid"),
        (CONFIG, new(account="slack"), "there is no account slack; known: telegram"),
        ("config_version: 1\n", new(), "there is no account telegram; known: none"),
        (ALL, new(), r"events\.routes\[0\] takes the events of all sources"),
        (ALL.replace("{account", "{source: a, account"), new(name="a"), "events.sources.a already exists"),
        (CONFIG, new("pagerduty"), "no secret was entered; nothing was written"),
        (CONFIG + "nonsense: 1\n", new(), "nonsense"),
    ],
)
def test_nothing_is_written_if_something_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, source: NewSource, told: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    file = tmp_path / "config.yaml"
    file.write_text(text)
    with pytest.raises((StartError, ConfigErrors), match=told):
        add_command(source, tmp_path / "home", file)
    assert file.read_text() == text


def test_secrets_of_the_service_may_be_unknown_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    assert add_command(new(topic="7", is_private=True), tmp_path / "home", file) == 0
    assert yaml.safe_load(file.read_text())["events"]["routes"] == [
        {"source": "alerts", "account": "telegram", "chat": "-1001", "topic": "7", "private": True}
    ]
    assert "No service is running" in capsys.readouterr().out


def test_a_configuration_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StartError, match="there is no configuration file"):
        add_command(new(), tmp_path, None)
