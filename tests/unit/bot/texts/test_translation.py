"""Problems of accounts and models in Chinese: each is one that the source has, and fills its fields."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from bot.app.accounts import load_manifest
from bot.platforms.setup import SetupGuide, translate_problem
from bot.texts.translation import compile_templates, translate_sentence
from bot.texts.zh_problems import PROBLEMS

ROOT = Path(__file__).parents[4]
SHARED = ("bot/cli", "bot/config", "bot/app", "bot/platforms", "agent/config", "agent/models")
PLATFORMS = ("telegram", "slack", "feishu", "discord")
KNOWN = {
    **{
        f"{name}: {english}": name
        for name in PLATFORMS
        for english in load_manifest(name).guides["zh"].problems
    },
    **{f"all: {english}": "" for english in PROBLEMS},
}


@cache
def source_text(folders: tuple[str, ...]) -> str:
    """The source, with strings that span lines joined."""
    files = [path for folder in folders for path in sorted((ROOT / folder).glob("**/*.py"))]
    own = "\n".join(path.read_text() for path in files if path.name not in {"manifest.py", "guide.py"})
    return re.sub(r'"\s*\n\s*f?"', "", own)


@pytest.mark.parametrize("entry", KNOWN)
def test_each_problem_is_one_of_the_source(entry: str) -> None:
    platform, english = KNOWN[entry], entry.partition(": ")[2]
    found = source_text((f"bot/platforms/{platform}",) if platform else SHARED)
    for part in re.split(r"\{\w+\}", english):
        assert part.strip(" ()") in found, part


@pytest.mark.parametrize("entry", KNOWN)
def test_the_translation_has_no_other_fields(entry: str) -> None:
    platform, english = KNOWN[entry], entry.partition(": ")[2]
    guides = [load_manifest(platform).guide("zh")] if platform else []
    filled = re.sub(r"\{(\w+)\}", r"<\1>", english)
    shown = translate_problem(filled, "zh", *guides)
    assert shown != filled
    assert "{" not in shown
    assert translate_problem(filled, "en", *guides) == filled


def test_sentences_in_a_sentence_are_translated_too() -> None:
    guide = SetupGuide((), "", problems={"no route to {place}": "无法到达 {place}"})
    said = "no route to Mars (base_url is http://x); check the network and try again"
    assert (
        translate_problem(said, "zh", guide)
        == "无法到达 Mars（API 地址：http://x）；请检查网络和地址，然后重试"
    )
    assert translate_sentence("unknown {x}", compile_templates(PROBLEMS)) == "unknown {x}"
