"""Finds the passages of documents that fit a question best.

    python3 find.py "notice period" folder-or-file… [--most 6] [--headings]

Reads Markdown and plain text. Needs nothing but Python. Prints file, lines, headings and the passage.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ENDINGS = {".md", ".markdown", ".txt", ".csv", ".rst", ".html", ".htm", ".json", ".yaml", ".yml"}
LINES, LARGEST = 14, 20_000_000
HEADING = re.compile(r"^(#{1,6})\s+(.*\S)\s*#*$")
WORD = re.compile(r"[^\W_]+")
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
K, B = 1.4, 0.7
SUFFIXES = ("ations", "ation", "ings", "ing", "ies", "es", "ed", "en", "er", "s", "e", "n")


@dataclass(frozen=True)
class Passage:
    """Some lines of a file, counted from 1, below these headings."""

    file: str
    first: int
    last: int
    headings: tuple[str, ...]
    text: str


def words(text: str) -> list[str]:
    """Words without their endings; where a script has no spaces, pairs of signs."""
    found: list[str] = []
    for word in WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if CJK.search(word):
            found += [word[at : at + 2] for at in range(max(len(word) - 1, 1))]
        else:
            found.append(stem(word))
    return found


def stem(word: str) -> str:
    """The word without a common ending, if enough of it stays."""
    for ending in SUFFIXES:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def passages(file: str, text: str) -> Iterator[Passage]:
    """The parts of a file: cut at headings and empty lines, at most some lines long."""
    headings: list[tuple[int, str]] = []
    block: list[str] = []
    first = 1

    def made(last: int) -> Iterator[Passage]:
        if any(line.strip() for line in block):
            yield Passage(
                file, first, last, tuple(name for _, name in headings), "\n".join(block).strip("\n")
            )

    for number, line in enumerate(text.splitlines(), start=1):
        heading = HEADING.match(line)
        is_break = not line.strip() and len(block) >= LINES // 2
        if heading or is_break or len(block) >= LINES:
            yield from made(number - 1)
            block, first = [], number
        if heading:
            level = len(heading[1])
            headings = [(depth, name) for depth, name in headings if depth < level] + [(level, heading[2])]
        block.append(line)
    yield from made(first + len(block) - 1)


def ranked(query: str, found: list[Passage], most: int) -> list[tuple[float, Passage]]:
    """The passages that fit best, with their scores (BM25; headings count as text)."""
    wanted = set(words(query))
    bags = [Counter(words(" ".join(one.headings) + " " + one.text)) for one in found]
    sizes = [sum(bag.values()) for bag in bags]
    mean = sum(sizes) / max(len(sizes), 1) or 1.0
    rare = {
        word: math.log(1 + (len(bags) - count + 0.5) / (count + 0.5))
        for word in wanted
        if (count := sum(word in bag for bag in bags))
    }
    scored = []
    for one, bag, size in zip(found, bags, sizes, strict=True):
        score = sum(
            weight * bag[word] * (K + 1) / (bag[word] + K * (1 - B + B * size / mean))
            for word, weight in rare.items()
            if bag[word]
        )
        if score:
            scored.append((score, one))
    return sorted(scored, key=lambda pair: -pair[0])[:most]


def files(places: Iterable[Path]) -> Iterator[Path]:
    """The files that can be read, folders gone through."""
    for place in places:
        inside = sorted(place.rglob("*")) if place.is_dir() else [place]
        for path in inside:
            is_text = path.suffix.lower() in ENDINGS or not place.is_dir()
            if path.is_file() and is_text and path.stat().st_size <= LARGEST:
                yield path


def main(arguments: list[str] | None = None) -> int:
    """Search and print; 1 where nothing fits."""
    parser = argparse.ArgumentParser(description="Find the passages that fit a question best.")
    parser.add_argument("query")
    parser.add_argument("places", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=6)
    parser.add_argument("--headings", action="store_true", help="print the headings instead")
    given = parser.parse_args(arguments)
    found: list[Passage] = []
    for path in files(given.places):
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        if given.headings:
            for number, line in enumerate(text.splitlines(), start=1):
                if heading := HEADING.match(line):
                    print(f"{path.name}:{number}: {'  ' * (len(heading[1]) - 1)}{heading[2]}")
        found += passages(path.name, text)
    if given.headings:
        return int(not found)
    best = ranked(given.query, found, given.most)
    for score, one in best:
        trail = " › ".join(one.headings) or "(no heading)"
        print(f"--- {one.file}, lines {one.first}–{one.last} · {trail} · {score:.1f}\n{one.text}\n")
    if not best:
        print(f"Nothing fits in {len(found)} passages. Try other words, or --headings.")
    return int(not best)


if __name__ == "__main__":
    sys.exit(main())
