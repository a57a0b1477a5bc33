"""`roebot config upgrade`: what changes, and above all what does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from agent.config.document import parse_document
from agent.config.errors import ConfigErrors
from agent.config.upgrade import UpgradeResult, upgrade_file, upgrade_text
from bot.config import load_config

ENV = {"T": "1:a", "KEY": "k", "ROEBOT_TOKEN": "Zq3-Tx8_Lm2Pw7Rk5Vn1Bc9Hj4Df6"}

COMMENTED = """\
# my bot, do not touch
server:
    host:   "127.0.0.1"   # only here
    # port: 99

    # token: $ROEBOT_TOKEN

channels:   # where people write
    telegram:
        token: $T   # from @BotFather
        streaming: 'off'
    web: {enabled: false}
    # the end of channels

models:
- name: gpt   # a list without indentation
  use: langchain_openai:ChatOpenAI
  api_key: $KEY
  when_thinking_enabled: {reasoning: {effort: high}}
  long_text: >
    folded
    text

# the very end
"""
ANCHORS = """\
limits: &l {max_runs: 3, queue: 4}
base: &base
channels:
  one: &one {platform: telegram, token: $T, enabled: true}
  two:
    <<: *one
    token: '2:b'
  three: {<<: *one, enabled: false}
"""
ANCHORS = ANCHORS.replace("base: &base\n", "")
BLOCKS = """\
config_version: "0"
channels:
  telegram:
    bot_token: $T
server:
  host: |-
    localhost

  # about the port
  port: 1
