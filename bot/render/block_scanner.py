"""Scan Markdown block structure line by line; a line's meaning depends only on the preceding lines.

The splitter and the stream closer need the open containers and the leaf block at any point of a growing text,
which a parser of whole texts can't provide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

MAX_DEPTH = 32
"""Deepest nesting of lists (two each) and quotes (one each), and of formatting; what goes deeper is text."""


class Leaf(Enum):
    """The innermost open block."""

    NONE = "none"
    TEXT = "text"
    FENCE = "fence"
    TABLE = "table"
    CODE = "code"


class BlockKind(Enum):
    """Classification of a line."""

    BLANK = "blank"
    TEXT = "text"
    HEADING = "heading"
    UNDERLINE = "underline"
    RULE = "rule"
    FENCE_OPEN = "fence open"
    FENCE_LINE = "fence line"
    FENCE_CLOSE = "fence close"
    DELIMITER = "delimiter"
    ROW = "row"
    INDENTED = "indented"


@dataclass(frozen=True, slots=True)
class Container:
    """An open quote (`width` 0) or list item; `number` is the item's own number in an ordered list."""

    opener: str
    width: int = 0
    number: int | None = None

    @property
    def follow(self) -> str:
        """Return the prefix of the item's or quote's subsequent lines."""
        return " " * self.width if self.width else self.opener

    @property
    def reopen(self) -> str:
        """Return the marker that reopens the container; a list numbered 1, 1, 1 continues counting."""
        if self.number is None:
            return self.opener
        number = str(self.number)
        written = re.search(r"\d+", self.opener)
        if written is None or len(written[0]) != len(number):
            return self.opener
        return self.opener.replace(written[0], number, 1)


