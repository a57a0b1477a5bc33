"""Parts of pages that change the meaning are kept: in uploads, and in articles."""

from __future__ import annotations

import pytest

from agent.shared.html import parse_html, render_markdown
from agent.shared.html_meaning import unwrap_cdata
from agent.tools.community.readable import extract_article

LONG = "A sentence that is long enough to be a part of the article itself. " * 5
CONFLUENCE = (
    "<ac:structured-macro ac:name='{}'><ac:parameter ac:name='language'>bash</ac:parameter>"
    "<ac:plain-text-body><![CDATA[{}]]></ac:plain-text-body></ac:structured-macro>"
)
CASES = [
    ("<p>10<sup>6</sup> CO<sub>2</sub> m<sup>2</sup></p>", "10⁶ CO₂ m²"),
    ("<p>x<sup>a+b</sup> e<sup>−i</sup> 1<sup>st</sup></p>", "x^(a+b) e⁻ⁱ 1st"),
    ("<table><tr><th>do<tr><td><pre>cmd a\ncmd b</pre></table>", "| `cmd a`<br>`cmd b` |"),
    ("<table><tr><th>do<tr><td><code>cmd a<br/>cmd b</code></table>", "| `cmd a`<br>`cmd b` |"),
    ("<table><tr><th>do<tr><td><code>cmd a</code><br><code>cmd b</code></table>", "| `cmd a`<br>`cmd b` |"),
    (CONFLUENCE.format("code", "rm -r x && y > z\n\nnext"), "```bash\nrm -r x && y > z\n\nnext\n```"),
    (CONFLUENCE.format("noformat", "a < b"), "```bash\na < b\n```"),
    (
        "<ac:structured-macro ac:name='warning'><ac:rich-text-body><p>Careful.</p></ac:rich-text-body>"
        "</ac:structured-macro>",
        "> **Warning:**\n>\n> Careful.",
    ),
    (
        "<ac:task><ac:task-id>7</ac:task-id><ac:task-status>complete</ac:task-status><ac:task-body>do it"
        "</ac:task-body></ac:task>",
        "[x] do it",
    ),
    ("<ul><li><input type=checkbox checked> done<li><input type='checkbox'> open</ul>", "[x] done"),
    ("<ul><li><input type=checkbox checked> done<li><input type='checkbox'> open</ul>", "[ ] open"),
    ("<p><span role='checkbox' aria-checked='true'></span>done</p>", "[x] done"),
    (
        "<div class='admonition danger'><p class='admonition-title'>Danger</p><p>Never.</p></div>",
        "> Danger\n>\n> Never.",
    ),
    ("<div class='markdown-alert markdown-alert-caution'><p>Never.</p></div>", "> **Caution:**\n>\n> Never."),
    ("<aside class='warning'>Never.</aside>", "> **Warning:**\n>\n> Never."),
    ("<pre>one\n\n\ntwo</pre>", "```\none\n\n\ntwo\n```"),
    ("<pre><code class='language-sh'>one\n\ntwo\n</code></pre>", "```sh\none\n\ntwo\n```"),
    ("<ol><li value=7>a<li>b</ol>", "7. a\n\n8. b"),
    ("<ol start=7><li>a<li>b</ol>", "7. a\n8. b"),
    ("<ol reversed><li>a<li>b</ol>", "2. a\n\n1. b"),
    ("<ol type=a><li>a<li>b</ol>", "a. a\n\nb. b"),
    ("<ol type=I start=3><li>a<li>b</ol>", "III. a\n\nIV. b"),
    (
        "<p><math><mfrac><mi>a</mi><mn>2</mn></mfrac><mo>=</mo><msup><mi>x</mi><mn>2</mn></msup></math></p>",
        "a/2 = x²",
    ),
    (
        "<p><math><semantics><mi>x</mi><annotation encoding='application/x-tex'>\\frac{a}{b}</annotation>"
        "</semantics></math><span class='katex-html'>ab</span></p>",
        "$\\frac{a}{b}$",
    ),
    ("<p><math><msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt></math></p>", "√(x + 1)"),
]


@pytest.mark.parametrize(("part", "expected"), CASES)
def test_a_part_is_kept(part: str, expected: str) -> None:
    assert expected in render_markdown(parse_html(part))
    page = f"<main><h1>T</h1><p>{LONG}</p>{part}<p>{LONG}</p></main><footer>F</footer>"
    assert expected in extract_article(page).text


def test_sections_of_cdata() -> None:
    assert unwrap_cdata("a<![CDATA[<b>]]>c<![CDATA[d") == "a&lt;b&gt;c<![CDATA[d"
