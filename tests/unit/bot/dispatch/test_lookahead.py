"""How a text is guessed to go on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.dispatch.reply.streaming import extrapolate

TEN = "".join(f"w{number:02d} " for number in range(9)) + "end\n\n"


def test_a_paragraph_becomes_as_long_as_the_one_before() -> None:
    text = TEN * 3
    assert text[:93] + extrapolate(text[:93], 60) == (TEN * 9)[:153]


def test_a_paragraph_that_is_longer_already_ends_now() -> None:
    assert extrapolate("a b\n\nlonger than that", 4).startswith("\n\na b"[:4])


def test_without_a_paragraph_there_is_no_border() -> None:
    assert extrapolate("one two three", 5) == "xxxxx"


@given(st.text(alphabet="ab \n", max_size=60), st.integers(1, 300))
def test_it_is_as_long_as_was_asked(text: str, count: int) -> None:
    assert len(extrapolate(text, count)) == count
