"""One catalogue; every text that the code asks for is in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.commands.core_commands import builtin
from bot.texts import texts_for
from bot.texts.en import ENGLISH
from bot.texts.zh import CHINESE

ROOT = Path(__file__).parents[4] / "bot"


def asked_for() -> set[str]:
    """Constant keys of calls like `texts("key")` and of refusals, anywhere in the bot."""
    found = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = (
                    node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                )
                if name in {"texts", "_texts", "ScheduleRefused"} and isinstance(node.args[0].value, str):
                    found.add(node.args[0].value)
    return found


def test_every_text_that_is_asked_for_exists() -> None:
    assert asked_for() - ENGLISH.keys() == set()


def test_every_command_has_summary_and_detail() -> None:
    for name in builtin()._commands:
        assert ENGLISH[f"cmd_{name}"]
        assert ENGLISH[f"more_{name}"]


def test_fields_are_filled() -> None:
    assert texts_for("en")("queue_full", limit=20).startswith("20 messages")


@pytest.mark.parametrize("locale", ["en", "en-GB", "xx", ""])
def test_an_unknown_locale_falls_back_to_english(locale: str) -> None:
    assert texts_for(locale)("stopped") == ENGLISH["stopped"]


def test_an_unknown_text_is_an_error() -> None:
    with pytest.raises(KeyError):
        texts_for("en")("no such text")


FIELD = re.compile(r"\{([a-z_]+)[^}]*\}")


@pytest.mark.parametrize("key", ENGLISH)
def test_every_text_is_there_in_chinese_with_the_same_fields(key: str) -> None:
    assert key in CHINESE
    assert sorted(FIELD.findall(CHINESE[key])) == sorted(FIELD.findall(ENGLISH[key]))


def test_chinese_has_no_text_of_its_own() -> None:
    assert CHINESE.keys() == ENGLISH.keys()


@pytest.mark.parametrize("locale", ["zh", "zh-CN", "zh-TW"])
def test_a_chinese_account_speaks_chinese(locale: str) -> None:
    assert texts_for(locale)("stop_done") == "已停止。"
    assert texts_for(locale)("queue_full", limit=20).startswith("这里已有 20 条消息")


@pytest.mark.parametrize("catalogue", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_no_text_has_a_stray_brace(catalogue: Mapping[str, str]) -> None:
    for key, text in catalogue.items():
        fields = re.findall(r"\{([a-z_]+)[^}]*\}", text)
        assert text.count("{") == text.count("}"), key
        assert len(fields) == len(re.findall(r"(?<!\{)\{[a-z]", text)), key


@pytest.mark.parametrize(
    ("asked", "found"), [("en", "en"), ("zh", "zh"), ("zh-CN", "zh"), ("fr", "en"), ("", "en")]
)
def test_texts_say_which_language_they_are(asked: str, found: str) -> None:
    assert texts_for(asked).locale == found
