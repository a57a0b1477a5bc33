"""Finds the passages of documents that fit a question best.

    python3 find.py "notice period" folder-or-file… [--most 6] [--headings]

Reads Markdown and plain text, also that of converted documents. Needs nothing but Python. Prints the document,
page and section, the lines of the text file, the headings and the passage.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ENDINGS = {".md", ".markdown", ".txt", ".csv", ".rst", ".html", ".htm", ".json", ".yaml", ".yml"}
DOCUMENTS = (
    ".pdf",
    ".docx",
    ".docm",
    ".pptx",
    ".pptm",
    ".xlsx",
    ".xlsm",
    ".xls",
    ".csv",
    ".tsv",
    ".html",
    ".htm",
)
"""Documents of which a Markdown twin with the same name lies in the same folder."""
LINES, MOST_LINES, LARGEST = 14, 40, 20_000_000
"""A passage has about LINES lines, and up to MOST_LINES where no sentence ends before."""
RUNNING = 3
"""Lines that a file has so often, apart from digits, are running heads."""
HEADING = re.compile(r"^(#{1,6})\s+(.*\S)\s*#*$")
PLACE = re.compile(r"(?:(?P<kind>Page|Slide) (?P<number>\d+)|Sheet: (?P<sheet>.+?)(?: \(hidden\))?)(?::.*)?")
SECTION = re.compile(
    r"(?:(?:§+|Sections?|Articles?|Art\.|Clause|Abschnitt|Artikel|Ziffer)\s*(?P<named>\d+(?:\.\d+)*)"
    r"|(?P<dotted>\d{1,3}(?:\.\d{1,3})+)\.?\s+(?=[^\W\d_a-zäöü])"
    r"|(?P<top>\d{1,2})\.?\s+(?=[A-ZÄÖÜ][^.;:,]{2,60}$))"
)
END = re.compile(r"[.!?;:。！？；：…][\"'”’»)\]*_]*$")
WORD = re.compile(r"[^\W_]+")
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
K, B = 1.4, 0.7
SUFFIXES = ("ations", "ation", "ings", "ing", "ies", "es", "ed", "en", "er", "s", "e", "n")


@dataclass(frozen=True)
class Passage:
    """Some lines of a file, counted from 1, with the page and section of its document and the headings above."""

    file: str
    first: int
    last: int
    place: str
    section: str
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
    """Yield the parts of a file: cut at headings and empty lines, and only where a sentence or clause ends.

    A sentence that goes on on the next page keeps its passage together.
    """
    lines = text.splitlines()
    running = running_lines(lines)
    headings: list[tuple[int, str]] = []
    place = section = ""
    begun: tuple[str, str, tuple[str, ...]] = ("", "", ())
    block: list[str] = []
    for number, line in enumerate([*lines, ""], start=1):
        heading = HEADING.match(line)
        page = place_of(heading[2]) if heading else ""
        goes_on = is_open(block, running)
        part = "" if page else section_of(heading[2] if heading else line.strip(), is_inside=goes_on)
        if number > len(lines) or (not (page and goes_on) and is_cut(block, line, part, goes_on=goes_on)):
            if any(one.strip() for one in block):
                yield Passage(file, number - len(block), number - 1, *begun, "\n".join(block).strip("\n"))
            block = []
        if heading:
            level = len(heading[1])
            headings = [(depth, name) for depth, name in headings if depth < level] + [(level, heading[2])]
        place, section = page or place, part or section
        if not any(one.strip() and not HEADING.match(one) for one in block):
            begun = (place, section, tuple(name for _, name in headings))
        block.append(line)


def is_cut(block: list[str], line: str, section: str, *, goes_on: bool) -> bool:
    """Return whether a passage ends before this line, which may begin a section."""
    if HEADING.match(line) or section or len(block) >= MOST_LINES:
        return True
    size = sum(1 for one in block if one.strip())
    return not goes_on and size >= (LINES if line.strip() else LINES // 2)


def is_open(block: list[str], running: Collection[str]) -> bool:
    """Return whether the last sentence goes on: its line has no mark at its end and is no short label."""
    told = [
        one.strip() for one in block if one.strip() and key(one) not in running and not HEADING.match(one)
    ]
    if not told or len(block) >= MOST_LINES:
        return False
    last = told[-1]
    return (
        (len(WORD.findall(last)) > 2 or last[0].islower())
        and not last.startswith("|")
        and not END.search(last)
    )


def running_lines(lines: Sequence[str]) -> Collection[str]:
    """Return the lines, without digits, that repeat on the pages as running heads do."""
    if sum(line.startswith("## Page ") for line in lines) < RUNNING:
        return set()
    counts = Counter(key(line) for line in lines if line.strip() and not line.startswith("|"))
    return {line for line, count in counts.items() if count >= RUNNING}


def key(line: str) -> str:
    """Return a line without its digits and spaces."""
    return "".join(sign for sign in line if not sign.isdigit() and not sign.isspace())


def place_of(heading: str) -> str:
    """Return the page, slide or sheet that a heading of a converted document begins, "" for others."""
    found = PLACE.fullmatch(heading)
    if found is None:
        return ""
    return f"sheet {found['sheet']}" if found["sheet"] else f"{found['kind'].lower()} {found['number']}"


def section_of(line: str, *, is_inside: bool = False) -> str:
    """Return the number of the section that a line begins, "" for other lines.

    `is_inside`: the line goes on with a sentence, so "Section 9" in front only refers to one.
    """
    found = SECTION.match(line)
    return (
        ""
        if found is None or (is_inside and found["named"])
        else found["named"] or found["dotted"] or found["top"]
    )


def original_of(path: Path) -> Path:
    """Return the document whose Markdown twin this is, else the file itself."""
    if path.suffix.lower() != ".md":
        return path
    for stem in (path.stem, re.sub(r"-\d+$", "", path.stem)):
        for ending in DOCUMENTS:
            if (document := path.with_name(stem + ending)).is_file():
                return document
    return path


def citation(one: Passage, original: str) -> str:
    """Return where people find a passage, and where it is in the Markdown if that is another file."""
    lines = f"lines {one.first}–{one.last}"
    if original == one.file:
        return f"{one.file}, {lines}"
    section = f"section {one.section}" if one.section else ""
    return f"{', '.join(filter(None, [original, one.place, section]))} ({one.file}, {lines})"


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
            if place.is_dir() and path.suffix.lower() in DOCUMENTS and path.with_suffix(".md").is_file():
                continue
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
    originals: dict[str, str] = {}
    for path in files(given.places):
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        originals[path.name] = original_of(path).name
        if given.headings:
            print_headings(path.name, text)
        found += passages(path.name, text)
    if given.headings:
        return int(not found)
    best = ranked(given.query, found, given.most)
    for score, one in best:
        trail = " › ".join(name for name in one.headings if not place_of(name)) or "(no heading)"
        print(f"--- {citation(one, originals[one.file])} · {trail} · {score:.1f}\n{one.text}\n")
    if not best:
        print(f"Nothing fits in {len(found)} passages. Try other words, or --headings.")
    return int(not best)


def print_headings(file: str, text: str) -> None:
    """Print the headings of a file, and the numbered sections of pages, which have none."""
    is_paged = False
    for number, line in enumerate(text.splitlines(), start=1):
        if heading := HEADING.match(line):
            is_paged = heading[2].startswith("Page ") and place_of(heading[2]) != ""
            print(f"{file}:{number}: {'  ' * (len(heading[1]) - 1)}{heading[2]}")
        elif is_paged and section_of(line.strip()):
            print(f"{file}:{number}:     {line.strip()[:80]}")


if __name__ == "__main__":
    sys.exit(main())
