"""Units, and where a text may be cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.render.measure import (
    characters,
    grapheme_border,
    is_grapheme_border,
    utf8_bytes,
    utf16_units,
)

from .markdown_texts import steady


@pytest.mark.parametrize(
    ("text", "units", "count", "size"),
    [
        ("abc", 3, 3, 3),
        ("é", 1, 1, 2),
        ("中", 1, 1, 3),
        ("👍🏽", 4, 2, 8),
        ("\ud83d", 1, 1, 3),
        ("", 0, 0, 0),
    ],
)
def test_units(text, units, count, size):
    assert (utf16_units(text), characters(text), utf8_bytes(text)) == (units, count, size)


@steady
@given(st.text(), st.text())
def test_units_add_up(left, right):
    for unit in (utf16_units, characters, utf8_bytes):
        assert unit(left + right) == unit(left) + unit(right)


@pytest.mark.parametrize(
    "cluster",
    [
        "e\u0301",
        "👍🏽",
        "👨\u200d👩\u200d👧",
        "🇩🇪",
        "1\ufe0f\u20e3",
        "\r\n",
        "\u1112\u1161\u11ab",
        "क्",
        "🏴\U000e0067\U000e007f",
    ],
)
def test_a_visible_character_has_no_border_inside(cluster):
    text = f"a{cluster}b"
    inner = range(2, 1 + len(cluster))
    assert [at for at in inner if is_grapheme_border(text, at)] == []
    assert is_grapheme_border(text, 1)
    assert is_grapheme_border(text, 1 + len(cluster))


def test_flags_are_cut_between_pairs():
    text = "🇩🇪🇫🇷"
    assert [at for at in range(5) if is_grapheme_border(text, at)] == [0, 2, 4]


def test_the_ends_are_borders():
    assert is_grapheme_border("ab", 0)
    assert is_grapheme_border("ab", 2)


def test_the_last_border_before_a_place():
    assert grapheme_border("ab👍🏽c", 3) == 2
    assert grapheme_border("abc", 2) == 2


def test_an_endless_cluster_is_cut_all_the_same():
    assert grapheme_border("e" + "\u0301" * 500, 300) == 300
