"""One catalogue; every text that the code asks for is in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.access import Role
from bot.commands.core_commands import build_registry
from bot.domain import Live
from bot.texts import Texts, texts_for
from bot.texts.catalogue import COUNTS
from bot.texts.en import ENGLISH
from bot.texts.en_commands import ENGLISH_COMMANDS
from bot.texts.zh import CHINESE
from bot.texts.zh_commands import CHINESE_COMMANDS

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
                names = {"texts", "_texts", "ScheduleRefused", "Doubt"}
                if name in names and isinstance(node.args[0].value, str):
                    found.add(node.args[0].value)
    return found


def test_every_text_that_is_asked_for_exists() -> None:
    assert asked_for() - ENGLISH.keys() == set()


def test_every_command_has_summary_and_detail() -> None:
    for name in build_registry()._commands:
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
    ("platform", "topic", "found"),
    [("telegram", "1", "`/status`"), ("slack", "", "`/roebot status`"), ("slack", "1.2", "`@bot /status`")],
)
def test_commands_are_named_as_they_are_typed_on_the_platform(platform: str, topic: str, found: str) -> None:
    text = texts_for("en", platform).in_thread(topic)("digest_named_unknown", chat="`/status`")
    assert found in text.partition("on this account")[2]
    assert "chat `/status` on" in text, "words of a person stay as they are"


@pytest.mark.parametrize(
    ("platform", "topic", "found"),
    [
        ("discord", "", "`/approve 7` or `/reject 7`"),
        ("slack", "", "`/roebot approve 7` or `/roebot reject 7`"),
        ("slack", "1.2", "`approve 7` or `reject 7`"),
    ],
)
def test_decisions_in_a_slack_thread_need_no_slash(platform: str, topic: str, found: str) -> None:
    assert found in texts_for("en", platform).in_thread(topic)("approval_code", number=7, hours=24)


def test_commands_for_the_web_console_and_routes_are_not_rewritten() -> None:
    slack = texts_for("en", "slack")
    assert "`/roebot pair X`" in slack("pair_code", code="X", minutes=60)
    assert "`/pair X owner`" in slack("pair_code", code="X", minutes=60)
    assert "`GET /api/people/…/data`" in slack("data_too_large", megabytes=3)


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
