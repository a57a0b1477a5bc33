"""A platform of another package in `init`, `manifest` and `doctor`."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from bot.cli.doctor import Finding
from bot.cli.doctor.network import accounts
from bot.cli.doctor.platforms import plugins
from bot.cli.init.command import init_command
from bot.cli.manifest import manifest_command
from bot.config import Config
from bot.config.loader import load_file
from bot.errors import StartError
from bot.texts import texts_for
from tests.harness.plugins import PIGEON, Install, plugin_packages

pytestmark = pytest.mark.may_block
ENGLISH = texts_for("en")


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Install]:
    folder = tmp_path / "packages"
    folder.mkdir()
    with plugin_packages(folder) as installs:
        yield installs


def config(folder: Path, text: str) -> Config:
    path = folder / "config.yaml"
    path.write_text(f"config_version: 1\n{text}\n")
    return load_file(path, {}, folder).config


def test_init_connects_and_writes_an_account(
    tmp_path: Path, install: Install, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install("pigeons", pigeon="pigeons:PLATFORM")
    path = tmp_path / "config.yaml"
    path.write_text("config_version: 1\nmodels: [{name: m, use: 'langchain_openai:ChatOpenAI', model: m}]\n")
    monkeypatch.setenv("PIGEON_RING", "DE-1234567")
    monkeypatch.setattr("sys.stdin", io.StringIO("7\nann\nn\n"))
    init_command("pigeon", "", path, "", tmp_path / "home", ENGLISH)
    shown = capsys.readouterr().out
    assert "1. Buy a pigeon." in shown
    assert "The bot is @recorder." in shown
    assert "DE-1234567" not in shown
    written = yaml.safe_load(path.read_text())
    assert written["channels"] == {"pigeon": {"ring": "$PIGEON_RING"}}
    assert written["access"] == {"owners": ["pigeon:ann"]}


def test_init_asks_in_the_words_of_the_package(
    tmp_path: Path, install: Install, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    field = 'base_url: Url | None = Field(None, description="The address of the loft.")'
    code = PIGEON.replace("import AccountConfig, Secret", "import AccountConfig, Secret, Url")
    code = code.replace("ring: Secret | None = None", f"{field}\n        ring: Secret | None = None")
    code = code.replace('return {"ring"', 'return {"base_url": "add the address", "ring"')
    install("pigeons", f"    from pydantic import Field\n{code}", pigeon="pigeons:PLATFORM")
    monkeypatch.setenv("PIGEON_RING", "DE-1234567")
    monkeypatch.setattr("sys.stdin", io.StringIO("the loft\n"))
    with pytest.raises(StartError, match="base_url: expected an address such as https://host"):
        init_command("pigeon", "", tmp_path / "config.yaml", "", None, ENGLISH)
    assert "\nThe address of the loft: " in capsys.readouterr().out


def test_init_says_why_a_plugin_cannot_be_used(tmp_path: Path, install: Install) -> None:
    install("pigeons", "import no_such_sdk", pigeon="pigeons:PLATFORM")
    with pytest.raises(StartError, match=r"package pigeons 1\.0 can't be used: .*no_such_sdk"):
        init_command("pigeon", "", tmp_path / "config.yaml", "", None, ENGLISH)
    with pytest.raises(StartError, match=r"owl cannot be set up; choose one of .*feishu"):
        init_command("owl", "", tmp_path / "config.yaml", "", None, ENGLISH)


def test_a_schema_that_raises_stops_no_other_platform(
    tmp_path: Path, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("pigeons", pigeon="pigeons:PLATFORM")
    install(
        "owls", PIGEON.replace("pigeon", "owl").replace("return {", "return 1 / 0, {"), owl="owls:PLATFORM"
    )
    with pytest.raises(StartError, match=r"package owls 1\.0 can't be used: ZeroDivisionError"):
        init_command("owl", "", tmp_path / "config.yaml", "", None, ENGLISH)
    with pytest.raises(StartError, match=r"choose one of .*feishu, pigeon, slack"):
        init_command("hen", "", tmp_path / "config.yaml", "", None, ENGLISH)
    manifest_command("pigeon", ENGLISH)
    assert "channels: {pigeon: {ring: $PIGEON_RING}}" in capsys.readouterr().out
    found = list(plugins(config(tmp_path, "channels: {owl: {ring: x}, pigeon: {ring: x}}")))
    assert [finding.good for finding in found] == [False, True]
    assert "ZeroDivisionError: division by zero" in found[0].text


def test_the_manifest_comes_with_the_guide(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("pigeons", pigeon="pigeons:PLATFORM")
    manifest_command("pigeon", ENGLISH)
    shown = capsys.readouterr().out
    assert "1. Buy a pigeon." in shown
    assert "channels: {pigeon: {ring: $PIGEON_RING}}" in shown
    assert "Feed them **daily**." in shown
    with pytest.raises(
        StartError,
        match=r"there is no platform owl; choose (\w+, )?feishu, slack, telegram, terminal, web, pigeon",
    ):
        manifest_command("owl", ENGLISH)


def test_the_doctor_knows_the_packages(tmp_path: Path, install: Install) -> None:
    install("pigeons", pigeon="pigeons:PLATFORM")
    install("owls", "import no_such_sdk", owl="owls:PLATFORM")
    install("forgers", telegram="forgers:PLATFORM")
    found = list(plugins(Config()))
    assert [finding.good for finding in found] == [None, None, True]
    assert "built in" in found[0].text
    assert "no_such_sdk" in found[1].text
    assert found[2].text == "platform pigeon from the package pigeons 1.0"
    used = config(
        tmp_path, "channels: {owl: {}, pigeon: {ring: x}, telegram: {bot_token: 1:a, enabled: false}}"
    )
    assert [finding.good for finding in plugins(used)] == [None, False, True]
    states: dict[bool | None, list[Finding]] = {}
    for finding in accounts(used):
        states.setdefault(finding.good, []).append(finding)
    assert [finding.text for finding in states[False]] == [f"account owl: {found[1].text}"]
    assert any("pigeon (pigeon) connects as @recorder" in finding.text for finding in states[True])
