"""Reference links become links to the addresses that the text defines for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.render.html import render_html
from bot.render.partial_markdown import close_open
from bot.render.references import resolve_references
from tests.unit.bot.render.markdown_texts import steady

A, B = "[1]: https://e.com/a", "[2]: https://e.com/b"
SAMPLES = [
    (f"the [plan][1] now\n\n{A}", "the [plan](https://e.com/a) now"),
    (f"see [1] and [1]\n\n{A}", r"see [\[1\]](https://e.com/a) and [1]"),
    (f"[a][1], [b][1], [c][2]\n\n{A}\n{B}\n", "[a](https://e.com/a), b, [c](https://e.com/b)"),
    ("[The  Docs], [it][the docs]\n\n[the docs]: https://e.com/d", "[The  Docs](https://e.com/d), it"),
    ('[docs][]\n\n[Docs]: <https://e.com/d> "Title"', "[docs](https://e.com/d)"),
    ("[docs], then [docs]\n\n[docs]: https://e.com/d", "[docs](https://e.com/d), then [docs]"),
    ("![chart][c]\n\n[c]: https://e.com/c.png", "![chart](https://e.com/c.png)"),
    ("as said[^1]\n\n[^1]: https://e.com/n", r"as said[\[1\]](https://e.com/n)"),
    ("[w][1]\n\n[1]: https://e.com/a_(b)", "[w](<https://e.com/a_(b)>)"),
    (f"> [a][1]\n\n- [b][2]\n\n{A}\n{B}", "> [a](https://e.com/a)\n\n- [b](https://e.com/b)"),
    (f"| [a][1] | b |\n|--|--|\n| `[2]` | [2] |\n\n{A}\n{B}", None),
    (f"**[状态][1]：**正常\n\n{A}", "**[状态](https://e.com/a)：**正常"),
    (f"first\n{A}\n\nthen [a][1]", "first\n\nthen [a](https://e.com/a)"),
]
AS_WRITTEN = [
    f"`[a][1]` and \\[1\\]\n\n{A}",
    f"```\n[a][1]\n{A}\n```\n\n[a][1]",
    f"nobody refers to it\n\n{A}",
    "[a][1] without a definition",
    "[a][1]\n\n[1]: relative/path",
    "[a][1]\n\n[1]: javascript:alert(1)",
    "- [x] done\n- [ ] open\n\n[1]: see above",
    f"[a](https://e.com/1) and [x][y]\n\n{A}",
    "    [a][1]\n\n[1]: words after https://e.com",
]


@pytest.mark.parametrize(("markdown", "resolved"), SAMPLES, ids=repr)
def test_a_reference_becomes_a_link(markdown: str, resolved: str | None) -> None:
    result = resolve_references(markdown)
    assert resolved is None or result == resolved
    assert "]:" not in result and len(result) <= len(markdown)
    assert resolve_references(result) == result


@pytest.mark.parametrize("markdown", AS_WRITTEN, ids=repr)
def test_other_text_stays_as_it_is(markdown: str) -> None:
    assert resolve_references(markdown) == markdown


def test_a_growing_text_never_links_half_an_address() -> None:
    markdown = f"the [plan][1] now\n\n{A}\n{B}"
    shown = [render_html(close_open(markdown[:end])) for end in range(len(markdown) + 1)]
    assert not any("href" in one and 'href="https://e.com/a"' not in one for one in shown)
    assert 'href="https://e.com/a"' in shown[-1]


@steady
@given(
    st.lists(
        st.sampled_from(["[a][1]", "[1]", "![b][2]", "[", "]", "`", "\n", "\n\n", " ", A, B, "> ", "- ", "x"])
    ).map("".join)
)
def test_no_text_becomes_longer(markdown: str) -> None:
    result = resolve_references(markdown)
    assert len(result) <= len(markdown)
    assert result.count("\n") <= markdown.count("\n")
