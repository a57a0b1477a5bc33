"""What each rendering sample shows, by CSS selector: a number of elements, the text of the first one, or the
texts of all. `selector@name` are values of an attribute, `:root` is the whole message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EXPECTED: Mapping[str, Mapping[str, Any]] = {
    "commonmark-headings": {
        "h1": ["Harvest report", "Setext one"],
        "h2": ["Apples and pears", "Setext two"],
        "h2 em": "and",
        "h3": "With a trailing mark",
        "p": ["#Not a heading", "####### Seven marks are text"],
    },
    "commonmark-emphasis": {
        "em": ["one", "two", "five", "3", "nested", "emphasis with strong inside"],
        "strong": ["three", "four", "five", "Bold with nested emphasis", "strong"],
        "p:nth-child(1)": "one two three four five",
    },
    "commonmark-code-spans": {
        "code": ["make test", "a `tick` inside", "**stars**", "<b>", "two lines"],
    },
    "commonmark-lists": {
        "ol@start": [None, None, "7"],
        "ol": 3,
        "ul": 3,
        "li ul li": 2 + 2,
        "li li li": ["switch on", "wait"],
    },
    "commonmark-loose-list": {
        "ul": 1,
        ".block > ul > li": 2,
        "li:first-child p": 2,
        "li .code code": "echo inside",
    },
    "commonmark-quotes": {
        ".block > blockquote": 1,
        "blockquote blockquote p": "Inner line",
        "blockquote em": "line",
        "blockquote li": "item in a quote",
        ".block > p": "After the quote.",
    },
    "commonmark-code-blocks": {
        "figure.code": 3,
        "figure code": ["indented code <b>", 'puts "tilde" ~~~ still inside', 'no language & "quotes"'],
        ".language": ["Code", "ruby", "Code"],
        "b": 0,
    },
    "commonmark-links": {
        "a@href": [
            "https://example.com/a?b=1&c=2",
            "https://example.com/ref",
            "https://example.com/collapsed",
            "https://example.com/shortcut",
            "https://example.org/auto",
            "https://example.com/x_(y)",
            "https://example.com/a%20b",
        ],
        "a[target=_blank][rel='noopener noreferrer nofollow'][referrerpolicy=no-referrer]": 7,
    },
    "commonmark-breaks": {"p": "Soft break, hard break, backslash break.", "br": 3, "hr": 3},
    "commonmark-entities": {"p": "© &copy; € 😀 &nosuch; AT&T <b>"},
    "commonmark-escapes": {
        "p": "# no heading, [no link](x), `no code`, 1. no list, C:\\temp\\new, and a new line.",
        "h1, a, code, ol": 0,
    },
    "commonmark-tight-blocks": {
        "p": ["A paragraph", "quote right after"],
        "h1": "Heading right after",
        "ul > li": "list right after",
        "blockquote": "quote right after",
        "figure code": "let fence = 1",
        "ol > li": "ordered right after",
    },
    "commonmark-deep-nesting": {"blockquote": 40},
    "gfm-table": {
        "th": ["Item", "Price", "Stock"],
        "td": ["Lamp", "1,234.50", "yes", "Chair | stool", "a|b", "no", "Short", "", ""],
        "td.align-right": 3,
        "th.align-center": 1,
        ".table[tabindex='0'][role=group] > table": 1,
        "td code": "a|b",
    },
    "gfm-table-wide": {"th": 8, "tbody tr": 4, "td": 32},
    "gfm-table-no-outer-pipes": {"th": ["Name", "Age"], "td": ["Ada", "36", "Alan", "41"], "p": "After."},
    "gfm-table-broken": {"table": 0, "p": 2},
    "gfm-strikethrough": {"s": ["gone", "both"], "p": "gone and both, but 3 ~ 4 and a ~ alone stay."},
    "gfm-tasks": {
        "input": 4,
        "input[checked]": 3,
        "li": ["open", "done", "also done", "[] no task", "[ ]no task either", "numbered"],
        "li.task-item": 4,
    },
    "gfm-autolinks": {
        "a@href": [
            "https://example.com/path_with_underscores/x(y)",
            "https://www.example.com",
            "mailto:ann@example.com",
            "https://example.com/search?q=a&b=c#frag",
        ],
        "em": 0,
    },
    "gfm-footnotes": {
        ".note-ref button": ["1", "2", "1"],
        ".notes > ol > li": 2,
        ".notes li:first-child p": ["Celsius.", "With code in a second paragraph. ↩"],
        ".notes li:last-child": "Where the pressure is 1 atm. ↩",
        "p:first-child": "Water boils at 100 °C1 at sea level2, see again1. Missing[^nope].",
    },
    "gfm-details": {
        "details": 2,
        "summary": ["Steps in detail", "Open"],
        "summary b": "in detail",
        "details ol > li": 2,
        "details .code code": 'print("inside")',
        "details[open] p": "Short text",
        ".block > p": "After.",
    },
    "gfm-details-nested": {
        ".block > details": 1,
        "details details > summary": "Inner",
        "details details strong": "text",
        "details > p": ["Text", "Deep text", "Tail"],
    },
    "gfm-html-inline": {
        "kbd": ["Ctrl", "C"],
        "sub": "2",
        "sup": "2",
        "mark": "marked",
        "u": "under",
        "ins": "new",
        "del": "old",
        "small": "small",
        "abbr": "abbr",
        "q": "quoted",
        "br": 2,
        "abbr[title]": 0,
    },
    "gfm-html-blocks": {
        "h1": "Centred title",
        "p": ["Paragraph bold"],
        "p b": "bold",
        "table th": ["A", "B"],
        "td[colspan='2']": "x & y",
        "h3": "Raw heading",
        "blockquote": "Raw quote",
    },
    "gfm-html-unknown": {
        "p:first-child": (
            "<my-widget>custom</my-widget> and <Component prop={x} /> and List<String> stay visible, <!-- so"
            " does this -->."
        ),
        "strong": "still bold",
    },
    "math-inline": {".math": 5, ".math .katex": 5, ".math.display": 0, ".math.invalid": 0},
    "math-display": {".math.display .katex-display": 3, "p": ["Before", "after, and"], ".invalid": 0},
    "math-environments": {".math.display .katex-display": 2, ".invalid": 0},
    "math-fence": {".math.display .katex": 1, "figure.code .language": ["latex"]},
    "math-prices": {
        ".math": 0,
        "code": ["$HOME"],
        "p:first-child": (
            "It costs $5 and $6, or US$7.50; between $10-$20, or $1,000 (about 900$) per unit. Pay 5$ now"
            " and 6$ later."
        ),
    },
    "math-invalid": {".katex": 0, ".math.invalid": ["$\\nosuchcommand{x}$", "$$ \\left( x $$"]},
    "math-unfinished": {".math": 0, ".source": "$$ x = \\frac{-b \\pm \\sqrt{b^2 - 4ac}"},
    "math-unfinished-inline": {".math": 0, "em": 0, "p": "Let \\(\\alpha = \\{a_1, *b*"},
    "math-lists": {"li .katex": 3 + 0, ".katex-display": 3, "ol > li": 2, "blockquote .katex": 2},
    "math-table": {"td .katex": 2},
    "math-blank-lines": {".katex-display": 1, "li": "after"},
    "math-functions": {".katex-display": 2, ".math": 11, ".invalid": 0},
    "math-hostile": {"a": 0, "img": 0, ".math": 6},
    "math-cjk": {".katex": 2, "p": 1},
    "mermaid-flowchart": {".drawing img": 1, ".invalid": 0, "figure pre[hidden]": 1},
    "mermaid-sequence": {".drawing img": 1, ".invalid": 0},
    "mermaid-class-state": {".drawing img": 2, ".invalid": 0},
    "mermaid-er-pie": {".drawing img": 2, ".invalid": 0},
    "mermaid-gantt-mindmap": {".drawing img": 2, ".invalid": 0},
    "mermaid-invalid": {"img": 0, ".diagram.invalid pre:not([hidden])": "flowchart LR A[Never closed --> B{"},
    "mermaid-unfinished": {"img": 0, ".diagram.invalid pre:not([hidden])": "sequenceDiagram Ann->>B"},
    "mermaid-hostile": {".drawing img": 1, "a": 0},
    "mermaid-chinese": {".drawing img": 1},
    "habit-bold-headings": {
        "strong": ["1. Overview:", "two", "Speed:", "Cost:", "2. Next steps"],
        "li": ["Speed: fast", "Cost: low", "Today: call"],
        "em": "Today:",
    },
    "habit-nested-fence": {
        "figure.code": 1,
        "figure code": "# Title ```bash npm install ```",
        "p": ["Here is a README:", "Done."],
    },
    "habit-think": {"p": ["<think> The user wants x. </think>", "The answer is 42."], "em": "x"},
    "habit-citations": {"a": ["1", "2"], "p": "As reported【4†source】 and elsewhere 12, with a note [3]."},
    "habit-list-after-text": {
        "p": "Ingredients:",
        "ul > li": ["flour", "water"],
        "ol > li": ["mix", "bake Serve warm."],
    },
    "habit-code-with-path": {
        ".language": ["python", "ts", "c++"],
        "figure code": ["import os", "const x: number = 1", "int main() {}"],
    },
    "habit-table-breaks": {"td br": 2, "td li": ["a", "b"], "td:last-child": ["Firstsecondthird", "ab", "x"]},
    "habit-diff": {
        ".hljs-deletion": "-old line",
        ".hljs-addition": "+new line",
        ".language-json .hljs-attr": '"key"',
    },
    "habit-unclosed-fence": {
        "figure.code": 1,
        "figure code": "def f(): return '<b>'",
        ".hljs-keyword": "def",
    },
    "habit-unclosed-emphasis": {
        "p": "A **bold start and `code never ends and [link](https://exa",
        "strong": 0,
    },
    "habit-paths": {
        "strong, em": 0,
        "p": "Edit __init__.py and src/**/test_*.py, then open /etc/my_app_config/x_y or"
        " C:\\Users\\a_b\\c_d.",
        "ol@start": ["2"],
    },
    "habit-image": {
        "img": 0,
        "a.image@href": ["https://images.example/bike.png", "https://images.example/b.png"],
        "a.image .label": ["A red bicycle", "raw"],
        "a.image .host": ["Open image from images.example", "Open image from images.example"],
        "a:not(.image)": ["Build"],
    },
    "habit-escaped-math": {".math": 0, "p": "The price [1] list: [see below](x). Escaped (not a formula)."},
    "habit-crlf": {"h1": "Title", "p": "line one line two", "br": 1, "li": ["a", "b"], "figure code": "ls"},
    "habit-internal-links": {
        "a@href": ["#/docs/how-to/connect-slack.md", "#/settings/models"],
        "a[target]": 0,
    },
    "habit-long-code": {"figure.code": 1, ".line": 40 * 5 - 2, ".hljs-title": 40},
    "script-chinese": {
        "strong": ["注意：", "重复提交", "“引号”"],
        "em": "强调",
        "s": "删除。",
        "a@href": [
            "https://example.com/%E6%96%87%E6%A1%A3",
            "https://www.example.com",
            "mailto:a@example.com",
        ],
    },
    "script-japanese-korean": {"strong": ["「重要」", "カスタム。", "강조(emphasis)"], "em": "다음"},
    "script-arabic": {
        "p[dir=auto]:dir(rtl)": 1,
        "li:dir(rtl)": 2,
        "p:dir(ltr)": "English paragraph.",
        "table:dir(rtl)": 1,
    },
    "script-hebrew-mixed": {"p:dir(rtl)": 2, "li:dir(rtl)": "אחד", "li:dir(ltr)": "Two", "code": ["code"]},
    "script-hindi-thai": {"strong": ["महत्वपूर्ण", "ข้อความ"]},
    "script-emoji": {"strong": ["family", "🚀 launch"], "li": "🍎 apple"},
    "hostile-script": {
        "p": [
            "<script>window.hacked = 1</script>",
            'text <script src="https://evil.example/x.js"></script> more',
            "<style>body { display: none }</style>",
        ]
    },
    "hostile-handlers": {
        "b": "bold",
        "b[class], b[id], b[style]": 0,
        "details[open] > summary": "s",
        "img": 0,
    },
    "hostile-links": {"a@href": ["https://ok.example/%22onclick=alert(1)"]},
    "hostile-frames": {"a": 0, "button": 0},
    "hostile-breakout": {"h1": "outside", "td details": 1},
    "hostile-mutation": {"math, noscript, [title]": 0, "a[href]": 0},
    "hostile-fence-info": {"figure.code": 3, "figure code": ["x", "y", "z"]},
    "hostile-clobber": {".notes li": 2, "a": ["proto"]},
    "hostile-pathological": {"table": 0, ":root": 1},
}
