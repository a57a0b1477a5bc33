"""Number of blocks that Slack makes of Markdown.

"Passing a single block may result in multiple blocks after translation" (docs.slack.dev, markdown block).
Applications have measured which: each heading, each rule and each table is a block of its own, and what
stands between two of them is one, whether paragraphs, lists, quotes or code. With more than fifty,
chat.postMessage and chat.update answer "no more than 50 items allowed [json-pointer:/blocks]".
"""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt

_OWN_BLOCKS = frozenset({"heading_open", "hr", "table_open"})


def count_blocks(markdown: str) -> int:
    """Return the number of blocks that Slack shows for a text, at least one."""
    count, in_run = 0, False
    for token in _parser().parse(markdown):
        if token.level or token.nesting < 0:
            continue
        if token.type in _OWN_BLOCKS:
            count, in_run = count + 1, False
        elif not in_run:
            count, in_run = count + 1, True
    return max(1, count)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")