@dataclass(frozen=True, slots=True)
class ScannerState:
    """Open blocks between two lines.

    `fence` is the run that opened a fence, `head` the content lines to repeat (a fence's opening line; a
    table's header and delimiter), `last` the content of the paragraph's last line, a possible header.
    """

    containers: tuple[Container, ...] = ()
    leaf: Leaf = Leaf.NONE
    fence: str = ""
    head: tuple[str, ...] = ()
    last: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One scanned line.

    `kept` containers of the state before continue here, `inner` is where their content starts, `content`
    where the leaf's own text starts (after new markers and `#`); `lazy` lines continue a paragraph without
    its markers; `starts` says that a block starts here.
    """

    kind: BlockKind
    state: ScannerState
    kept: int
    inner: int
    content: int
    starts: bool
    lazy: bool = False


_PROSE = frozenset({BlockKind.TEXT, BlockKind.HEADING, BlockKind.ROW})
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_HEADING = re.compile(r"#{1,6}(?:[ \t]+|$)")
_RULE = re.compile(r"(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*$")
_MARKER = re.compile(r"([-+*])(?=[ \t]|$)|(\d{1,9})[.)](?=[ \t]|$)")
_DELIMITER = re.compile(r"(?:\||:|-[-:|])[-:| \t]*$|-+$")
_DELIMITER_CELL = re.compile(r":?-+:?$")


def _indent(line: str, at: int, column: int = 0) -> tuple[int, int]:
    """Return the end of the white space at `at`, and its width in columns."""
    start = column
    while at < len(line) and line[at] in " \t":
        column += 1 if line[at] == " " else 4 - column % 4
        at += 1
    return at, column - start


def _skip(line: str, at: int, width: int) -> int:
    """Return the index after `width` columns of white space; a tab that extends further is included."""
    column = 0
    while column < width and at < len(line):
        column += 1 if line[at] == " " else 4 - column % 4
        at += 1
    return at


def _match(line: str, containers: tuple[Container, ...]) -> tuple[int, int]:
    """Return the number of containers that continue on `line`, and the start of their content."""
    at = 0
    for count, container in enumerate(containers):
        text, width = _indent(line, at)
        if container.width:
            if text == len(line):
                continue
            if width < container.width:
                return count, at
            at = _skip(line, at, container.width)
        elif width < 4 and line.startswith(">", text):
            at = text + 1 + (line[text + 1 : text + 2] in (" ", "\t"))
        else:
            return count, at
    return len(containers), at


def _level(containers: tuple[Container, ...]) -> int:
    return sum(2 if container.width else 1 for container in containers)


def _item(line: str, at: int, sibling: Container | None, interrupts: bool) -> tuple[Container, int] | None:
    """Return the list item that opens at `at`, and the start of its content."""
    text, width = _indent(line, at)
    marker = _MARKER.match(line, text)
    if marker is None or _RULE.match(line, text):
        return None
    end, gap = _indent(line, marker.end())
    empty = end == len(line)
    if interrupts and (empty or (marker[2] and int(marker[2]) != 1)):
        return None
    gap = 1 if empty or gap > 4 else gap
    content = min(marker.end() + gap, len(line)) if gap == 1 else end
    number = int(marker[2]) if marker[2] else None
    if sibling and number is not None and sibling.number is not None:
        number = sibling.number + 1
    opener = " " * width + marker[0] + " " * gap
    return Container(opener, len(opener), number), content


def _open(line: str, at: int, before: ScannerState, kept: int) -> tuple[tuple[Container, ...], int]:
    """Open the containers whose markers stand at `at`."""
    containers = before.containers[:kept]
    complete = kept == len(before.containers)
    interrupts = before.leaf is Leaf.TEXT and complete
    while _level(containers) < MAX_DEPTH:
        text, width = _indent(line, at)
        if width >= 4:
            break
        if line.startswith(">", text):
            space = line[text + 1 : text + 2] in (" ", "\t")
            containers += (Container(line[at : text + 1] + (" " if space else "")),)
            at = text + 1 + space
        else:
            depth = len(containers)
            sibling = before.containers[depth] if depth == kept and not complete else None
            item = _item(line, at, sibling, interrupts)
            if item is None:
                break
            containers, at = (*containers, item[0]), item[1]
        interrupts = False
    return containers, at


def split_row(line: str) -> list[str]:
    r"""Return a table row's cells: outer pipes dropped, `\|` unescaped."""
    if "\\" not in line:
        cells = line.strip(" \t").split("|")
        return [cell.strip(" \t") for cell in cells[not cells[0] : -1 if not cells[-1] else None]]
    cells, current, escaped = [], "", False
    for char in line.strip(" \t"):
        if char == "|" and escaped:
            current = current[:-1] + char
        elif char == "|":
            cells.append(current)
            current = ""
        else:
            current += char
        escaped = char == "\\"
    cells.append(current)
    if cells and not cells[0]:
        cells.pop(0)
    if cells and not cells[-1]:
        cells.pop()
    return [cell.strip(" \t") for cell in cells]


def _is_delimiter(text: str, header: str) -> bool:
    if "|" not in header or not _DELIMITER.match(text):
        return False
    cells = split_row(text)
    return len(cells) == len(split_row(header)) and all(_DELIMITER_CELL.match(cell) for cell in cells)


def scan(line: str, before: ScannerState) -> Line:
    """Scan `line` (without its line end) after `before`."""
    if not before.containers and before.leaf in (Leaf.NONE, Leaf.TEXT) and line[:1].isalpha():
        state = ScannerState((), Leaf.TEXT, last=line.rstrip(" \t"))  # the common case, made quick
        return Line(BlockKind.TEXT, state, 0, 0, 0, before.leaf is Leaf.NONE)
    kept, inner = _match(line, before.containers)
    complete = kept == len(before.containers)
    if before.leaf is Leaf.FENCE and complete:
        return _in_fence(line, before, kept, inner)
    containers, at = _open(line, inner, before, kept)
    text, width = _indent(line, at)
    if text == len(line) and len(containers) == kept:
        leaf = Leaf.CODE if before.leaf is Leaf.CODE and complete else Leaf.NONE
        return Line(BlockKind.BLANK, ScannerState(containers, leaf), kept, inner, text, starts=False)
    fresh = len(containers) > kept
    follows = complete and not fresh
    block = _block(
        line, text, width, ScannerState(containers, before.leaf if follows else Leaf.NONE, last=before.last)
    )
    if block is not None:
        kind, state, content = block
        starts = kind not in (BlockKind.UNDERLINE, BlockKind.DELIMITER)
        return Line(kind, state, kept, inner, content, starts)
    return _text(
        line, text, width, before, Line(BlockKind.TEXT, ScannerState(containers), kept, inner, text, True)
    )


