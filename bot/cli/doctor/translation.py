"""Findings in Chinese, by their English wording."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from bot.texts.translation import Templates, read_templates, translate_sentence


@cache
def load_templates() -> Templates:
    """Return the templates of the findings, in the order of the file."""
    return read_templates(Path(__file__).with_name("chinese.yaml"))


def translate_finding(text: str, language: str) -> str:
    """Return a finding in a language, in English if it has no translation."""
    return translate_sentence(text, load_templates()) if language == "zh" else text
