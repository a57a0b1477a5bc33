"""One catalogue; every text that the code asks for is in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from bot.access import Role
from bot.account_state import Live
from bot.app.features import installed_commands, load_features
from bot.texts import Texts, texts_for
from bot.texts.catalogue import CATALOGUES, COUNTS
from bot.texts.en_commands import ENGLISH_COMMANDS
from bot.texts.zh_commands import CHINESE_COMMANDS

load_features()
ENGLISH, CHINESE = CATALOGUES["en"], CATALOGUES["zh"]
ROOT = Path(__file__).parents[4] / "bot"


@cache
def syntax_trees() -> Mapping[str, ast.Module]:
    """The modules of the bot, by their paths."""
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in ROOT.rglob("*.py")}


def asked_for() -> set[str]:
    """Constant keys of calls like `texts("key")` and of refusals, anywhere in the bot."""
    found = set()
    for tree in syntax_trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = (
                    node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                )
                names = {"texts", "_texts", "ScheduleRefused", "Doubt"}
                if name in names and isinstance(node.args[0].value, str):
                    found.add(node.args[0].value)
    return found


def test_every_text_that_is_asked_for_exists() -> None:
    assert asked_for() - ENGLISH.keys() == set()


COMMAND = re.compile(rf"(?<![\w/.:<}}])/({'|'.join([*installed_commands()._commands, 'NAME'])})\b(?![/.])")
OUTSIDE = {
    "cli/chat/command.py": "the terminal takes commands with a slash",
    "cli/init/command.py": "what to send in the web console",
    "cli/manifest.py": "what to send in the web console",
    "config/accounts.py": "for the reference of the configuration",
    "config/models.py": "for the reference of the configuration",
    "dispatch/clarifications.py": "what the agent must not imitate",
    "features/agent_management/raw_runtime.py": "routes",
    "features/events/cli.py": "what to send in a chat of any platform",
    "features/oncall/checks.py": "what to send in a chat of any platform",
}
"""Modules whose texts name commands for one place, or for none."""


def test_catalogues_name_commands_in_code_alone() -> None:
    for catalogue in (ENGLISH, CHINESE):
        for key, text in catalogue.items():
            assert not COMMAND.search(re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)), key
            assert not re.search(r"`@\S+ ", text), key


def test_no_text_outside_the_catalogues_names_a_command() -> None:
    trees = {
        path: tree
        for path, tree in syntax_trees().items()
        if not re.match(r"texts/|features/\w+/texts\.py", path)
    }
    found = {path for path, tree in trees.items() if any(map(COMMAND.search, sentences(tree)))}
    assert found - OUTSIDE.keys() == set()


def sentences(tree: ast.Module) -> list[str]:
    """Return the strings of a module that have several words and are no docstrings."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs]
    return [node.value for node in strings if isinstance(node.value, str) and " " in node.value.strip()]


def test_every_command_has_summary_and_detail() -> None:
    for name in installed_commands()._commands:
        assert ENGLISH[f"cmd_{name}"]
        assert ENGLISH[f"more_{name}"]


def test_fields_are_filled() -> None:
    assert "(20 waiting)" in texts_for("en")("queue_full", limit=20)


@pytest.mark.parametrize("locale", ["en", "en-GB", "xx", ""])
def test_an_unknown_locale_falls_back_to_english(locale: str) -> None:
    assert texts_for(locale)("stopped") == ENGLISH["stopped"]


def test_roles_and_account_states_have_a_label_in_every_language() -> None:
    for catalogue in (ENGLISH, CHINESE):
        assert all(catalogue[f"role_name_{role.name.lower()}"] for role in Role)
        assert all(catalogue[f"live_{live.value}"] for live in Live)


def test_a_name_without_a_label_is_shown_as_it_is() -> None:
    assert texts_for("zh").label("role_name", "admin") == "管理员"
    assert texts_for("zh").label("action", "no_such action") == "no_such action"


def test_an_unknown_text_is_an_error() -> None:
    with pytest.raises(KeyError):
        texts_for("en")("no such text")