def _in_fence(line: str, before: ScannerState, kept: int, inner: int) -> Line:
    text, width = _indent(line, inner)
    rest = line[text:].rstrip(" \t")
    run = before.fence
    if width < 4 and len(rest) >= len(run) and rest == run[0] * len(rest):
        return Line(BlockKind.FENCE_CLOSE, ScannerState(before.containers), kept, inner, text, starts=False)
    return Line(BlockKind.FENCE_LINE, before, kept, inner, inner, starts=False)


def _block(
    line: str, text: int, width: int, state: ScannerState
) -> tuple[BlockKind, ScannerState, int] | None:
    """Scan a line that is a block of its own, or changes the preceding paragraph; `state` is the state before
    it.
    """
    rest, empty = line[text:], ScannerState(state.containers)
    if width >= 4:
        return None
    if fence := _FENCE.match(rest):
        run = fence[1] or fence[2]
        return BlockKind.FENCE_OPEN, replace(empty, leaf=Leaf.FENCE, fence=run, head=(rest,)), text
    if heading := _HEADING.match(rest):
        return BlockKind.HEADING, empty, text + heading.end()
    if state.leaf is Leaf.TEXT:
        if _is_delimiter(rest.rstrip(" \t"), state.last):
            head = (state.last, rest)
            return BlockKind.DELIMITER, replace(empty, leaf=Leaf.TABLE, head=head), text
        if _UNDERLINE.match(rest):
            return BlockKind.UNDERLINE, empty, text
    return (BlockKind.RULE, empty, text) if _RULE.match(rest) else None


def _text(line: str, text: int, width: int, before: ScannerState, found: Line) -> Line:
    """Scan a line of any other kind: a table row, indented code, or paragraph text, possibly lazy."""
    fresh = len(found.state.containers) > found.kept
    follows = not fresh and found.kept == len(before.containers)
    if text == len(line):  # an item without content
        return found
    if follows and before.leaf is Leaf.TABLE and width < 4:
        return replace(found, kind=BlockKind.ROW, state=before, starts=False)
    continues = before.leaf is Leaf.TEXT and not fresh
    if width >= 4 and not continues:
        state = replace(found.state, leaf=Leaf.CODE)
        first = not (follows and before.leaf is Leaf.CODE)
        return replace(found, kind=BlockKind.INDENTED, state=state, starts=first)
    containers = before.containers if continues else found.state.containers
    state = ScannerState(containers, Leaf.TEXT, last=line[text:].strip(" \t"))
    return replace(found, state=state, starts=not continues, lazy=continues and not follows)


def list_prose(lines: Sequence[str]) -> Iterator[range]:
    """Yield the line numbers of each paragraph, heading and table row of a whole text."""
    state, start, is_row = ScannerState(), 0, False
    for number, line in enumerate(lines):
        found = scan(line, state)
        is_prose = found.kind in _PROSE
        if not is_prose or found.starts or found.kind is BlockKind.ROW or is_row:
            if start < number:
                yield range(start, number)
            start = number if is_prose else number + 1
        state, is_row = found.state, found.kind is BlockKind.ROW
    if start < len(lines):
        yield range(start, len(lines))
