"""Fenced code blocks of the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A code block with its page and line."""

    page: Path
    line: int
    info: str
    body: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Return every Markdown page of the repository that people read."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*.md")]
    return sorted(found)


def blocks(info: str = "") -> list[Block]:
    """Return all blocks, or those with this info string."""
    return [block for page in pages() for block in _in(page) if info in ("", block.info)]


def _in(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in FENCE.finditer(text):
        yield Block(page, text.count("\n", 0, match.start()) + 1, match["info"].strip(), match["body"])
