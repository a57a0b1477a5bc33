"""HTML for the page: the whole tree, and nothing that acts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from bot.render.html import render_html

from .markdown_texts import steady, texts


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("a **b** *c* ~~d~~", "<p>a <strong>b</strong> <em>c</em> <del>d</del></p>"),
        ("a\nb", "<p>a<br>\nb</p>"),
        ("### a", "<h3>a</h3>"),
        ("`**a**`", "<p><code>**a**</code></p>"),
        ("```c++\na < b\n```", '<pre><code class="language-c++">a &lt; b</code></pre>'),
        ('```a"onclick="x\ny\n```', '<pre><code class="language-aonclickx">y</code></pre>'),
        ("    a", "<pre><code>a</code></pre>"),
        ("- a\n  - b\n- [x] c", "<ul><li>a<ul><li>b</li></ul></li><li>☑ c</li></ul>"),
        ("- [ ] a", "<ul><li>☐ a</li></ul>"),
        ("- ```\n  a\n  ```", "<ul><li><pre><code>a</code></pre></li></ul>"),
        ("1. a", "<ol><li>a</li></ol>"),
        ("3. a", '<ol start="3"><li>a</li></ol>'),
        ("> a", "<blockquote><p>a</p></blockquote>"),
        ("---", "<hr>"),
        ("[](/x)", "<p>/x</p>"),
        ("[a](/x)", "<p>a (/x)</p>"),
        ("[a]()", "<p>a</p>"),
    ],
)
def test_constructs(markdown, html):
    assert render_html(markdown) == html


def test_tables_align_by_class():
    html = render_html("| a | b |\n|---|--:|\n| 1 | 2 |")
    assert '<th>a</th><th class="align-right">b</th>' in html
    assert '<td class="align-right">2</td>' in html
    assert "style" not in html


def test_links_open_elsewhere_and_images_are_links():
    expected = 'href="http://a.b" target="_blank" rel="noopener noreferrer nofollow"'
    assert expected in render_html("[x](http://a.b)")
    assert expected in render_html("![x](http://a.b)")
    assert "<img" not in render_html("![x](http://a.b)")
    assert 'href="mailto:a@b.c"' in render_html("<a@b.c>")


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "ftp://a.b", "//a.b", "vbscript:x"]
)
def test_other_addresses_are_text(address):
    html = render_html(f"[x]({address})")
    assert "<a" not in html
    assert address in html


@steady
@given(texts)
def test_no_markup_but_ours_comes_through(markdown):
    html = render_html(markdown + "\n\n<script>alert(1)</script><img src=x onerror=y>")
    tags = set(re.findall(r"</?([a-z0-9]+)", html))
    assert tags <= set(
        [
            "a",
            "blockquote",
            "br",
            "code",
            "del",
            "em",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
            "li",
            "ol",
            "p",
            "pre",
            "strong",
        ]
    ) | set(["table", "tbody", "td", "th", "thead", "tr", "ul"])
    assert not re.search(r"<[^>]* (?:on\w+|style|src)=", html)
