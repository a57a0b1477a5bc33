"""Hypothesis strategies for Markdown: documents that an author meant, and noise made of markup."""

from __future__ import annotations

from hypothesis import strategies as st

WORDS = [
    "alpha",
    "beta.",
    "gamma,",
    "naïve",
    "cafe\u0301",
    "中文字符",
    "测试。",
    "שלום",
    "مرحبا",
    "👍🏽",
    "👨‍👩‍👧",
    "🇩🇪🇫🇷",
    "x2",
    "2026",
    "Done!",
    "snake_case",
    "a-b",
    "3.5",
]

words = st.sampled_from(WORDS)
plain = st.lists(words, min_size=1, max_size=30).map(" ".join)
short = st.lists(words, min_size=1, max_size=4).map(" ".join)
LETTERS = st.sampled_from(["alpha", "beta two", "中文 字符", "naïve x2"])


_WRAPS = st.sampled_from(["**{}**", "~~{}~~", "***{}***", "**~~{}~~**", "*`{}` and*", "__{}__"])
wrapped = st.builds(str.format, _WRAPS, LETTERS)
atoms = st.one_of(
    plain,
    wrapped,
    LETTERS.map(lambda t: f"*{t}*"),
    LETTERS.map(lambda t: f"`{t} **x**`"),
    LETTERS.map(lambda t: f"[{t}](https://example.com/{len(t)})"),
)
running = st.lists(atoms, min_size=1, max_size=6).map(" ".join)
paragraphs = st.lists(running, min_size=1, max_size=3).map("\n".join)

code_lines = st.lists(
    st.sampled_from(
        ["x = 1", "", "    return **kw", "`tick` ``", "| a | b |", "# no heading", "中文 = '👍'", "- y"]
    ),
    min_size=1,
    max_size=40,
).map("\n".join)


@st.composite
def fences(draw: st.DrawFn) -> str:
    run = draw(st.sampled_from(["```", "~~~", "````"]))
    language = draw(st.sampled_from(["", "python", "c++"]))
    return f"{run}{language}\n{draw(code_lines)}\n{run}"


@st.composite
def tables(draw: st.DrawFn) -> str:
    columns = draw(st.integers(1, 4))
    delimiter = (
        "|" + "|".join(draw(st.sampled_from(["---", ":--", ":-:", "--:"])) for _ in range(columns)) + "|"
    )
    rows = draw(st.lists(st.lists(short, min_size=columns, max_size=columns), min_size=1, max_size=25))
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    # the paragraph keeps a table from following another, which would look like a table cut in two
    return "\n".join([lines[0], delimiter, *lines[1:], "", "After the table."])


def _indented(text: str, by: int) -> str:
    return text.replace("\n", "\n" + " " * by)


@st.composite
def lists(draw: st.DrawFn, depth: int = 0) -> str:
    ordered = draw(st.booleans())
    items = []
    for number in range(draw(st.integers(1, 6))):
        marker = f"{number + 1}. " if ordered else "- "
        body = draw(st.sampled_from(["", "[ ] ", "[x] "])) + draw(running)
        if depth < 2 and draw(st.integers(0, 3)) == 0:
            body += "\n" + draw(lists(depth + 1))
        elif draw(st.integers(0, 7)) == 0:
            body += "\n\n" + draw(fences())
        items.append(marker + _indented(body, len(marker)))
    return "\n".join(items)


quotes = st.one_of(paragraphs, lists(), fences()).map(lambda t: "> " + t.replace("\n", "\n> "))
headings = st.tuples(st.integers(1, 6), short).map(lambda pair: "#" * pair[0] + " " + pair[1])
blocks = st.one_of(paragraphs, paragraphs, fences(), tables(), lists(), quotes, headings, st.just("***"))
documents = st.lists(blocks, min_size=1, max_size=12).map("\n\n".join)
"""Well-formed documents: all that is opened is closed."""

_NOISE = [
    "*",
    "**",
    "_",
    "~~",
    "`",
    "```",
    "~~~",
    "[",
    "](",
    ")",
    "![",
    "<",
    ">",
    "&amp;",
    "\\",
    "|",
    "---",
    "|--|",
]
_NOISE += [
    "# ",
    "- ",
    "1. ",
    "> ",
    "    ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "word",
    "字",
    "👍🏽",
    "e\u0301",
    "==",
    "<b>",
]
_NOISE += ["https://a.b/c", "+ ", "10) ", "***", "- [ ] ", "  - ", "\u200d", "\x00", "🇩🇪", "a. b"]
noise = st.lists(st.one_of(st.sampled_from(_NOISE), st.text(max_size=8)), max_size=120).map("".join)
"""Anything at all, with a taste for markup."""

texts = st.one_of(documents, noise, st.tuples(documents, noise).map("\n\n".join))
