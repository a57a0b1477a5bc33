"""Markdown as mrkdwn, for servers that take no Markdown."""

from __future__ import annotations

import pytest

from bot.platforms.slack.mrkdwn_writer import render_mrkdwn


@pytest.mark.parametrize(
    ("markdown", "mrkdwn"),
    [
        ("", ""),
        ("plain & <b>", "plain &amp; &lt;b&gt;"),
        ("**bold** *it* ~~no~~ `a < b`", "*bold* _it_ ~no~ `a &lt; b`"),
        ("# Title\n\ntext", "*Title*\n\ntext"),
        ("[docs](https://example.org/?a=1&b=2)", "<https://example.org/?a=1&amp;b=2|docs>"),
        ("**see [it](https://x.org)**", "*see <https://x.org|it>*"),
        ("```python\na < b\n```", "```\na &lt; b\n```"),
        ("> one\n> two", ">one\n>two"),
        ("- one\n- two\n  - three", "• one\n• two\n  ◦ three"),
        ("hi <@U123> and <#C1> <!subteam^S1>", "hi <@U123> and <#C1> <!subteam^S1>"),
        ("| a | b |\n| - | - |\n| 1 | 2 |", "```\na | b\n--+--\n1 | 2\n```"),
    ],
)
def test_it_is_written_in_slacks_signs(markdown: str, mrkdwn: str) -> None:
    assert render_mrkdwn(markdown) == mrkdwn
