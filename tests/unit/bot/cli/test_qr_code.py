"""QR codes of half blocks, no wider than the terminal."""

from __future__ import annotations

import pytest

from bot.cli.init.qr_code import draw_code


@pytest.mark.parametrize(("columns", "width"), [(200, 33), (33, 33), (32, 29), (29, 29), (28, 27), (27, 27)])
def test_the_border_is_as_wide_as_the_terminal_allows(columns: int, width: int) -> None:
    lines = draw_code("https://example.org", columns).splitlines()
    assert {len(line) for line in lines} == {width}, "25 modules (version 2) and the border"
    assert len(lines) == (width + 1) // 2
    assert set("".join(lines)) <= set(" ▀▄█")


def test_a_code_that_is_too_wide_is_not_drawn() -> None:
    assert draw_code("https://example.org", 26) == ""
