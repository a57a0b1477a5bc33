"""Findings of the doctor in Chinese."""

import re
from pathlib import Path

import pytest
import yaml

from bot.cli.doctor import translation
from bot.cli.doctor.translation import load_templates, translate_finding

ROOT = Path(__file__).parents[5]
SOURCES = ("bot/cli/doctor", "bot/cli/security", "bot/features/backup")
KNOWN = yaml.safe_load((ROOT / "bot/cli/doctor/chinese.yaml").read_text(encoding="utf-8"))


def source_text() -> str:
    """The source of the checks, with strings that span lines joined."""
    files = (path.read_text() for folder in SOURCES for path in sorted((ROOT / folder).glob("*.py")))
    return re.sub(r'"\s*\n\s*f?"', "", "\n".join(files)).replace("\\n", "\n")


@pytest.mark.parametrize("english", KNOWN)
def test_each_text_is_one_of_a_check(english: str) -> None:
    longest = max(re.split(r"\{\w+\}|; |: ", english), key=len).strip(" ()")
    assert longest in source_text(), longest


@pytest.mark.parametrize("english", KNOWN)
def test_fields_of_a_translation_are_those_of_the_text(english: str) -> None:
    assert set(re.findall(r"\{(\w+)\}", KNOWN[english])) <= set(re.findall(r"\{(\w+)\}", english))
    filled = re.sub(r"\{(\w+)\}", r"<\1>", english)
    matching = [chinese for pattern, chinese in load_templates() if pattern.fullmatch(filled)]
    assert matching[0] == KNOWN[english], "a text above it in the file hides it"
    assert "{" not in translate_finding(filled, "zh")


def test_a_text_without_a_translation_and_english_stay() -> None:
    assert translate_finding("on call: nobody", "zh") == "on call: nobody"
    assert translate_finding("home: /x", "en") == "home: /x"
    assert translate_finding("home: /x {y}", "zh") == "数据目录：/x {y}"
    assert translation.load_templates() is translation.load_templates()
