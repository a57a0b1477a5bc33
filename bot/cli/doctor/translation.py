"""Findings in Chinese, by their English wording."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import yaml

_FIELD = re.compile(r"\\\{(\w+)\\\}")


@cache
def load_templates() -> Sequence[tuple[re.Pattern[str], str]]:
    """Return the patterns of the English findings with the Chinese texts, in the order of the file."""
    file = Path(__file__).with_name("chinese.yaml")
    known: dict[str, str] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return [
        (re.compile(_FIELD.sub(r"(?P<\1>.*?)", re.escape(english)), re.DOTALL), chinese)
        for english, chinese in known.items()
    ]


def translate_finding(text: str, language: str) -> str:
    """Return a finding in a language, in English if it has no translation."""
    for pattern, chinese in load_templates() if language == "zh" else ():
        if found := pattern.fullmatch(text):
            return chinese.format(**found.groupdict())
    return text
