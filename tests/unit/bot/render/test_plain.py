"""Plain text for places without formatting."""

from __future__ import annotations

from hypothesis import given

from bot.render.entities import render_plain

from .markdown_texts import noise, steady


def test_markup_goes_and_structure_stays():
    markdown = "# Head\n\n**a** `b` [c](http://d.e) [f](/g)\n\n- h\n  - i\n\n```py\nx\n```\n"
    markdown += "\n| j | k |\n|---|---|\n| 1 | 2 |"
    assert render_plain(markdown) == "Head\n\na b c f (/g)\n\n• h\n  ◦ i\n\nx\n\nj | k\n--+--\n1 | 2"


def test_an_address_is_shown_once_and_as_it_was_written():
    assert (
        render_plain("[f](/mnt/部署) [](http://a.b/部署) <tel:+1>") == "f (/mnt/部署) http://a.b/部署 tel:+1"
    )
    assert render_plain("| a |\n|---|\n| [f](/mnt/部署) |").splitlines()[-1] == "f (/mnt/部署)"


def test_quotes_are_marked():
    assert render_plain("a\n\n> b\n> c\n> > d\n\ne") == "a\n\n> b\n> c\n> > d\n\ne"


@steady
@given(noise)
def test_any_text_renders(markdown):
    assert isinstance(render_plain(markdown), str)
