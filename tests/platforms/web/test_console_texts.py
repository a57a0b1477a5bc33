"""Texts of the console: complete in both languages, and each key that a module uses has one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import bot.server.console

STATIC = Path(bot.server.console.__file__).parent / "static"
ENTRY = re.compile(
    r"^\s+\"?([\w.-]+)\"?:\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`),?$", re.MULTILINE
)
PAIR = re.compile(r"^\s+\"([\w.-]+)\": \[(\"(?:[^\"\\]|\\.)*\"), (\"(?:[^\"\\]|\\.)*\")\],?$", re.MULTILINE)
"""A key with its English and its Chinese text side by side."""
USED = re.compile(r"\bt\(\s*\"([^\"]+)\"")
PREFIX = re.compile(r"\bt\(\s*`([^`$]+)\$\{")
FIELD = re.compile(r"\{(\w+)\}")
CHINESE = re.compile(r"[\u3400-\u9fff]")
SAME = re.compile(r"Roebot|[A-Z]{2,}|\{\w+\}|[\d\W_]")
"""What a Chinese text may share with the English one: names, abbreviations, fields and punctuation."""


def _modules() -> Iterator[Path]:
    for path in sorted(STATIC.rglob("*.js")):
        if path.relative_to(STATIC).parts[0] not in {"vendor", "js"}:
            yield path


def _halves(path: Path) -> tuple[str, str]:
    """Return the English and the Chinese half of a file of texts."""
    text = path.read_text()
    place = re.search(r"^\s*(?:zh:|const zh\b|export const zh\b)", text, re.MULTILINE)
    assert place, path
    return text[: place.start()], text[place.start() :]


def _catalogues() -> Iterator[tuple[str, dict[str, str], dict[str, str]]]:
    folder = STATIC / "texts"
    yield "texts", _entries((folder / "en.js").read_text()), _entries((folder / "zh.js").read_text())
    for path in _modules():
        if path.name == "texts.js" and path.parent != folder:
            if pairs := PAIR.findall(path.read_text()):
                yield path.parent.name, *({key: both[at][1:-1] for key, *both in pairs} for at in (0, 1))
                continue
            english, chinese = _halves(path)
            yield path.parent.name, _entries(english), _entries(chinese)


def _entries(text: str) -> dict[str, str]:
    return {key: value[1:-1] for key, value in ENTRY.findall(text)}


def test_every_text_is_in_both_languages() -> None:
    for name, english, chinese in _catalogues():
        assert len(english) > 2, name
        plural = {key for key in english if key.endswith(".one")}
        assert set(english) - plural == set(chinese) - plural, name
        for key, text in chinese.items():
            assert set(FIELD.findall(text)) == set(FIELD.findall(english[key])), key
            assert CHINESE.search(text) or not SAME.sub("", english[key]), key


def test_every_key_has_a_text() -> None:
    known = {key for _, english, _ in _catalogues() for key in english}
    for path in _modules():
        source = path.read_text()
        for key in USED.findall(source):
            assert key in known, f"{path.name}: {key}"
        for prefix in PREFIX.findall(source):
            assert any(key.startswith(prefix) for key in known), f"{path.name}: {prefix}"
