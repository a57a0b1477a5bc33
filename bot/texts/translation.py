"""Sentences in Chinese by their English wording, for those that reach people through logs and errors, too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml

_FIELD = re.compile(r"\\\{(\w+)\\\}")
Templates = Sequence[tuple[re.Pattern[str], str]]


def read_templates(file: Path) -> Templates:
    """Return the templates of a YAML file (see `compile_templates`). Blocking."""
    return compile_templates(yaml.safe_load(file.read_text(encoding="utf-8")))


def compile_templates(known: Mapping[str, str]) -> Templates:
    """Return the patterns of English sentences, whose fields in braces are any text, with the translations.

    The first one that matches is used.
    """
    return [
        (re.compile(_FIELD.sub(r"(?P<\1>.*?)", re.escape(english)), re.DOTALL), chinese)
        for english, chinese in known.items()
    ]


def translate_sentence(text: str, templates: Iterable[tuple[re.Pattern[str], str]]) -> str:
    """Return the translation of a sentence and of the sentences in its fields; without one, the text itself."""
    templates = tuple(templates)
    for pattern, chinese in templates:
        if found := pattern.fullmatch(text):
            fields = {name: translate_sentence(value, templates) for name, value in found.groupdict().items()}
            return chinese.format(**fields)
    return text
