"""Platforms in the configuration: found, checked, and closed where anything is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import jsonschema
import pytest

from agent.config.errors import ConfigErrors
from bot.config import Config, schema, secrets_of, wrong_person
from bot.config.access import AccessEntry
from bot.config.loader import load_file
from bot.config.platforms import UnusableAccount, installed_platforms, known_platforms, refused_platforms
from tests.harness.plugins import PIGEON, Install, plugin_packages

OFFER = {"pigeon": "pigeons:PLATFORM"}
WITHOUT_SCHEMA = "from collections.abc import Callable\n" + dedent(PIGEON).replace(
    "Secret | None = None", "Callable[[], str] | None = None"
)
RAISES_FOR_A_VALUE = dedent(PIGEON).replace(
    "    def needs(self):",
    """
    def model_post_init(self, context):
        if self.ring:
            raise KeyError(self.ring.get_secret_value())

    def needs(self):""",
)


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Install]:
    folder = tmp_path / "packages"
    folder.mkdir()
    with plugin_packages(folder) as installs:
        yield installs


def load(folder: Path, text: str) -> Config:
    path = folder / "config.yaml"
    path.write_text(f"config_version: 1\n{text}\n")
    return load_file(path, {"RING": "DE-1234567"}, folder).config


def refused(folder: Path, text: str) -> str:
    with pytest.raises(ConfigErrors) as caught:
        load(folder, text)
    return str(caught.value)


def test_an_account_of_a_plugin_is_checked_by_its_schema(tmp_path: Path, install: Install) -> None:
    install("pigeons", **OFFER)
    config = load(tmp_path, "channels: {pigeon: {ring: $RING}}\naccess: {owners: ['pigeon:ann']}")
    account = config.channels["pigeon"]
    assert type(account).__name__ == "PigeonAccount"
    assert account.platform == "pigeon"
    assert "DE-1234567" in secrets_of(config)
    second = load(tmp_path, "channels: {racer: {platform: pigeon, ring: x}}").channels["racer"]
    assert (second.name, second.platform) == ("racer", "pigeon")


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ("{rnig: x}", "channels.pigeon.rnig: unknown key; did you mean ring?"),
        ("{}", "channels.pigeon.ring: is missing; add the number on the pigeon's ring"),
        ("{ring: x, enabled: maybe}", "channels.pigeon.enabled: expected true or false"),
        ("{ring: [x]}", "channels.pigeon.ring: expected a string, got a list"),
        ("{ring: x, name: y}", "channels.pigeon.name: unknown key; an account is named by the key"),
        ("{ring: x, access: {owners: ['pigeon:7']}}", "expected a person's numeric id after pigeon:"),
    ],
)
def test_what_is_wrong_in_an_entry_has_its_key(
    tmp_path: Path, install: Install, entry: str, complaint: str
) -> None:
    install("pigeons", **OFFER)
    assert complaint in refused(tmp_path, f"channels: {{pigeon: {entry}}}")


def test_an_unknown_platform_names_the_known_ones(tmp_path: Path, install: Install) -> None:
    install("pigeons", **OFFER)
    found = refused(tmp_path, "channels: {owl: {platform: owl}}")
    assert "channels.owl.platform: expected `platform` to be" in found and "pigeon" in found
    assert "pigeon" in refused(tmp_path, "channels: {owl: {}}")
    assert "rename it" in refused(tmp_path, "channels: {pigeon: {platform: telegram, bot_token: 1:a}}")
    assert wrong_person("pigeon", AccessEntry("pigeon", "7"))


def test_the_schema_of_the_file_covers_plugins(install: Install) -> None:
    install("pigeons", **OFFER)
    check = jsonschema.Draft202012Validator(schema())
    assert check.is_valid({"config_version": 1, "channels": {"pigeon": {"ring": "x"}}})
    assert check.is_valid({"config_version": 1, "channels": {"a": {"platform": "pigeon", "ring": "x"}}})
    assert not check.is_valid({"config_version": 1, "channels": {"pigeon": {"rnig": "x"}}})


@pytest.mark.parametrize(
    ("code", "point", "problem"),
    [
        ("raise RuntimeError('no wings')", "pigeons:PLATFORM", "RuntimeError: no wings"),
        ("import no_such_sdk", "pigeons:PLATFORM", "ModuleNotFoundError: No module named 'no_such_sdk'"),
        ("raise SystemExit(3)", "pigeons:PLATFORM", "SystemExit: 3"),
        ("x = 1", "pigeons:PLATFORM", "AttributeError"),
        ("x = 1", "pigeons:x", "not a bot.platforms.manifest.Platform"),
        ("x = 1", "no_such_module:x", "ModuleNotFoundError"),
        (PIGEON.replace('"pigeon"', '"dove"'), "pigeons:PLATFORM", 'must have the default "pigeon"'),
        (PIGEON.replace("return {", "return 1 / 0, {"), "pigeons:PLATFORM", "ZeroDivisionError"),
        (PIGEON.replace('{"ring": "add', '{"rung": "add'), "pigeons:PLATFORM", "has no key rung"),
        (PIGEON.replace("Secret | None = None", "Secret"), "pigeons:PLATFORM", "ring: Field required"),
        (PIGEON.replace('r"[a-z]+"', 'r"[a-z"'), "pigeons:PLATFORM", "unterminated character set"),
        (WITHOUT_SCHEMA, "pigeons:PLATFORM", "PydanticInvalidForJsonSchema"),
    ],
)
def test_a_broken_plugin_fails_alone(
    tmp_path: Path, install: Install, code: str, point: str, problem: str
) -> None:
    install("pigeons", code, pigeon=point)
    [plugin] = refused_platforms()
    assert plugin.complaint.startswith("the platform pigeon from the package pigeons 1.0 can't be used: ")
    assert problem in plugin.complaint
    assert "pigeon" not in known_platforms()
    text = (
        "channels: {pigeon: {ring: $RING, wings: 2}, x: {platform: pigeon}}\naccess: {owners: ['pigeon:7']}"
    )
    config = load(tmp_path, text)
    assert type(config.channels["pigeon"]) is UnusableAccount
    assert {account.name for account in config.accounts} == {"web", "terminal", "pigeon", "x"}


def test_a_schema_that_raises_for_a_value_is_a_problem_of_its_entry(tmp_path: Path, install: Install) -> None:
    install("pigeons", RAISES_FOR_A_VALUE, **OFFER)
    found = refused(tmp_path, "channels: {pigeon: {ring: $RING}}")
    assert "channels.pigeon: the platform's plug-in failed to check it (KeyError)" in found
    assert "DE-1234567" not in found


def test_a_plugin_replaces_no_built_in_platform(tmp_path: Path, install: Install) -> None:
    install("pigeons", telegram="pigeons:PLATFORM")
    [plugin] = refused_platforms()
    assert "built in, and a plug-in can't replace it" in plugin.complaint
    assert installed_platforms()["telegram"].is_built_in
    config = load(tmp_path, "channels: {telegram: {bot_token: '1:a'}}")
    assert type(config.channels["telegram"]).__name__ == "TelegramAccount"


def test_two_packages_with_one_platform_are_both_refused(install: Install) -> None:
    install("pigeons", **OFFER)
    install("doves", pigeon="doves:PLATFORM")
    [plugin] = refused_platforms()
    assert "pigeons 1.0" in plugin.complaint and "doves 1.0" in plugin.complaint
    assert "uninstall all but one" in plugin.complaint


def test_without_an_account_nothing_is_loaded(tmp_path: Path, install: Install) -> None:
    install("pigeons", "raise SystemExit(3)", **OFFER)
    assert load(tmp_path, "channels: {telegram: {bot_token: '1:a'}}").channels["telegram"].enabled


@pytest.mark.parametrize(
    "entry",
    [
        "matrix:@ann:example.org",
        "matrix:!AbC-d_e:example.org:8448",
        "matrix:!AbC",
        "matrix:@a.b=c/d+e-f:1.2.3.4",
    ],
)
def test_ids_that_name_their_server(entry: str) -> None:
    assert str(AccessEntry.parse(entry)) == entry
    assert AccessEntry.parse(entry).kind == ""


@pytest.mark.parametrize("entry", ["telegram:@ann", "matrix:@ann:", "matrix:ann:example.org", "matrix:@:x"])
def test_a_name_without_a_server_is_no_id(entry: str) -> None:
    with pytest.raises(ValueError, match="expected platform:id"):
        AccessEntry.parse(entry)
