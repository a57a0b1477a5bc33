"""Changes of values in a file's text: everything else stays as it is."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from agent.config.document import parse_document
from agent.config.edit import move_first, remove_value, set_value
from agent.config.errors import ConfigErrors, KeyPath

TEXT = """\
# ours
models:
  # the first
  - {name: a, use: "x:Y", api_key: abc}  # trailing
  - name: b   # good
    use: "x:Z"
  - name: c
access:
  owners: [slack:U1]
  admins:
    - slack:U2 # boss
    # about U3
    - slack:U3
channels:
  slack: {bot_token: $A}
  telegram:
    bot_token: |
      of several
      lines
# end
"""


def lines(text: str) -> set[str]:
    return set(text.splitlines())


@pytest.mark.parametrize(
    ("path", "value", "removed", "added"),
    [
        (("access", "default"), "closed", set(), {'  default: "closed"'}),
        (("access", "owners"), ["slack:U9"], {"  owners: [slack:U1]"}, {'  owners: ["slack:U9"]'}),
        (
            ("access", "admins"),
            ["slack:U3", "slack:U9"],
            {"    - slack:U2 # boss"},
            {'    - "slack:U9"'},
        ),
        (
            ("budgets", "person", "tokens_per_day"),
            5,
            set(),
            {"", "budgets:", "  person:", "    tokens_per_day: 5"},
        ),
        (("models", 1, "api_key"), "$X", set(), {'    api_key: "$X"'}),
        (
            ("models", 0, "api_key"),
            "$X",
            {'  - {name: a, use: "x:Y", api_key: abc}  # trailing'},
            {'  - {name: a, use: "x:Y", api_key: "$X"}  # trailing'},
        ),
        (
            ("channels", "telegram", "bot_token"),
            "$T",
            {"    bot_token: |", "      of several", "      lines"},
            {'    bot_token: "$T"'},
        ),
        (("channels", "telegram", "locale"), "日本\N{ROCKET}", set(), {'    locale: "日本\N{ROCKET}"'}),
    ],
)
def test_a_value_is_set(path: KeyPath, value: Any, removed: set[str], added: set[str]) -> None:
    after = set_value(TEXT, "c.yaml", path, value)
    assert (lines(TEXT) - lines(after), lines(after) - lines(TEXT)) == (removed, added)


def test_an_empty_file_gets_its_first_key() -> None:
    assert set_value("", "c.yaml", ("access", "default"), "pair") == 'access:\n  default: "pair"\n'


def test_line_endings_stay() -> None:
    after = set_value(TEXT.replace("\n", "\r\n"), "c.yaml", ("access", "admins"), ["slack:U3"])
    assert after.count("\n") == after.count("\r\n") == TEXT.count("\n") - 1


@pytest.mark.parametrize(
    ("path", "removed"),
    [
        (("models", 1), {"  - name: b   # good", '    use: "x:Z"'}),
        (("channels", "slack"), {"  slack: {bot_token: $A}"}),
        (("access", "owners"), {"  owners: [slack:U1]"}),
    ],
)
def test_a_key_is_removed_with_its_lines(path: KeyPath, removed: set[str]) -> None:
    after = remove_value(TEXT, "c.yaml", path)
    assert (lines(TEXT) - lines(after), lines(after) - lines(TEXT)) == (removed, set())


def test_the_last_key_leaves_an_empty_mapping() -> None:
    after = remove_value("a: 1\nchannels:\n  x: {}\n", "c.yaml", ("channels", "x"))
    assert after == "a: 1\nchannels: {}\n"


def test_an_item_becomes_the_first() -> None:
    after = move_first(TEXT, "c.yaml", ("models",), 2)
    assert [one["name"] for one in parse_document(after, "c").data["models"]] == ["c", "a", "b"]
    assert lines(after) == lines(TEXT)
    flow = move_first("models: [{name: a}, {name: b}]\n", "c.yaml", ("models",), 1)
    assert yaml.safe_load(flow)["models"][0] == {"name": "b"}
    last = move_first("models:\n- name: a\n- name: b", "c.yaml", ("models",), 1)
    assert yaml.safe_load(last)["models"] == [{"name": "b"}, {"name": "a"}]


@pytest.mark.parametrize(
    "text",
    [
        "base: &b {default: pair}\naccess: *b\n",
        "base: &b {default: pair}\naccess: *b\nother: *b\n",
    ],
)
def test_what_would_change_other_places_is_refused(text: str) -> None:
    with pytest.raises(ConfigErrors, match="change it in an editor"):
        set_value(text, "c.yaml", ("access", "default"), "closed")


def test_bare_switch_words_stay_switches() -> None:
    after = remove_value("s: {a: on, b: 1}\n", "c.yaml", ("s", "b"))
    assert after == "s: {a: on}\n"
