"""Make the beginning of an unfinished text presentable."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bot.render.block_scanner import BlockKind, Leaf, Line, ScannerState, scan
from bot.render.inline_scanner import Inlines, Span, scan_inline
from bot.render.references import is_half_definition

_LINE_END = re.compile(r"\r\n?")
_HALF_MARKER = re.compile(r"[-+*=_#>|:~`\s]*(?:\d{1,9}[.)]?\s*)?$")
_HALF_TASK = re.compile(r"\[[ xX]?\]?\s*$")
_TRAILING_RUN = re.compile(r"(?:(?<![*_~`])[*_~`]+|(?<!\s)\s+|!)$")
_LONGEST_HELD = 300  # an unfinished bracket older than this is text
_MOST_CUTS = 8  # held back one after the other; more is not half-written but hostile
_LONGEST_TARGET = 2000  # the same for a link whose address has begun


@dataclass(frozen=True, slots=True)
class _Tail:
    """The last line of a text, `source[start:]`, with its kind and the surrounding paragraph.

    The lines from `firm` up to it may turn out to be a table's header.
    """

    start: int
    block: int
    before: ScannerState
    line: Line
    firm: int = 0


def close_open(markdown: str) -> str:
    """Return a well-formed document with as much of the unfinished `markdown` as is certain.

    Open fences, emphasis and code spans are closed. What may yet turn into markup is held back: half markers
    of headings, lists, quotes, rules and fences, a table's header until its delimiter has come and half rows,
    links until their end. So what is shown only grows.
    """
    return GrowingFrame().close(markdown)


def close_fence(markdown: str) -> str:
    """Return the complete `markdown`, closing a code block that is open at its end."""
    state = ScannerState()
    for line in _LINE_END.sub("\n", markdown).split("\n"):
        state = scan(line, state).state
    if state.leaf is not Leaf.FENCE:
        return markdown
    return f"{markdown}\n{''.join(container.follow for container in state.containers)}{state.fence}"


class GrowingFrame:
    """Incremental `close_open`: a call's cost is proportional to the added text and the last paragraph.

    A text that doesn't continue the previous one starts over.
    """

    def __init__(self) -> None:
        self._known = ""
        self._walk = _Walk()

    def close(self, markdown: str) -> str:
        """Return the result of `close_open`."""
        source = _LINE_END.sub("\n", markdown) if "\r" in markdown else markdown
        if not source.startswith(self._known):
            self._walk = _Walk()
        walk = self._walk
        while (end := source.find("\n", walk.start)) >= 0:
            walk = walk.over(source[walk.start : end])
        self._known, self._walk = source[: walk.start], walk
        return _closed(source, walk.over(source[walk.start :]).tail)


def _closed(source: str, tail: _Tail) -> str:
    if tail.before.leaf is Leaf.FENCE and tail.line.kind in (BlockKind.FENCE_LINE, BlockKind.FENCE_CLOSE):
        return _close_fence(source, tail)
    if _held(source[tail.start :], tail):
        return _without_last(source, tail)
    if tail.line.kind in (BlockKind.TEXT, BlockKind.HEADING):
        block = tail.start + tail.line.content if tail.line.starts else tail.block
        shown = _close_inline(source[block:])
        return source[:block] + shown if shown else _without_last(source, tail)
    return source.rstrip()


@dataclass(frozen=True, slots=True)
class _Walk:
    """A scan up to `start`: the block and state there, and the last non-blank line (an open fence keeps its
    blank lines).
    """

    start: int = 0
    block: int = 0
    state: ScannerState = field(default_factory=ScannerState)
    tail: _Tail = field(default_factory=lambda: _Tail(0, 0, ScannerState(), scan("", ScannerState())))
    firm: int = 0

    def over(self, text: str) -> _Walk:
        """Return the scan after one more line."""
        found = scan(text, self.state)
        block = self.start if found.starts else self.block
        end = self.start + len(text) + 1
        if found.kind is BlockKind.BLANK:
            return _Walk(end, block, found.state, self.tail, self.firm)
        tail = _Tail(self.start, block, self.state, found, self.firm)
        return _Walk(end, block, found.state, tail, self.firm if _awaits_delimiter(text, found) else end)


def _awaits_delimiter(text: str, line: Line) -> bool:
    """Return whether a line may turn out to be a table's header."""
    return line.kind is BlockKind.TEXT and text.startswith("|", line.content)


def _held(text: str, tail: _Tail) -> bool:
    """Return whether the last line is only the beginning of a construct."""
    line = tail.line
    if line.kind is BlockKind.FENCE_OPEN:
        return True
    waits = _awaits_delimiter(text, line)
    if waits or "\n" in text:
        return waits
    if _HALF_MARKER.match(text, line.inner):
        return True
    if line.kind is BlockKind.ROW:
        row = text.rstrip()
        return not row.endswith("|") or row.endswith("\\|") or "|" not in row[:-1]
    if line.kind is BlockKind.TEXT and is_half_definition(text):
        return True
    opened = len(line.state.containers) > line.kept
    return line.kind is BlockKind.TEXT and opened and _HALF_TASK.match(text, line.content) is not None


def _without_last(source: str, tail: _Tail) -> str:
    """Return the text before the last line, made presentable too."""
    before = source[: tail.start]
    if tail.line.kind is BlockKind.FENCE_OPEN or tail.before.leaf is not Leaf.TEXT:
        return before.rstrip()
    end = tail.firm if tail.before.last.startswith("|") else tail.start
    block = min(tail.block, end)
    return before[:block] + _close_inline(before[block:end])


def _close_fence(source: str, tail: _Tail) -> str:
    if tail.line.kind is BlockKind.FENCE_CLOSE:
        return source.rstrip()
    run, last = tail.before.fence, source[tail.start + tail.line.inner :].strip(" \t")
    if last and set(last) == {run[0]} and "\n" not in source[tail.start :]:
        source = source[: tail.start]
    closing = "".join(container.follow for container in tail.before.containers) + run
    return source + ("" if source.endswith("\n") else "\n") + closing


def _close_inline(text: str) -> str:
    """Close open constructs in a paragraph's source, holding back incomplete ones."""
    found = scan_inline(text)
    for _ in range(_MOST_CUTS):
        cut = _certain(text, found)
        if cut == len(text):
            break
        text = text[:cut]
        found = scan_inline(text)
    code = next((span for span in found.open if span.opener.startswith("`")), None)
    spans = [span for span in found.open if span.opener and (code is None or span.start <= code.start)]
    return text + "".join(span.closer for span in reversed(spans))


def _certain(text: str, found: Inlines) -> int:
    """Return the length of the leading part of `text` whose rendering is final."""
    end = len(text)
    held = [span.start for span in found.open if not span.opener and _waits(text, span)]
    if held:
        return min(held)
    run = _TRAILING_RUN.search(text)
    if run is not None and (not any(span.end == end for span in found.spans) or _may_double(text, run[0])):
        return run.start()
    return end


def _may_double(text: str, run: str) -> bool:
    """Return whether a delimiter at the end closes another construct as soon as it is doubled."""
    if run not in ("*", "_"):
        return False
    end = len(text) + 1
    return any(span.end == end and span.closer == 2 * run for span in scan_inline(text + run).spans)


def _waits(text: str, span: Span) -> bool:
    if span.end - span.start > _LONGEST_TARGET:
        return False
    target = text.startswith(("[", "!["), span.start) and "](" in text[span.start : span.end]
    formula = text.startswith(("$$", "\\"), span.start)
    return target or formula or span.end - span.start <= _LONGEST_HELD
