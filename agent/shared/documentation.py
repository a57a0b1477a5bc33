"""The shipped documentation: its pages, and full-text search over their sections.

The index is SQLite's FTS5 in memory, with the Porter stemmer. It is built at first use from some 60 pages,
which takes about 0.1 s. Everything here blocks.
"""

from __future__ import annotations

import math
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

FOLDERS = ("", "tutorial", "howto", "reference")
"""Folders below docs/ that are shipped; the others are for developers."""
TITLE_WEIGHT, HEADING_WEIGHT, TEXT_WEIGHT = 4.0, 6.0, 1.0
MAX_TERMS = 24
"""Maximum number of words of a query; the rest is ignored."""
LONGEST = 2000
"""Maximum number of characters of a question; the rest is ignored."""
SOFT = "~"
"""Beginning of a word that an answer probably has, such as a duration; it is not required."""
_SOFT_RARITY, _SOFT_HEADED, _SOFT_FOUND = 3.0, 3.0, 1.5
_NAMED_ANYWAY = 0.2
"""Share of a word's weight in the paragraphs of a section whose name has the word."""
_UNKNOWN_HAN = 0.5
"""Weight of a Chinese word without a translation, which often is a filler."""
_TOKENIZE = "tokenize='porter unicode61'"
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_HAN_RUN = re.compile(r"[\u4e00-\u9fff]+")
_HEADING = re.compile(r"^(#{1,3}) (.+)$")
_BLOCK = re.compile(r"^ *(?:[-*+] |\d+[.)] |#|>|\||<)")
"""Beginning of a line that starts a block of its own."""
_WHOLE = re.compile(r"^ *(?:#|\||<)")
"""Beginning of a line that the next one does not continue."""
_FENCE = re.compile(r"^ *(```+|~~~+)")
_COMMENT = re.compile(r"<!--.*?-->\n*", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)\n*")
_LINK = re.compile(r"(?<!!)\[([^\]\[]+)\]\(([^)\s]+)\)")
_PAGE = re.compile(r"[a-z0-9]+(?:[-/][a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class DocSection:
    """A part of a page under one heading ("" for the text before the first one), as Markdown.

    `page` is the path below docs/ without its ending, such as `howto/connect-slack`.
    """

    page: str
    title: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class DocMatch:
    """A found section.

    `coverage`, from 0 to 1, is the share of the query's words in it, by their rarity; `named` is the same for
    its title and heading alone.
    """

    section: DocSection
    coverage: float
    named: float


class Documentation:
    """The pages in a folder that is laid out like docs/."""

    def __init__(self, folder: Path) -> None:
        self.pages: dict[str, str] = {}
        for name in FOLDERS:
            for file in sorted((folder / name).glob("*.md")):
                page = f"{name}/{file.stem}".strip("/")
                if _PAGE.fullmatch(page):
                    self.pages[page] = _IMAGE.sub("", _COMMENT.sub("", file.read_text(encoding="utf-8")))
        self.sections = [one for page, text in self.pages.items() for one in _split_page(page, text)]
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute(f"CREATE VIRTUAL TABLE part USING fts5(title, heading, text, {_TOKENIZE})")
        rows = ((one.title, one.heading or one.title, one.text) for one in self.sections)
        self._db.executemany("INSERT INTO part VALUES (?, ?, ?)", rows)

    def search(self, words: Sequence[str], limit: int = 10) -> list[DocMatch]:
        """Return the sections with these words, the best first. `|` separates the alternatives for a word."""
        terms = list(dict.fromkeys(words))[:MAX_TERMS]
        soft, terms = [one for one in terms if one[0] == SOFT], [one for one in terms if one[0] != SOFT]
        with self._lock:
            found = [(self._match(term), self._match(term, "{title heading} : ")) for term in terms]
            headed = Counter(row for term in (*terms, *soft) for row in self._match(term, "heading : "))
            hints = [(self._match(term), self._match(term, "heading : ")) for term in soft]
        rarities = [
            self._rarity(len(rows)) * (1 if rows or not _HAN_RUN.search(term) else _UNKNOWN_HAN)
            for term, (rows, _) in zip(terms, found, strict=True)
        ]
        scores: dict[int, float] = {}
        covered: dict[int, float] = {}
        named: dict[int, float] = {}
        for (rows, titled), rarity in zip(found, rarities, strict=True):
            for row, rank in rows.items():
                scores[row] = scores.get(row, 0.0) + rank
                covered[row] = covered.get(row, 0.0) + rarity / sum(rarities)
                named[row] = named.get(row, 0.0) + (rarity / sum(rarities) if row in titled else 0.0)
        for row in scores:
            section = self.sections[row]
            heading = query_words(section.heading or section.title)
            fit = headed[row] / max(1, sum(one[0] != SOFT for one in heading))
            scores[row] *= covered[row] ** 2 * (1 + named[row]) * (1 + min(fit, 1)) * self._prior(section)
            for rows, titled in hints:
                scores[row] *= _SOFT_HEADED if row in titled else _SOFT_FOUND if row in rows else 1
        best = sorted(scores, key=lambda row: (-scores[row], row))
        return [DocMatch(self.sections[row], covered[row], named[row]) for row in best[:limit]]

    def weigh_texts(self, words: Sequence[str], texts: Sequence[str], name: str) -> list[float]:
        """Return the rarity of the words in each text. Those in `name`, of all texts, hardly count."""
        weights = [0.0] * len(texts)
        with self._lock, closing(sqlite3.connect(":memory:")) as db:
            db.execute(f"CREATE VIRTUAL TABLE part USING fts5(text, {_TOKENIZE})")
            db.executemany("INSERT INTO part VALUES (?)", [(one,) for one in (name, *texts)])
            for term in list(dict.fromkeys(words))[:MAX_TERMS]:
                rarity = _SOFT_RARITY if term[0] == SOFT else self._rarity(len(self._match(term)))
                shares: dict[int, float] = {}
                for word in term.removeprefix(SOFT).split("|"):
                    sql = "SELECT rowid - 2 FROM part WHERE part MATCH ?"
                    rows = {row for (row,) in db.execute(sql, (_expression(word),))}
                    share = _NAMED_ANYWAY if -1 in rows else 1.0
                    shares |= {row: max(share, shares.get(row, 0.0)) for row in rows - {-1}}
                for row, share in shares.items():
                    weights[row] += rarity * share
        return weights

    def _rarity(self, sections: int) -> float:
        """Return the weight of a word that this number of sections has."""
        return math.log(1 + len(self.sections) / (0.5 + sections))

    def _prior(self, section: DocSection) -> float:
        """Return how likely a section is meant: guides before reference."""
        kind = 1.0 if section.page.startswith("howto/") else 0.8
        if section.page in _load_vocabulary()["developers"]:
            kind = 0.35
        return kind

    def _match(self, term: str, columns: str = "") -> dict[int, float]:
        """Return the rank of each section that contains the term in these columns."""
        query = columns + _expression(term)
        weights = (TITLE_WEIGHT, HEADING_WEIGHT, TEXT_WEIGHT)
        sql = "SELECT rowid - 1, -bm25(part, ?, ?, ?) FROM part WHERE part MATCH ?"
        return dict(self._db.execute(sql, (*weights, query)))

    def link_pages(self, page: str, text: str) -> str:
        """Return text of a page with links to pages of the web console; other relative ones become text."""

        def replace(found: re.Match[str]) -> str:
            label, target = found[1], found[2]
            if target.startswith(("https://", "http://")):
                return found[0]
            other = _resolve(page, target)
            return f"[{label}]({page_link(other)})" if other in self.pages else label

        return _LINK.sub(replace, text)


def _expression(term: str) -> str:
    """Return the query for any of a word's alternatives."""
    return "(" + " OR ".join(f'"{word}"' for word in term.removeprefix(SOFT).split("|")) + ")"


def _resolve(page: str, target: str) -> str:
    """Return the page that a relative link leads to."""
    path = PurePosixPath(page).parent
    for part in target.partition("#")[0].removesuffix(".md").split("/"):
        path = path.parent if part == ".." else path / part
    return page if target.startswith("#") else str(path)


def page_link(page: str) -> str:
    """Return the address of a page in the web console."""
    return f"#/docs/{page}"


@cache
def _load_vocabulary() -> Mapping[str, Any]:
    file = Path(__file__).with_name("documentation.yaml")
    found: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


def translate_title(page: str, title: str, language: str) -> str:
    """Return a page's title in the language of the question."""
    return str(_load_vocabulary()["titles"].get(page, title)) if language == "zh" else title


def query_words(question: str) -> list[str]:
    """Return the words of an English or Chinese question for `search`.

    Words that an answer probably has begin with SOFT. Unknown Chinese words stay, since a question about them
    may have no answer.
    """
    question = question[:LONGEST]
    for page, title in _load_vocabulary()["titles"].items():
        if len(title) > 2 and title in question:
            question = question.replace(title, f" {PurePosixPath(page).name.replace('-', ' ')} ")
    known, ignored = _load_vocabulary()["alternatives"], _load_vocabulary()["ignored"].split()
    question, words = question.casefold().replace("’", "'"), list[str]()
    for phrase in _load_vocabulary()["phrases"]:
        if found := re.search(phrase["pattern"], question, re.ASCII):
            words += phrase["words"].split()
            if not phrase["words"].startswith(SOFT):
                question = f"{question[: found.start()]} {question[found.end() :]}"
    latin = _WORD.findall(_HAN_RUN.sub(" ", question))
    words += [one for word in latin if word not in ignored for one in known.get(word, word).split()]
    for run in _HAN_RUN.findall(question):
        words += _translate(run)
    return words


def _translate(run: str) -> Sequence[str]:
    vocabulary, found = _load_vocabulary(), list[str]()
    known: Mapping[str, str] = vocabulary["words"]
    for word in sorted(known, key=len, reverse=True):
        if word in run:
            found += known[word].split()
            run = run.replace(word, " ")
    for word in sorted(vocabulary["stop"], key=len, reverse=True):
        run = run.replace(word, " ")
    return [*found, *(word for word in run.split() if len(word) > 1)]


def _split_page(page: str, text: str) -> Iterator[DocSection]:
    title, heading, lines, fence = "", "", list[str](), ""
    for line in text.splitlines():
        if (mark := _FENCE.match(line)) and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        found = None if fence else _HEADING.match(line)
        if found is None:
            lines.append(line)
            continue
        if body := _unwrap(lines):
            yield DocSection(page, title, heading, body)
        title, heading = (found[2], "") if len(found[1]) == 1 else (title, found[2])
        lines = []
    if body := _unwrap(lines):
        yield DocSection(page, title, heading, body)


def _unwrap(lines: Sequence[str]) -> str:
    """Return Markdown with each paragraph on one line, since chats show line breaks as they are written."""
    joined, fence, goes_on = list[str](), "", False
    for line in lines:
        mark = _FENCE.match(line)
        if goes_on and line.strip() and not mark and not _BLOCK.match(line):
            joined[-1] = f"{joined[-1].rstrip()} {line.strip()}"
            continue
        joined.append(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        goes_on = bool(line.strip()) and not fence and not mark and not _WHOLE.match(line)
    return "\n".join(joined).strip()


@cache
def load_documentation() -> Documentation:
    """Return the documentation of this installation, read once."""
    inside = Path(__file__).parent / "bundled_docs"
    return Documentation(inside if inside.is_dir() else Path(__file__).parents[2] / "docs")
