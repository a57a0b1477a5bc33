"""Deltas of a growing text, in the units of JavaScript."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.text_deltas import apply_delta, make_delta

PIECES = st.lists(st.sampled_from(["a", "é", "字", "😀", "😁", "🇩🇪", "\n", "**", "```\n"]), max_size=12)
TEXTS = PIECES.map("".join)


def units(text: str) -> list[int]:
    """A string as JavaScript has it."""
    raw = text.encode("utf-16-le")
    return [int.from_bytes(raw[at : at + 2], "little") for at in range(0, len(raw), 2)]


@given(st.lists(TEXTS, max_size=8), st.integers(0, 8))
def test_any_sequence_of_texts_ends_with_the_last(frames: list[str], lost: int) -> None:
    known: str | None = ""
    script: list[int] = []
    for number, frame in enumerate(frames):
        assert known is not None
        if number == lost:
            known, script = frame, units(frame)
            continue
        offset, text = make_delta(known, frame)
        known = apply_delta(known, offset, text)
        script = script[:offset] + units(text)
        assert known == frame
        assert script == units(frame)


@given(TEXTS, TEXTS)
def test_no_more_is_sent_than_differs(before: str, after: str) -> None:
    offset, text = make_delta(before, before + after)
    assert (offset, text) == (len(units(before)), after)


@given(TEXTS, TEXTS)
def test_offsets_never_split_a_pair(before: str, after: str) -> None:
    offset, _ = make_delta(before, after)
    assert not 0xDC00 <= [*units(after), 0][offset] < 0xE000


@pytest.mark.parametrize(
    ("before", "after", "delta"),
    [("a😀", "a😁", (1, "😁")), ("😀😀", "😀", (2, "")), ("", "", (0, "")), ("**b**", "**bo**", (3, "o**"))],
)
def test_examples(before: str, after: str, delta: tuple[int, str]) -> None:
    assert make_delta(before, after) == delta


def test_an_offset_beyond_the_text_is_a_gap() -> None:
    assert apply_delta("a😀", 3, "b") == "a😀b"
    assert apply_delta("a😀", 4, "b") is None
