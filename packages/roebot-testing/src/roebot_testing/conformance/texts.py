"""Markdown: a table of source texts and their expected display."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from roebot_testing.conformance.bench import Stage
from roebot_testing.conformance.driver import Ability, Seen
from roebot_testing.conformance.needs import needs
from roebot_testing.conformance.suite import Suite


@dataclass(frozen=True, slots=True)
class Row:
    """One text: `shows` must be visible in this order, `hides` must not; `code` and `links` are native."""

    markdown: str
    shows: tuple[str, ...]
    hides: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


ADDRESS = "https://example.org/a_b/c*d?e=f&g=h"
TABLE = "| name | 数量 |\n|---|--:|\n| pear & plum | 1 |\n| <b>kiwi</b> | 22 |"
ROWS = {
    "plain": Row("Nothing special.", ("Nothing special.",)),
    "bold": Row("so **very** bold", ("so very bold",), ("*",)),
    "italic": Row("so *very* and _very_ italic", ("so very and very italic",), ("*", "_")),
    "both": Row("***all*** of it", ("all of it",), ("*",)),
    "struck": Row("~~gone~~ here", ("gone here",), ("~",)),
    "stars": Row("2 * 3 * 4 = 24 and 5*6", ("2 * 3 * 4 = 24 and 5*6",)),
    "snake": Row("call some_long_name and other_name", ("call some_long_name and other_name",)),
    "escapes": Row(
        r"not \*bold\*, \_nor\_ this, \# no title", ("not *bold*, _nor_ this, # no title",), ("\\",)
    ),
    "backslash": Row(r"C:\Users\ann and `C:\new`", (r"C:\Users\ann and C:\new",)),
    "brackets": Row("1 < 2 && 3 > 2, a[0] and (b)", ("1 < 2 && 3 > 2, a[0] and (b)",)),
    "entities": Row("`&lt;` is `<`", ("&lt; is <",)),
    "quotes": Row("\"double\" and 'single'", ("\"double\" and 'single'",)),
    "code span": Row("run `pip install a_b*c` now", ("run pip install a_b*c now",), ("`",)),
    "code block": Row(
        "Look:\n\n```python\nif a < b and not **c**:\n    print('_&_')\n```\n\nDone.",
        ("Look:", "if a < b and not **c**:\n    print('_&_')", "Done."),
        ("```",),
        code=("if a < b and not **c**:\n    print('_&_')",),
    ),
    "code with fences": Row(
        "````md\n```\ninner\n```\n````", ("```\ninner\n```",), ("````",), code=("```\ninner\n```",)
    ),
    "open code": Row("```\nnever closed", ("never closed",), ("```",), code=("never closed",)),
    "link": Row(f"see [the page]({ADDRESS}) there", ("see the page", "there"), links=(ADDRESS,)),
    "bare link": Row(f"see {ADDRESS} there", (f"see {ADDRESS} there",)),
    "bold link": Row("**[bold](https://example.org)**", ("bold",), ("*",), links=("https://example.org",)),
    "title": Row("# The title\n\nThe text", ("The title", "The text")),
    "deep title": Row("#### Deep\n\nText", ("Deep", "Text"), ("####",)),
    "list": Row("- one\n- **two**\n  - three\n- four", ("one", "two", "three", "four"), ("**",)),
    "numbers": Row("3. three\n4. four", ("3", "three", "4", "four")),
    "quote": Row("> said\n> so\n\nI say", ("said", "so", "I say")),
    "rule": Row("above\n\n---\n\nbelow", ("above", "below")),
    "table": Row(TABLE, ("name", "数量", "pear & plum", "1", "kiwi", "22")),
    "tags": Row("`<b>` and \\<b>bold\\</b>", ("<b> and <b>bold</b>",)),
    "chinese": Row("你好，**世界**！这是 `代码`。", ("你好，世界！这是 代码。",), ("*", "`")),
    "emoji": Row("👩‍👩‍👧‍👦 **🇩🇪** 👍🏽 `🏯` after", ("👩‍👩‍👧‍👦 🇩🇪 👍🏽 🏯 after",), ("*", "`")),
    "right to left": Row("שלום **עולם** טוב", ("שלום עולם טוב",), ("*",)),
    "lines": Row("one  \ntwo\n\nthree", ("one\ntwo", "three")),
    "spaces": Row("  padded  ", ("padded",)),
}


class TextCases(Suite):
    @needs(Ability.FORMATS)
    @pytest.mark.parametrize("name", ROWS)
    async def test_markdown_reads_as_it_should_posted_and_edited(self, stage: Stage, name: str) -> None:
        address = await stage.reply_address()
        await stage.reply(address).finish(ROWS[name].markdown)
        reply = stage.reply(address)
        await reply.frame("at first")
        await reply.finish(ROWS[name].markdown)
        for seen in stage.seen():
            _reads(seen, ROWS[name])
        assert len(stage.seen()) == 2


def _reads(seen: Seen, row: Row) -> None:
    at = 0
    for words in row.shows:
        found = seen.text.find(words, at)
        assert found >= 0, f"{words!r} is not read in {seen.text[at:]!r}"
        at = found + len(words)
    for sign in row.hides:
        assert sign not in seen.text
    assert tuple(block.strip("\n") for block in seen.code)[: len(row.code)] == row.code
    assert set(row.links) <= set(seen.links)


Texts = TextCases
"""Former name of the topic, kept for suites that import it."""