runtime:
access: ~   # later
logging:
  level: >-
    debug"""
FLOW = """\
{"server": {"port": 1}, runtime: {langgraph_url: 'http://a',},
 "access": null, channels: {}, limits: }"""
DOCUMENT = "%YAML 1.1\n---\nserver: {port: 1}\nlogging:\n  level: info\n...\n"
OLD_FILES = {
    "commented": COMMENTED,
    "anchors": ANCHORS,
    "blocks": BLOCKS,
    "flow": FLOW,
    "document": DOCUMENT,
    "empty": "",
    "only comments": "# nothing yet\n\n",
    "marker": "---\n",
    "braces": "{}",
    "one line": "allow_degradation: false",
    "indented": "  server:\n    port: 1\n  limits:\n    queue: 1\n",
    "lists": "models: []\nserver:\n  token: $ROEBOT_TOKEN\n  allowed_hosts:\n  - a.example\n  - b.example\n",
    "alias at the end": "channels:\n  web: &w {enabled: no}\n  terminal: *w\n",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("name", OLD_FILES)
def test_old_files_say_the_same_afterwards(path: Path, name: str, newline: str) -> None:
    old = OLD_FILES[name].replace("\n", newline)
    path.write_bytes(old.encode())
    before = load_config(path, ENV, path.parent)
    result = upgrade_file(path)
    after = load_config(path, ENV, path.parent)
    assert result.changed
    assert after.config == before.config
    assert after.warnings == ()
    new = path.read_bytes().decode()
    if newline in old:
        assert new.count("\n") == new.count(newline)
    assert upgrade_file(path) == UpgradeResult(changed=False)
    assert path.read_bytes().decode() == new


@pytest.mark.parametrize("name", OLD_FILES)
def test_an_upgrade_adds_the_version_and_no_other_key(path: Path, name: str) -> None:
    path.write_text(OLD_FILES[name])
    before = yaml.safe_load(OLD_FILES[name]) or {}
    upgrade_file(path)
    data = yaml.safe_load(path.read_text())
    assert data.keys() == before.keys() | {"config_version"}
    assert data["config_version"] == 1
    for key, value in before.items():
        if isinstance(value, dict) and key != "runtime":
            assert data[key].keys() == value.keys()


def test_every_line_of_the_old_file_stays(path: Path) -> None:
    path.write_text(COMMENTED)
    result = upgrade_file(path)
    lines = path.read_text().splitlines()
    for line in COMMENTED.replace("        token:", "        bot_token:").splitlines():
        assert line in lines
    rest = iter(lines)
    kept = COMMENTED.replace("        token:", "        bot_token:").splitlines()
    assert all(line in rest for line in kept), "the order is kept"
    assert result.renamed == (("channels.telegram.token", "channels.telegram.bot_token"),)
    assert len(lines) == len(kept) + 1


@pytest.mark.parametrize("word", ["true", "yes"])
def test_network_for_sandboxes_is_public_now(path: Path, word: str) -> None:
    """An old value works with a notice, and is renamed whatever the version of the file."""
    path.write_text(f"config_version: 1\nsandbox:\n  network: {word} # for pip\n")
    before = load_config(path, ENV, path.parent)
    [notice] = before.warnings
    assert str(notice).endswith(":3: sandbox.network: true means public now: run `roebot config upgrade`")
    assert upgrade_file(path).renamed == (("sandbox.network: true", "public"),)
    assert path.read_text() == "config_version: 1\nsandbox:\n  network: public # for pip\n"
    after = load_config(path, ENV, path.parent)
    assert after.config == before.config
    assert after.warnings == ()
    assert upgrade_file(path) == UpgradeResult(changed=False)


@pytest.mark.parametrize("value", ["false", "off", "public", "[a.example]", "'true'", "$KEY"])
def test_other_values_of_network_stay(path: Path, value: str) -> None:
    path.write_text(f"config_version: 1\nsandbox: {{network: {value}}}\n")
    assert upgrade_file(path) == UpgradeResult(changed=False)


def test_a_file_of_this_version_is_not_changed(path: Path) -> None:
    path.write_text("config_version: 1\nserver: {port: 1}\n")
    assert upgrade_file(path) == UpgradeResult(changed=False)
    assert path.read_text() == "config_version: 1\nserver: {port: 1}\n"
    assert list(path.parent.iterdir()) == [path]


def test_an_empty_file_gets_a_version(path: Path) -> None:
    path.write_text("# nothing yet\n\n")
    upgrade_file(path)
    assert path.read_text() == "# nothing yet\n\n\nconfig_version: 1\n"


def test_flow_style_stays_flow_style() -> None:
    new, _ = upgrade_text("{server: {port: 1}}", "c.yaml")
    assert new == "{config_version: 1, server: {port: 1}}"
    assert parse_document(new, "c.yaml").data["server"] == {"port": 1}


def test_a_version_in_words_becomes_a_number() -> None:
    new, _ = upgrade_text("config_version: '0' # old\nserver: {port: 1}\n", "c.yaml")
    assert new.startswith("config_version: 1 # old\n")
    assert upgrade_text("config_version:\n", "c.yaml")[0].startswith("config_version: 1\n")


def test_the_example_is_up_to_date() -> None:
    example = (Path(__file__).resolve().parents[4] / "config.example.yaml").read_text(encoding="utf-8")
    assert upgrade_text(example, "c.yaml") == (example, ())


def test_a_backup_stays_beside_it_and_modes_are_kept(path: Path) -> None:
    path.write_text("server: {port: 1}\n")
    path.chmod(0o640)
    first = upgrade_file(path)
    assert first.backup == path.with_name("config.yaml.bak")
    assert first.backup.read_text() == "server: {port: 1}\n"
    assert first.backup.stat().st_mode & 0o777 == 0o640
    assert path.stat().st_mode & 0o777 == 0o640
    path.write_text("server: {port: 2}\n")
    second = upgrade_file(path)
    assert second.backup == path.with_name("config.yaml.bak.1")
    assert first.backup.read_text() == "server: {port: 1}\n"
    assert sorted(item.name for item in path.parent.iterdir()) == [
        "config.yaml",
        "config.yaml.bak",
        "config.yaml.bak.1",
    ]


def test_a_link_stays_a_link(path: Path, tmp_path: Path) -> None:
    real = tmp_path / "real" / "bot.yaml"
    real.parent.mkdir()
    real.write_text("server: {port: 1}\n")
    path.symlink_to(real)
    result = upgrade_file(path)
    assert path.is_symlink()
    assert "config_version: 1" in real.read_text()
    assert result.backup == real.with_name("bot.yaml.bak")


def test_a_byte_order_mark_stays(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbfserver: {port: 1}\r\n")
    upgrade_file(path)
    content = path.read_bytes()
    assert content.startswith(b"\xef\xbb\xbfconfig_version: 1\r\nserver:")
    assert content.count(b"\xef\xbb\xbf") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("server: [\n", "is not valid YAML"),
        ("a: 1\na: 2\n", "appears twice"),
        ("- a\n", "expected a mapping"),
        ("config_version: 7\n", "for a newer release"),
        ("config_version: soon\n", "expected a whole number"),
        ("channels: {telegram: {token: a, bot_token: b}}\n", "is the old name of"),
        ("runtime: &r {langgraph_url: 'http://a'}\nlimits: *r\n", "cannot be upgraded safely"),
    ],
)
def test_what_cannot_be_upgraded_stays_as_it_is(path: Path, text: str, message: str) -> None:
    path.write_text(text)
    with pytest.raises(ConfigErrors, match=message) as caught:
        upgrade_file(path)
    assert len(str(caught.value).splitlines()) == 1
    assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


def test_a_read_only_file_stays_as_it_is(path: Path) -> None:
    path.write_text("server: {}\n")
    path.chmod(0o444)
    with pytest.raises(
        ConfigErrors, match=r"config\.yaml: is read-only; make it writable, then upgrade again"
    ):
        upgrade_file(path)
    assert path.read_text() == "server: {}\n"
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_file_is_told(path: Path) -> None:
    with pytest.raises(ConfigErrors, match="cannot be read: No such file or directory"):
        upgrade_file(path)


def test_a_folder_that_cannot_be_written_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("server: {}\n")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigErrors, match="cannot be written: No space left on device; it is unchanged"):
        upgrade_file(path)
    assert path.read_text() == "server: {}\n"
    assert list(path.parent.iterdir()) == [path]


def test_a_section_of_another_kind_is_left_to_the_check_at_the_start() -> None:
    assert upgrade_text("server: 5\nrumtime: {}\n", "c.yaml") == (
        "config_version: 1\nserver: 5\nrumtime: {}\n",
        (),
    )


def test_a_removed_key_is_ignored_with_a_warning(path: Path) -> None:
    path.write_text(
        "config_version: 1\nserver:\n  limits:\n    connections_per_address: 100\n    connections: 7\n"
    )
    loaded = load_config(path, ENV, path.parent)
    assert [str(one).partition(":4: ")[2] for one in loaded.warnings] == [
        "server.limits.connections_per_address: has no effect in this version: remove it"
    ]
    assert loaded.config.server.limits.connections == 7
