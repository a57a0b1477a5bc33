"""The article of a page as Markdown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis.strategies import lists, sampled_from

from agent.tools.community.page_reader import add_title
from agent.tools.community.readable import LARGE, extract_article
from tests.unit.agent.tools.community.varied_pages import VARIED_PAGES, VariedPage

LONG = "A sentence that is long enough to be a part of the article itself. " * 5
URL = "https://site.test/a/b.html"


def text_of(body: str) -> str:
    return extract_article(f"<html><body>{body}</body></html>", URL).text


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<h1>One</h1><p>two <b>three</b>\n four</p>", "# One\n\ntwo **three** four"),
        ("a<br>b<br/><br>c", "a  \nb  \n\nc"),
        ("<h2></h2><p>a</p><h6>b</h6>", "a\n\n###### b"),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul><p>e", "- a\n- b\n  - c\n- d\n\ne"),
        ("<ol><li><p>a</p></li><li>b</li></ol>", "1. a\n\n2. b"),
        ("<li>alone</li>", "- alone"),
        ("<pre><code>if a:\n    b\n</code></pre>", "```\nif a:\n    b\n```"),
        ("<pre><div>a</div><div>b</div></pre>", "```\na\nb\n```"),
        ("<pre>```</pre>", "````\n```\n````"),
        ("<pre> </pre>", ""),
        ("<p>see <a href='../c?d=1'>the <i>page</i></a>.</p>", "see [the *page*](https://site.test/c?d=1)."),
        ("<a href='http://x.test/'>x</a>", "[x](http://x.test/)"),
        ("<a href='javascript:alert(1)'>x</a> <a href='#top'></a><a>y</a>", "x y"),
        ("<a href='http://[bad/'>x</a>", "x"),
        ("<a href='http://x.test/'><h3>head</h3></a>", "### [head](http://x.test/)"),
        (
            "<table><tr><th>a<th>b<tr><td><p>1</p><td><div>2</div></table><p>c",
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n\nc",
        ),
        ("<blockquote>a</blockquote><dl><dt>b<dd>c</dl>", "> a\n\nb\n\nc"),
        ("<p>a</p><script>b</script><style>c</style><noscript>d</noscript>e", "a\n\ne"),
        ("<p>a<svg><text>b</text></svg>c</p><template>d</template>", "ac"),
        ("<p>a<!-- b --><?c d?>e</p>", "ae"),
        (
            "<p hidden>a</p>b<p aria-hidden='true'>c</p>d<p style='color:red; display : none'>e</p>f",
            "b\n\nd\n\nf",
        ),
        ("<nav>a</nav>b<footer>c</footer><div role='navigation'>d</div><aside>e</aside>", "b"),
        ("<form><p>a</p><input value='b'><button>c</button><select><option>d</select></form>", "a"),
        ("&lt;script&gt; &amp;amp; &nbsp; &#x4f60;", "<script> &amp; 你"),
    ],
)
def test_markdown(body: str, expected: str) -> None:
    assert text_of(body) == expected


@pytest.mark.parametrize(
    ("body", "kept", "left"),
    [
        (f"<header>Menu</header><main><header><h1>T</h1></header><p>{LONG}</p></main>", "# T", "Menu"),
        (f"<div>Menu</div><article><p>{LONG}</p></article><article>short</article>", LONG[:60], "short"),
        (f"<div role='main'>{LONG}</div><div>Around</div>", LONG[:60], "Around"),
        (f"<div>Around</div><div><p>{LONG}</p><p>{LONG}</p></div><div><p>Ad</p></div>", LONG[:60], "Ad"),
    ],
)
def test_the_article_is_what_is_read(body: str, kept: str, left: str) -> None:
    text = text_of(body)
    assert kept in text
    assert left not in text


@pytest.mark.parametrize("page", VARIED_PAGES, ids=lambda page: page.name)
def test_pages_of_many_kinds(page: VariedPage) -> None:
    found = extract_article(page.html, "https://site.test/docs/index.html")
    text = add_title(found.title, found.text)
    assert [part for part in page.kept if part not in text] == []
    assert [part for part in page.noise if part in text] == []


def test_repeated_text_is_not_lost() -> None:
    """trafilatura can drop repeated paragraphs, of which logs consist."""
    body = "<p>The same line again and again, as logs have it.</p>" * 300
    assert text_of(f"<article>{body}</article>").count("The same line") == 300


@pytest.mark.guard(
    "a page in which no article is found is read whole",
    "agent/tools/community/readable.py",
    "text=article or whole.text",
    "text=article",
    against="lost text",
)
def test_a_large_page_takes_no_seconds() -> None:
    row = "<tr>" + "<td>cell</td>" * 50 + "</tr>"
    page = f"<main><table>{row * (LARGE // len(row) + 1)}</table></main>"
    assert text_of(page).count("| cell |") > 900


@pytest.mark.parametrize(
    "body", ["<main>short</main><div>Other</div>", "<p>One</p><div>Other</div>", "<div>Other</div>"]
)
def test_without_an_article_all_of_it_is_read(body: str) -> None:
    assert "Other" in text_of(body)


def test_a_list_of_links_is_no_article() -> None:
    links = "".join(f"<li><a href='/{n}'>{LONG}</a></li>" for n in range(5))
    text = text_of(f"<article><ul>{links}</ul></article><div><p>{LONG}</p><p>mine</p></div>")
    assert "mine" in text
    assert "/3" not in text


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<title> A \n title </title><h1>b</h1>", "A title"),
        ("<h1>Head</h1>", "Head"),
        ("<p>none</p>", ""),
        (f"<title>{'x' * 500}</title>", "x" * 300),
        ("<svg><title>icon</title></svg><p>text", ""),
    ],
)
def test_the_title(page: str, title: str) -> None:
    assert extract_article(page).title == title


@pytest.mark.parametrize(
    "page",
    ["", "  \n", "<!-- only -->", "<?xml version='1.0' encoding='latin-1'?>", "<!doctype html>"],
)
def test_a_page_with_nothing(page: str) -> None:
    assert extract_article(page).text == ""


def test_an_encoding_that_the_page_claims_does_not_count_any_more() -> None:
    page = "<?xml version='1.0' encoding='latin-1'?><html><meta charset='gbk'><p>grüß 你 \ud800"
    assert extract_article(page).text == "grüß 你 ?"


@pytest.mark.parametrize("tag", ["div", "ul><li", "table><tr><td", "b", "a href='x'", "blockquote", "pre"])
def test_no_page_is_nested_too_deep(tag: str) -> None:
    page = f"<{tag}>" * 20_000 + "deep"
    assert len(extract_article(page).text) < 100_000


def test_many_hidden_parts_cost_no_more_than_their_number() -> None:
    assert extract_article("<p hidden>a</p>b" * 50_000).text.split() == ["b"] * 50_000


TAGS = ["<div>", "</div>", "<p>", "<li>", "</li>", "<ul>", "</ul>", "<ol>", "<td>", "<tr>", "</tr>", "<a>"]


@given(lists(sampled_from([*TAGS, "</a>", "<pre>", "</pre>", "<h2>", "</h2>", "<table>", "</table>", "x"])))
def test_every_mixture_of_tags_can_be_read(parts: list[str]) -> None:
    text = extract_article("".join(parts)).text
    assert text.count("x") == parts.count("x")
