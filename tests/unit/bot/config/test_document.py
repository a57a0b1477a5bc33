"""YAML as plain data with lines, and every way in which a file is not that."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.config.document import MAX_BYTES, ConfigDocument, SwitchWord, parse_document, read_document
from agent.config.errors import ConfigErrors


def data(text: str) -> dict[str, object]:
    return parse_document(text, "c.yaml").data


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("true", True),
        ("FALSE", False),
        ("off", "off"),
        ("No", "No"),
        ("'yes'", "yes"),
        ("12", 12),
        ("-3", -3),
        ("0x1F", 31),
        ("0o17", 15),
        ("0123", 123),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("1.5", 1.5),
        ("2e3", 2000.0),
        (".inf", float("inf")),
        ("-.INF", float("-inf")),
        ("2026-11-21", "2026-11-21"),
        ("null", None),
        ("~", None),
        ("", None),
        ("telegram:123", "telegram:123"),
        ("=", "="),
        ('"a\\nb"', "a\nb"),
        ("!!str 5", "5"),
        ("[a, 1, [b]]", ["a", 1, ["b"]]),
        ("{a: {b: c}}", {"a": {"b": "c"}}),
    ],
)
def test_scalars_follow_yaml_1_2(written: str, value: object) -> None:
    assert data(f"key: {written}\n") == {"key": value}


def test_not_a_number_is_read_as_one() -> None:
    value = data("key: .nan")["key"]
    assert isinstance(value, float)
    assert value != value


@pytest.mark.parametrize(
    ("written", "is_switch"), [("off", True), ("Yes", True), ("'off'", False), ("offs", False)]
)
def test_bare_switch_words_are_marked(written: str, is_switch: bool) -> None:
    assert isinstance(data(f"key: {written}")["key"], SwitchWord) is is_switch


def test_keys_are_text_as_written() -> None:
    assert data("{1: a, true: b, on: c, null: d, 2026-01-01: e}") == {
        "1": "a",
        "true": "b",
        "on": "c",
        "null": "d",
        "2026-01-01": "e",
    }


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# only a comment\n", "---\n", "null\n", "~", "---\n...\n", "\ufeff"]
)
def test_an_empty_file_is_an_empty_mapping(text: str) -> None:
    assert parse_document(text, "c.yaml") == ConfigDocument("c.yaml", {})


def test_lines_of_keys_items_and_missing_ones() -> None:
    document = parse_document("a:\n  b:\n    - x\n    - {y: 1,\n       z: 2}\nc: 1\n", "c.yaml")
    assert document.line_of(("a",)) == 1
    assert document.line_of(("a", "b")) == 2
    assert document.line_of(("a", "b", 0)) == 3
    assert document.line_of(("a", "b", 1, "z")) == 5
    assert document.line_of(("a", "missing", "deeper")) == 1
    assert document.line_of(("c",)) == 6
    assert document.line_of(("nowhere",)) is None


def test_windows_line_ends_count_once() -> None:
    document = parse_document("a: 1\r\nb:\r\n  c: x\r\n", "c.yaml")
    assert document.data == {"a": 1, "b": {"c": "x"}}
    assert document.line_of(("b", "c")) == 3


def test_anchors_and_merges() -> None:
    text = "base: &b\n  x: 1\n  y: 2\nother: &o {y: 3, z: 4}\nuse:\n  <<: [*b, *o]\n  x: 9\nsame: *b\n"
    document = parse_document(text, "c.yaml")
    assert document.data["use"] == {"x": 9, "y": 2, "z": 4}
    assert document.data["same"] == {"x": 1, "y": 2}
    assert document.line_of(("use", "x")) == 7
    assert document.line_of(("use", "y")) == 3
    assert document.line_of(("use", "z")) == 4


def test_a_key_before_the_merge_keeps_its_line() -> None:
    document = parse_document("base: &b {x: {deep: 1}}\nuse:\n  x: {other: 2}\n  <<: *b\n", "c.yaml")
    assert document.data["use"] == {"x": {"other": 2}}
    assert document.line_of(("use", "x")) == 3


BILLION_LAUGHS = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdef", "bcdefg", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: [1\n", "c.yaml:3: is not valid YAML: expected ',' or ']', but got '<stream end>'"),
        ("a: 1\n\tb: 2\n", "c.yaml:2: is not valid YAML: found character '\\t' that cannot start any token"),
        ("a: *nope\n", "c.yaml:1: is not valid YAML: found undefined alias 'nope'"),
        ("a: 1\n---\nb: 1\n", "c.yaml:2: is not valid YAML: but found another document"),
        ("a: 1\nb: 2\na: 3\n", "c.yaml:3: a: appears twice; first on line 1"),
        ("x:\n  1: a\n  '1': b\n", "c.yaml:3: x.1: appears twice; first on line 2"),
        ("- a\n- b\n", "c.yaml:1: expected a mapping (lines like `key: value`) at the top of the file"),
        ("\njust text\n", "c.yaml:2: expected a mapping (lines like `key: value`) at the top of the file"),
        ("a: 1\n[x]: 2\n", "c.yaml:2: expected a plain key, got a list or mapping"),
        ("a: &a\n  b: *a\n", "c.yaml:1: a.b: refers to itself"),
        ("a: &a [*a]\n", "c.yaml:1: a[0]: refers to itself"),
        ("a: !secret x\n", "c.yaml:1: a: has an unsupported YAML tag; remove the word after `!`"),
        ("a: !x {}\n", "c.yaml:1: a: has an unsupported YAML tag; remove the word after `!`"),
        ("a: !!set [x]\n", "c.yaml:1: a: has an unsupported YAML tag; remove the word after `!`"),
        (
            "a: !!python/object:x.Y {}\n",
            "c.yaml:1: a: has an unsupported YAML tag; remove the word after `!`",
        ),
        ("a: !!int abc\n", "c.yaml:1: a: is not a valid number or switch"),
        ("a: !!bool perhaps\n", "c.yaml:1: a: is not a valid number or switch"),
        (f"a: {'9' * 5000}\n", "c.yaml:1: a: is not a valid number or switch"),
        ("a:\n  <<: text\n", "c.yaml:2: a: expected a mapping after `<<`"),
        ("a: 1\nb: \x07\n", "c.yaml:2: contains a character that YAML does not allow"),
        ("a: " + "[" * 3000 + "]" * 3000, "c.yaml: is nested too deeply"),
        ("a:\n  " + "[" * 50 + "]" * 50, "c.yaml:2: is nested too deeply"),
        (BILLION_LAUGHS, "the file contains more than 100,000 values"),
    ],
)
def test_what_is_not_a_configuration(text: str, message: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        parse_document(text, "c.yaml")
    assert str(caught.value).endswith(message)
    assert str(caught.value).startswith("c.yaml")


def test_a_file_that_is_not_utf8_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(b"a: 1\nb: \xff\xfe\n")
    with pytest.raises(ConfigErrors) as caught:
        read_document(path, display_name="c.yaml")
    assert str(caught.value) == "c.yaml:2: is not UTF-8 text; save it as UTF-8"


def test_a_byte_order_mark_is_not_a_key(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_document(path).data == {"a": 1}


def test_a_file_too_large_is_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(ConfigErrors, match="is larger than 1,000,000 bytes"):
        read_document(path)


def test_a_folder_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors, match=r"cannot be read: Is a directory"):
        read_document(tmp_path)


def test_the_fingerprint_is_that_of_the_bytes(tmp_path: Path) -> None:
    one, two = tmp_path / "1.yaml", tmp_path / "2.yaml"
    one.write_text("a: 1\n")
    two.write_text("a: 1\n")
    assert read_document(one).fingerprint == read_document(two).fingerprint
    two.write_text("a: 1 \n")
    assert read_document(one).fingerprint != read_document(two).fingerprint
