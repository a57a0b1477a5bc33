"""Markdown to test with: documents that an author meant, and noise made of markup.

Hypothesis chooses the seeds; the texts themselves come from `random`, which is a hundred times faster than
drawing them piece by piece.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hypothesis import settings
from hypothesis import strategies as st

from tests.harness.profile import examples

steady = settings(deadline=None, derandomize=True, max_examples=examples(60))
"""The same examples on every run, however slow the machine."""

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
    "x2",
]
WORDS += ["👨\u200d👩\u200d👧", "🇩🇪🇫🇷", "2026", "Done!", "snake_case", "a-b", "3.5"]
LETTERS = ["alpha", "beta two", "中文 字符", "naïve x2"]
WRAPS = ["**{}**", "~~{}~~", "***{}***", "**~~{}~~**", "*`{}` and*", "__{}__", "*{}*", "`{} **x**`"]
WRAPS += ["[{}](https://example.com/a_b)"]
CODE = ["x = 1", "", "    return **kw", "`tick` ``", "| a | b |", "# no heading", "中文 = '👍'", "- y"]
NOISE = [
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
NOISE += [
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
]
NOISE += [
    "https://a.b/c",
    "+ ",
    "10) ",
    "***",
    "- [ ] ",
    "  - ",
    "\u200d",
    "\x00",
    "🇩🇪",
    "a. b",
    "<b>",
    "\r",
    "%",
]


SCHEMES = ["http://", "https://", "mailto:", "//", "/mnt/", "tel:", "xn--"]
HOSTS = ["wiki", "维基", "bücher", "Ünix.", "xn--bcher-kva", "localhost", "a.example", ":99999", "@"]
PATHS = ["/", "?", "#", "部署", "👍", "a b", "%", "%25", "%41", "4", "%CE", "%E9%83", "&amp;", '"', "\\"]


def words(random: Random, most: int) -> str:
    return " ".join(random.choices(WORDS, k=random.randint(1, most)))


def running(random: Random) -> str:
    pieces = []
    for _ in range(random.randint(1, 6)):
        wrapped = random.choice(WRAPS).format(random.choice(LETTERS))
        pieces.append(random.choice([words(random, 30), wrapped]))
    return " ".join(pieces)


def paragraph(random: Random) -> str:
    return "\n".join(running(random) for _ in range(random.randint(1, 3)))


def fence(random: Random) -> str:
    run = random.choice(["```", "~~~", "````"])
    code = "\n".join(random.choices(CODE, k=random.randint(1, 40)))
    return f"{run}{random.choice(['', 'python', 'c++'])}\n{code}\n{run}"


def table(random: Random) -> str:
    columns = random.randint(1, 4)
    rows = [
        "| " + " | ".join(words(random, 4) for _ in range(columns)) + " |"
        for _ in range(random.randint(1, 25))
    ]
    rows.insert(1, "|" + "|".join(random.choices(["---", ":--", ":-:", "--:"], k=columns)) + "|")
    # the paragraph keeps a table from following another, which would look like a table cut in two
    return "\n".join([*rows, "", "After the table."])


def bullet_or_number(random: Random, depth: int = 0) -> str:
    ordered = random.random() < 0.5
    items = []
    for number in range(random.randint(1, 6)):
        marker = f"{number + 1}. " if ordered else "- "
        body = random.choice(["", "", "[ ] ", "[x] "]) + running(random)
        if depth < 2 and random.random() < 0.25:
            body += "\n" + bullet_or_number(random, depth + 1)
        elif random.random() < 0.1:
            body += "\n\n" + fence(random)
        items.append(marker + body.replace("\n", "\n" + " " * len(marker)))
    return "\n".join(items)


def quote(random: Random) -> str:
    inner = random.choice([paragraph, bullet_or_number, fence])(random)
    return "> " + inner.replace("\n", "\n> ")


def heading(random: Random) -> str:
    return "#" * random.randint(1, 6) + " " + words(random, 4)


BLOCKS: list[Callable[[Random], str]] = [paragraph, paragraph, fence, table, bullet_or_number, quote, heading]


def document(random: Random, most: int = 10) -> str:
    blocks = [random.choice(BLOCKS)(random) for _ in range(random.randint(1, most))]
    return "\n\n".join(random.choice(["", "***\n\n"]) + block for block in blocks)


def scrap(random: Random, most: int = 120) -> str:
    return "".join(random.choices(NOISE, k=random.randint(0, most)))


def mixed(random: Random, most: int = 10) -> str:
    kind = random.randrange(3)
    if kind == 0:
        return document(random, most)
    return scrap(random) if kind == 1 else document(random, most) + "\n\n" + scrap(random)


def address(random: Random) -> str:
    host = random.choices(HOSTS, k=random.randint(1, 3))
    path = random.choices([*PATHS, "\x01"], k=random.randint(0, 8))
    return random.choice(SCHEMES) + "".join(host + path)


def _from(make: Callable[[Random], str]) -> st.SearchStrategy[str]:
    return st.integers(0, 2**32).map(lambda seed: make(Random(seed)))


documents = _from(document)
"""Well-formed documents: all that is opened is closed."""

noise = st.one_of(_from(scrap), st.text(max_size=200))
"""Anything at all, with a taste for markup."""

texts = st.one_of(_from(mixed), noise)
addresses = _from(address)
"""Addresses of links, which markdown-it encodes in part."""

long_documents = _from(lambda random: document(random, 40))
long_texts = _from(lambda random: mixed(random, 40))
