"""Texts are shortened to their limit."""

from __future__ import annotations

import pytest

from agent.shared.text import choose_text, cut_middle, replace_unprintable, shorten, to_one_line


@pytest.mark.parametrize(
    ("text", "limit", "short"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("ab cd", 4, "ab…"), ("ab", 0, "…")]
)
def test_a_long_text_ends_with_an_ellipsis(text: str, limit: int, short: str) -> None:
    assert shorten(text, limit) == short


def test_the_middle_of_a_long_text_is_omitted() -> None:
    assert cut_middle("abcdefgh", 7, "[…]") == "ab[…]gh"
    assert cut_middle("abcdefg", 7, "[…]") == "abcdefg"


def test_a_line_holds_neither_line_ends_nor_control_characters() -> None:
    assert to_one_line(" a\n\tb  c ") == "a b c"
    assert replace_unprintable("a\x1bb") == "a\N{REPLACEMENT CHARACTER}b"


def test_chinese_has_its_own_text_and_others_the_english_one() -> None:
    texts = {"en": "yes", "zh": "是"}
    locales = "zh-CN", "en", "fr", None
    assert [choose_text(texts, locale) for locale in locales] == ["是", "yes", "yes", "yes"]
