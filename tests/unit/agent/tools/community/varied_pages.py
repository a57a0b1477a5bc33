"""Pages of many kinds, each with what a reader came for and what surrounds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_HEAD = (
    "<header class='top'><a href='/'>Home</a> <a href='/about'>About us</a> <a "
    "href='/jobs'>Careers</a></header>"
)
_FOOT = (
    "<footer><p>© 2026 Example Ltd. All rights reserved. <a href='/privacy'>Privacy policy</a></p></footer>"
)
_COOKIES = (
    "<div class='cookie-banner'><p>We and our 812 partners use cookies to personalise advertisements. "
    "<button>Accept all</button></p></div>"
)


@dataclass(frozen=True, slots=True)
class VariedPage:
    """A page, and texts that its Markdown has to contain (`kept`) and should not (`noise`)."""

    name: str
    html: str
    kept: Sequence[str]
    noise: Sequence[str] = ()


def _page(title: str, body: str) -> str:
    return f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>"


def _prose(subject: str, count: int = 4) -> Sequence[str]:
    """Paragraphs as an author writes them, each with a sentence of its own."""
    middle = (
        "The harbour authority measured the tide every ten minutes, and the figures were higher "
        "than expected.",
        "Nobody had planned for that, although the report of 2019 had described the same weakness in detail.",
        "Two engineers, who asked not to be named, said that the gates would have to be replaced "
        "within a year.",
        "In the end the council agreed, by seven votes to five, to pay for a study and to close the "
        "lower road.",
    )
    return [
        f"<p>Point {at + 1} about {subject}. {middle[at % 4]} {middle[(at + 1) % 4]}</p>"
        for at in range(count)
    ]


def _links(words: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li><a href='/{at}'>{word}</a></li>" for at, word in enumerate(words)) + "</ul>"


_RELATED = _links(["Ten gates you must see", "Why the tide rises", "Our best walks of the year"])
_MENU = _links(["News", "Sport", "Weather", "Opinion", "Shop", "Sign in"])

ARTICLE = VariedPage(
    "blog article",
    _page(
        "The gates | Blog",
        f"{_COOKIES}{_HEAD}<nav>{_MENU}</nav><main><article><h1>The gates</h1><p class='byline'>By "
        f"Ann Lee</p>"
        f"{''.join(_prose('the gates', 6))}<figure><img src='a.jpg'><figcaption>The lower gate in May"
        "</figcaption></figure><h2>What comes next</h2>"
        f"{''.join(_prose('the future', 3))}</article><section class='related'><h3>Related stories</h3>"
        f"{_RELATED}</section></main>{_FOOT}",
    ),
    ("Point 1 about the gates", "Point 6 about", "## What comes next", "Point 3 about the future"),
    ("812 partners", "Careers", "Ten gates you must see", "All rights reserved"),
)
DOCS = VariedPage(
    "documentation with code",
    _page(
        "Install - Tool docs",
        f"{_HEAD}<div class='sidebar'>{_links([f'Chapter {n}' for n in range(40)])}</div>"
        "<div role='main' class='document'><h1>Install</h1><p>Install the tool with the package "
        "manager of your "
        "system, then check that it runs. You need Python 3.11 or later, and about 40 MB of disk space.</p>"
        "<div class='highlight'><pre><code>pip install tool\ntool --check\nif failed:\n    retry()"
        "</code></pre></div>"
        "<h2>Options</h2><table><thead><tr><th>Option</th><th>Meaning</th></tr></thead><tbody>"
        "<tr><td><code>--check</code></td><td>Check the installation</td></tr>"
        "<tr><td><code>--quiet</code></td><td>Print nothing</td></tr></tbody></table>"
        "<div class='admonition warning'><p>Never run it as root.</p></div>"
        "<p>See <a href='config.html'>the configuration</a> for everything else that can be set.</p></div>"
        f"<div class='rst-footer'><a href='/prev'>Previous chapter</a></div>{_FOOT}",
    ),
    (
        "# Install",
        "```\npip install tool\ntool --check\nif failed:\n    retry()\n```",
        "| `--quiet` | Print nothing |",
        "Never run it as root.",
        "[the configuration](https://site.test/docs/config.html)",
    ),
    ("Chapter 17", "Careers"),
)
TABLE = VariedPage(
    "page of a table",
    _page(
        "Results",
        f"{_HEAD}<nav>{_MENU}</nav><div id='content'><h1>Results of the league</h1><p>After 30 "
        f"games.</p><table>"
        "<tr><th>Club</th><th>Points</th><th>Goals</th></tr>"
        + "".join(f"<tr><td>Club {n}</td><td>{90 - n}</td><td>{n * 3}:{n}</td></tr>" for n in range(1, 61))
        + f"</table></div><div class='ads'><a href='/ad'>Bet now with bonus code</a></div>{_FOOT}",
    ),
    ("| Club | Points | Goals |", "| Club 1 | 89 | 3:1 |", "| Club 60 | 30 | 180:60 |"),
    ("All rights reserved", "Careers"),
)
FORUM = VariedPage(
    "forum thread",
    _page(
        "Pump does not start - Forum",
        f"{_HEAD}<div class='nav'>{_MENU}</div><div class='thread'><h1>Pump does not start</h1>"
        + "".join(
            f"<div class='post comment' id='p{n}'><div class='author'>user{n}</div><div "
            f"class='body'><p>Reply "
            f"{n}: I had that too, and changing fuse F{n} helped after a day of trying everything "
            f"else.</p></div>"
            "<div class='actions'><a href='#'>Quote</a> <a href='#'>Report</a></div></div>"
            for n in range(12)
        )
        + f"</div>{_FOOT}",
    ),
    # trafilatura takes the last reply for a footer.
    ("Pump does not start", "Reply 0:", "fuse F7 helped", "Reply 10:"),
    ("All rights reserved", "Careers"),
)
QUESTION = VariedPage(
    "question with answers",
    _page(
        "How do I sort? - Q&amp;A",
        f"{_HEAD}<div id='content'><h1>How do I sort a list by two keys?</h1><div class='question'>"
        f"<p>I have tuples "
        "and want to sort by the second, then by the first value, the second one descending.</p></div>"
        "<div class='answers'><div class='answer accepted'><p>Negate the number in the key:</p>"
        "<pre><code>sorted(rows, key=lambda row: (-row[1], row[0]))</code></pre></div>"
        "<div class='answer'><p>Sort twice, since the sort is stable, first by the less important "
        "key.</p></div>"
        f"</div></div><div id='sidebar'><h4>Hot network questions</h4>{_RELATED}</div>{_FOOT}",
    ),
    ("second one descending", "sorted(rows, key=lambda row: (-row[1], row[0]))", "Sort twice"),
    ("Careers", "Hot network questions", "Why the tide rises"),
)
NEWS = VariedPage(
    "news without semantic elements",
    _page(
        "Council votes",
        f"{_COOKIES}<div class='hdr'>{_MENU}</div><div class='page'><div class='col-8'><div class='story'>"
        "<h1>Council votes to close the lower road</h1><span class='date'>25 November 2026</span>"
        f"{''.join(_prose('the vote', 3))}<div class='newsletter'><p>Sign up for our daily "
        f"newsletter and never "
        f"miss a story.</p><button>Subscribe</button></div>{''.join(_prose('the road', 4))}"
        "<div class='share'><a href='#'>Share on social media</a></div></div></div>"
        f"<div class='col-4 sidebar'><h3>Most read"
        f"</h3>{_RELATED}</div></div><div class='ftr'>© 2026 Example Ltd. "
        "All rights reserved.</div>",
    ),
    ("Council votes to close", "Point 3 about the vote", "Point 4 about the road"),
    ("812 partners", "Most read", "Ten gates you must see", "All rights reserved"),
)
CHINESE = VariedPage(
    "Chinese article",
    _page(
        "水闸的故事",
        "<div class='nav'><a href='/'>首页</a><a href='/n'>新闻</a><a href='/s'>体育</a></div>"
        "<div class='content'><h1>水闸的故事</h1>"
        + "".join(
            f"<p>第{n}段：港务局每十分钟测量一次潮位，数据比预期的要高。虽然二〇一九年的报告已经详细描述了同样的"
            "弱点，但是没有人为此做过准备。两位工程师表示，闸门必须在一年之内更换。</p>"
            for n in range(1, 6)
        )
        + "</div><div class='side'><h4>相关推荐</h4><ul><li><a "
        "href='/1'>最美的十座水闸</a></li><li><a href='/2'>"
        "潮水为什么上涨</a></li></ul></div><div class='foot'>版权所有 京ICP备12345678号</div>",
    ),
    ("水闸的故事", "第1段", "第5段", "必须在一年之内更换"),
    ("最美的十座水闸", "京ICP备"),
)
LIST = VariedPage(
    "long list of links",
    _page(
        "Awesome pumps",
        f"{_HEAD}<main><h1>Awesome pumps</h1><p>A list of programs for pumps.</p><h2>Control</h2><ul>"
        + "".join(f"<li><a href='https://p.test/{n}'>pump{n}</a> - drives model {n}.</li>" for n in range(80))
        + f"</ul></main>{_FOOT}",
    ),
    ("A list of programs", "[pump0](https://p.test/0) - drives model 0.", "drives model 79."),
    ("All rights reserved", "Careers"),
)
SHELL = VariedPage(
    "shell of a program in JavaScript",
    "<!doctype html><html><head><title>App</title><script src='/app.js'></script></head><body><div "
    "id='root'></div>"
    "<noscript>You need to enable JavaScript to run this app.</noscript></body></html>",
    (),
    ("enable JavaScript",),
)
DOWNLOAD = VariedPage(
    "page that only leads to a file",
    _page(
        "Annual report",
        f"{_HEAD}<main><h1>Annual report 2025</h1><p><a href='/files/report-2025.pdf'>Download the "
        f"report (PDF, 3 MB)"
        f"</a></p></main>{_FOOT}",
    ),
    ("Annual report 2025", "[Download the report (PDF, 3 MB)](https://site.test/files/report-2025.pdf)"),
)
SHORT = VariedPage(
    "short answer",
    _page("Rate", "<h1>EUR/USD</h1><div class='rate'>1.0832</div><div>updated 10:30</div>"),
    ("EUR/USD", "1.0832", "updated 10:30"),
)
PRODUCT = VariedPage(
    "product",
    _page(
        "Pump X200",
        f"{_HEAD}<nav>{_MENU}</nav><div class='product'><h1>Pump X200</h1><div class='price'>€ 249.00</div>"
        "<p>The X200 moves 4,000 litres an hour and starts by itself after a power cut.</p>"
        "<h2>Specification</h2>"
        "<dl><dt>Power</dt><dd>550 W</dd><dt>Weight</dt><dd>9.2 kg</dd></dl><h2>In the box</h2><ul>"
        "<li>Pump</li>"
        f"<li>Hose, 5 m</li></ul></div><div class='upsell'>Customers also bought {_RELATED}</div>{_FOOT}",
    ),
    ("Pump X200", "249.00", "4,000 litres", "550 W", "9.2 kg", "Hose, 5 m"),
    ("All rights reserved",),
)
RECIPE = VariedPage(
    "recipe",
    _page(
        "Onion soup",
        f"{_HEAD}<article><h1>Onion soup</h1><p>My grandmother made it every Friday, and the smell "
        f"filled the house."
        "</p><h2>Ingredients</h2><ul><li>6 onions</li><li>1.5 l stock</li><li>200 g cheese</li>"
        "</ul><h2>Method</h2>"
        "<ol><li>Slice the onions.</li><li>Fry them for 40 minutes.</li><li>Add the stock.</li>"
        "</ol></article>"
        f"<aside>{_RELATED}</aside>{_FOOT}",
    ),
    ("- 1.5 l stock", "Fry them for 40 minutes.", "3. Add the stock."),
    ("Ten gates", "All rights reserved"),
)
WIKI = VariedPage(
    "encyclopedia",
    _page(
        "Lock (water) - Wiki",
        f"<div id='mw-navigation'>{_MENU}</div><div id='content'><h1>Lock (water)</h1><div id='bodyContent'>"
        "<table class='infobox'><tr><th>Type</th><td>Chamber</td></tr><tr><th>Built</th><td>1842"
        "</td></tr></table>"
        f"{''.join(_prose('locks', 4))}<h2>History<span class='edit'>[<a href='/e'>edit</a>]</span></h2>"
        f"{''.join(_prose('history', 3))}<h2>References</h2><ol><li>Smith, J. (1990). Locks of the "
        f"world.</li></ol>"
        f"</div></div>{_FOOT}",
    ),
    ("1842", "Point 4 about locks", "## History", "Point 3 about history", "Smith, J. (1990)"),
    ("Sign in", "All rights reserved"),
)
CHANGES = VariedPage(
    "release notes",
    _page(
        "Releases",
        f"{_HEAD}<main><h1>Releases</h1>"
        + "".join(
            f"<section><h2>Version 2.{n}</h2><ul><li>Add option <code>--new{n}</code></li><li>Fix "
            f"bug #{n}00</li></ul>"
            "</section>"
            for n in range(9, -1, -1)
        )
        + f"</main>{_FOOT}",
    ),
    ("## Version 2.9", "`--new9`", "## Version 2.0", "Fix bug #300"),
    ("All rights reserved", "Careers"),
)
BREAKS = VariedPage(
    "text with line breaks",
    _page(
        "Terms",
        f"<table><tr><td class='menu'>{_MENU}</td><td class='text'><b>Terms of use</b><br><br>"
        + "<br><br>".join(
            f"{n}. The user shall return the pump within {n} days, in the state in which it was "
            f"received, and pay "
            "for any damage that is not the result of normal use."
            for n in range(1, 9)
        )
        + "</td></tr></table>",
    ),
    ("Terms of use", "within 1 days", "within 8 days"),
    (),
)
FRONT = VariedPage(
    "front page of headlines",
    _page(
        "Daily Harbour",
        f"{_HEAD}<main>"
        + "".join(
            f"<div class='teaser'><h2><a href='/story/{n}'>Headline {n} of the day</a></h2>"
            f"<p>Teaser {n} in a "
            "sentence.</p></div>"
            for n in range(15)
        )
        + f"</main>{_FOOT}",
    ),
    ("[Headline 0 of the day](https://site.test/story/0)", "Headline 14", "Teaser 14"),
    ("All rights reserved", "Careers"),
)
REFERENCE = VariedPage(
    "reference of an interface",
    _page(
        "api",
        f"{_HEAD}<div class='sphinxsidebar'>{_links([f'module {n}' for n in range(30)])}</div><div "
        f"class='body'>"
        "<h1>api</h1><dl class='function'><dt id='open'><code>open(path, mode='r')</code></dt><dd>"
        "<p>Open a file and "
        "return a stream. Raises an error if the file cannot be opened.</p><dl><dt>path</dt>"
        "<dd>Where it is.</dd>"
        "</dl></dd><dt id='close'><code>close()</code></dt><dd><p>Close the stream. It may be "
        "called twice.</p></dd>"
        f"</dl></div>{_FOOT}",
    ),
    ("open(path, mode='r')", "Raises an error", "Where it is.", "It may be called twice."),
    ("module 17", "Careers"),
)
VARIED_PAGES = (
    *(
        ARTICLE,
        DOCS,
        TABLE,
        FORUM,
        QUESTION,
        NEWS,
        CHINESE,
        LIST,
        SHELL,
        DOWNLOAD,
        SHORT,
        PRODUCT,
        RECIPE,
        WIKI,
    ),
    *(CHANGES, BREAKS, FRONT, REFERENCE),
)