ONE = "_one"
PLAIN = [key for key in ENGLISH if not key.endswith(ONE)]
FIELD = re.compile(r"\{([a-z_]+)[^}]*\}")
DENIED = re.compile(
    r"\b(let in|lets? (you|them) in|any more|anew|afresh|strangers?|so many|told so|beside|given back|"
    r"the page|firings?|deeds?|taken (in|over|up)|comes to nothing|goes on|go on|not good|"
    r"(the|this|that|next|last|running) turn|of your own|somebody else's)\b",
    re.IGNORECASE,
)
HALF_WIDTH = re.compile(r"[\u4e00-\u9fff][,;?!:]|[,;?!:][\u4e00-\u9fff]")


def fields(text: str) -> list[str]:
    """Return the names of a text's fields, sorted."""
    return sorted(FIELD.findall(text))


@pytest.mark.parametrize("key", PLAIN)
def test_every_text_has_a_chinese_translation_with_the_same_fields(key: str) -> None:
    assert CHINESE[key]
    assert fields(CHINESE[key]) == fields(ENGLISH[key])


def test_chinese_has_no_keys_that_english_lacks() -> None:
    assert CHINESE.keys() <= ENGLISH.keys()
    assert ENGLISH.keys() - CHINESE.keys() == {key for key in ENGLISH if key.endswith(ONE)}


@pytest.mark.parametrize("key", sorted(ENGLISH.keys() - set(PLAIN)))
def test_singular_forms_belong_to_a_text_with_a_count(key: str) -> None:
    plain = ENGLISH[key.removesuffix(ONE)]
    assert set(fields(plain)) & set(COUNTS)
    assert set(fields(ENGLISH[key])) <= set(fields(plain))


def test_english_texts_avoid_translated_phrases() -> None:
    assert [text for text in ENGLISH.values() if DENIED.search(text)] == []


def test_chinese_prose_has_full_width_marks() -> None:
    prose = [re.sub(r"```.*?```|`[^`]*`|\{[^}]*\}", "", text, flags=re.DOTALL) for text in CHINESE.values()]
    assert [text for text in prose if HALF_WIDTH.search(text) or "您" in text] == []


@pytest.mark.parametrize("catalogue", [ENGLISH_COMMANDS, CHINESE_COMMANDS], ids=["en", "zh"])
def test_summaries_are_one_line_of_plain_text_for_native_menus(catalogue: Mapping[str, str]) -> None:
    summaries = [text for key, text in catalogue.items() if key.startswith("cmd_")]
    assert [text for text in summaries if len(text) > 100 or re.search(r"[`*\n]|[.\u3002]$", text)] == []


@pytest.mark.parametrize(
    ("count", "found"), [(1, "1 other chat."), (2, "2 other chats."), (0, "0 other chats.")]
)
def test_a_count_of_one_takes_the_singular_form(count: int, found: str) -> None:
    assert texts_for("en")("announce_done", count=count).endswith(found)


def test_languages_without_plural_ignore_the_singular_form() -> None:
    assert texts_for("zh")("announce_done", count=1) == CHINESE["announce_done"].format(count=1)


@pytest.mark.parametrize(
    ("kind", "found"), [("paid_media", "paid media"), ("tombstone file", "deleted file")]
)
def test_kinds_of_messages_have_words(kind: str, found: str) -> None:
    assert texts_for("en").kind(kind) == found


def test_an_unknown_kind_is_shown_as_words() -> None:
    assert Texts("zh").kind("some_new_thing") == "some new thing"


@pytest.mark.parametrize("locale", ["zh", "zh-CN", "zh-TW"])
def test_a_chinese_account_speaks_chinese(locale: str) -> None:
    assert texts_for(locale)("stop_done") == "已停止。"
    assert texts_for(locale)("queue_full", limit=20).startswith("这里已有 20 条消息")


@pytest.mark.parametrize("catalogue", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_no_text_has_a_stray_brace(catalogue: Mapping[str, str]) -> None:
    for key, text in catalogue.items():
        assert text.count("{") == text.count("}"), key
        assert len(fields(text)) == len(re.findall(r"(?<!\{)\{[a-z]", text)), key


@pytest.mark.parametrize(
    ("asked", "found"), [("en", "en"), ("zh", "zh"), ("zh-CN", "zh"), ("fr", "en"), ("", "en")]
)
def test_texts_say_which_language_they_are(asked: str, found: str) -> None:
    assert texts_for(asked).locale == found
