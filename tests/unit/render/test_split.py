"""The splitter: nothing lost, nothing over the limit, borders that stay."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.render.measure import characters, utf8_bytes, utf16_units
from bot.render.split import split_markdown

from .markdown_texts import texts

LIMITS = st.sampled_from([64, 100, 200, 400, 1000])
UNITS = st.sampled_from([characters, utf16_units, utf8_bytes])


@given(texts, LIMITS, UNITS)
def test_every_part_is_within_the_limit(markdown, limit, unit):
    for part in split_markdown(markdown, limit=limit, measure=unit):
        assert unit(part) <= limit
        assert part.strip()


@given(texts, LIMITS, st.data())
def test_borders_of_full_parts_stay_while_the_text_grows(markdown, limit, data):
    whole = split_markdown(markdown, limit=limit, measure=characters)
    end = data.draw(st.integers(0, len(markdown)))
    begun = split_markdown(markdown[:end], limit=limit, measure=characters)
    assert begun[:-1] == whole[: max(0, len(begun) - 1)]
