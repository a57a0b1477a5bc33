"""A tree of HTML as Markdown for a model: headings, paragraphs, lists, links, code and tables.

Walks the tree without recursion, so that no page is nested too deep.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

from lxml import etree  # type: ignore[import-untyped]

_SKIPPED = frozenset(
    {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "embed", "canvas"}
    | {"audio", "video", "button", "select", "textarea", "input", "head", "title"}
)
_BLOCKS = frozenset(
    {"address", "article", "blockquote", "body", "caption", "center", "dd", "details", "div", "dl", "dt"}
    | {"fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "html", "legend"}
    | {"main", "menu", "ol", "p", "section", "summary", "table", "tbody", "tfoot", "thead", "ul"}
)
_IN_A_CELL = frozenset({"p", "div", "section"})
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_SPACE = re.compile(r"\s+")
_MANY_LINES = re.compile(r"\n{3,}")
INDENT_MOST = 6


def markdown_of(root: Any, url: str = "") -> str:
    """The text of the element and all below it; links are made whole by `url`."""
    writer = _Writer(url)
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        tag = element.tag if isinstance(element.tag, str) else ""
        if event == "start" and (tag in _SKIPPED or not tag):
            walker.skip_subtree()
        elif event == "start":
            writer.start(tag, element)
            writer.say(element.text)
        else:
            if tag and tag not in _SKIPPED:
                writer.end(tag)
            if element is not root:
                writer.say(element.tail)
    return writer.text()


@dataclass(slots=True)
class _Writer:
    _url: str
    _lines: list[str] = field(default_factory=list)
    _words: list[str] = field(default_factory=list)
    _prefix: str = ""
    _lists: list[int | None] = field(default_factory=list)
    _links: list[tuple[int, str]] = field(default_factory=list)
    _pre: int = 0
    _rows: int = 0

    def say(self, text: str | None) -> None:
        """Text as it stands in the tree."""
        if text:
            self._words.append(text if self._pre else _SPACE.sub(" ", text))

    def start(self, tag: str, element: Any) -> None:
        """An element begins."""
        if tag == "pre":
            self._start_code()
        elif tag == "a":
            self._links.append((len(self._words), str(element.get("href") or "")))
        elif tag == "br" or self._pre:
            self._words.append("\n" if tag == "br" or tag in _BLOCKS else "")
        elif self._rows and tag in _IN_A_CELL:
            self._words.append(" ")
        elif tag in {"td", "th"}:
            self._words.append(" | ")
        else:
            self._start_block(tag)

    def _start_block(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._begin(f"{_HEADINGS[tag]} ")
        elif tag == "li":
            self._begin(self._bullet())
        elif tag == "tr":
            self._flush(tight=True)
            self._rows += 1
        elif tag in _BLOCKS:
            self._flush(tight=bool(self._lists))
            if tag in {"ul", "ol"}:
                self._lists.append(0 if tag == "ol" else None)

    def end(self, tag: str) -> None:
        """An element ends."""
        if tag == "pre":
            self._end_code()
        elif tag == "a":
            self._end_link()
        elif self._pre or (self._rows and tag in _IN_A_CELL):
            return
        elif tag == "tr":
            self._end_row()
        elif tag == "li" or tag in _HEADINGS:
            self._flush(tight=tag == "li" or bool(self._lists))
            self._prefix = ""
        elif tag in _BLOCKS:
            self._end_block(tag)

    def text(self) -> str:
        """All that was written."""
        self._flush()
        return _MANY_LINES.sub("\n\n", "\n".join(self._lines)).strip()

    def _begin(self, prefix: str) -> None:
        self._flush(tight=bool(self._lists))
        self._prefix = prefix

    def _bullet(self) -> str:
        indent = "  " * min(max(len(self._lists) - 1, 0), INDENT_MOST)
        count = self._lists[-1] if self._lists else None
        if count is None:
            return f"{indent}- "
        self._lists[-1] = count + 1
        return f"{indent}{count + 1}. "

    def _flush(self, *, tight: bool = False) -> None:
        """The words so far are a block; a tight one has no empty line after it."""
        text = "".join(self._words)
        self._words.clear()
        self._links.clear()
        lines = [_SPACE.sub(" ", line).strip() for line in text.split("\n")]
        shown = "\n".join(line for line in lines if line)
        if shown.strip():
            self._lines.append(f"{self._prefix}{shown}")
            if not tight:
                self._lines.append("")
            self._prefix = ""

    def _end_block(self, tag: str) -> None:
        self._flush(tight=bool(self._lists))
        if tag in {"ul", "ol"} and self._lists:
            self._lists.pop()
        if tag == "table" or (tag in {"ul", "ol"} and not self._lists):
            self._lines.append("")

    def _start_code(self) -> None:
        if not self._pre:
            self._flush(tight=bool(self._lists))
        self._pre += 1

    def _end_code(self) -> None:
        self._pre = max(self._pre - 1, 0)
        if self._pre:
            return
        code = "".join(self._words).strip("\n")
        self._words.clear()
        self._links.clear()
        if code.strip():
            fence = "````" if "```" in code else "```"
            self._lines += [f"{fence}\n{code}\n{fence}", ""]

    def _end_link(self) -> None:
        if not self._links:
            return
        begin, target = self._links.pop()
        if self._pre:
            return
        label = _SPACE.sub(" ", "".join(self._words[begin:])).strip()
        target = self._whole(target)
        if label and target.startswith(("http://", "https://")):
            self._words[begin:] = [f"[{label}]({target})"]

    def _whole(self, target: str) -> str:
        if not target or target.startswith("#"):
            return ""
        try:
            return urljoin(self._url, target.strip())
        except ValueError:
            return ""

    def _end_row(self) -> None:
        self._rows = max(self._rows - 1, 0)
        if self._words:
            self._words.append(" |")
        self._flush(tight=True)
