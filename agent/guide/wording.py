"""The guide's fixed texts, and the language and subject of a question."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_HAN = re.compile(r"[\u4e00-\u9fff]")


@cache
def load_wording() -> Mapping[str, Any]:
    """Return the content of texts.yaml."""
    found: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text(encoding="utf-8"))
    return found


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Return a pattern of texts.yaml; line breaks in it only fold it. Chinese letters end no word."""
    return re.compile(load_wording()["patterns"][name].replace(" |", "|"), re.IGNORECASE | re.ASCII)


def detect_language(text: str) -> str:
    """Return "zh" for a text with Chinese characters, else "en"."""
    return "zh" if _HAN.search(text) else "en"


def say(language: str, key: str, **values: str) -> str:
    """Return a fixed text."""
    text: str = load_wording()[language][key]
    return text.format(**values) if values else text
