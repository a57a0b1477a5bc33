"""Split Markdown source into well-formed parts within a limit.

The text is walked line by line. As soon as what has been seen no longer fits, a border is chosen from it,
never from what follows. So the borders of full parts stay where they are while the text grows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from bot.render.blank_lines import BlankRuns
from bot.render.block_scanner import BlockKind, Leaf, Line, ScannerState, scan
from bot.render.break_points import (
    BreakPoint,
    Cover,
    Rank,
    blank,
    escaped,
    in_leaf,
    inner_border,
    least_head,
    openers,
    rank,
    undecided,
)
from bot.render.measure import SourceWeigher, Weigher, sound

LEAST_LIMIT = 64
"""The smallest limit that `split_markdown` accepts, in the caller's unit."""

_LINK_TARGET = re.compile(r"\]\([^\s()]*\)")
_CONTINUATION = re.compile(r"(?:\*\*(?![*\s])|[^\W\d_]|\[)[^<|\t]*$")
_LINE_END = re.compile(r"\r\n?")


def split_markdown(
    markdown: str, *, limit: int, measure: Callable[[str], int], weigher: Weigher | None = None
) -> list[str]:
    """Split `markdown` into parts whose rendering measures at most `limit`.

    `measure` gives the rendered length of a piece of Markdown. `weigher` gives cheap upper bounds of it line
    by line; without one, `measure` must be additive over lines (as a length of the source is). Blank text has
    no part; a text that fits is one part, unchanged apart from long runs of blank lines.

    A cut fence is closed and opened again with its language, a cut table repeats its header, cut lists and
    quotes repeat the markers around what follows, cut emphasis and code spans are closed and opened again.
    For a growing text, all parts but the last stay as they are.

    Raises ValueError for a limit below `LEAST_LIMIT`.
    """
    return GrowingSplit(limit=limit, measure=measure, weigher=weigher).split(markdown)


class GrowingSplit:
    """`split_markdown` for a growing text: a call's cost is proportional to the added text and the last line.

    Each call gives what `split_markdown` would; a text that does not go on from the whole lines of the one
    before starts anew. With `loose` bounds, a part is measured whenever the bounds leave no room.
    """

    def __init__(
        self,
        *,
        limit: int,
        measure: Callable[[str], int],
        weigher: Weigher | None = None,
        loose: bool = False,
    ) -> None:
        if limit < LEAST_LIMIT:
            raise ValueError(f"limit must be at least {LEAST_LIMIT}, not {limit}")
        self._limit, self._measure, self._weigher, self._loose = limit, measure, weigher, loose
        self._blank_runs = BlankRuns()
        self._known = ""
        self._full: list[str] = []
        self._walk: _Walk | None = None

    def split(self, markdown: str) -> list[str]:
        """Return the parts of `markdown`."""
        source = sound(markdown)
        source = _LINE_END.sub("\n", source) if "\r" in source else source
        source = self._blank_runs.shorten(source)
        if not source.startswith(self._known):
            self._full, self._walk = [], None
        self._known = source[: source.rfind("\n") + 1]
        splitter = _Splitter(source, self._limit, self._measure, self._weigher, loose=self._loose)
        walk: _Walk | None = self._walk or splitter.walk(_Restart())
        parts = list(self._full)
        settled = True
        while walk is not None:
            self._walk = walk if settled else self._walk
            part, begin = splitter.part(walk)
            parts.append(part)
            walk = splitter.walk(begin) if begin is not None else None
            # The border stays once the line that it is in is known to its end.
            settled = settled and begin is not None and source.find("\n", begin.at) >= 0
            if settled:
                self._full.append(part)
        return [part for part in parts if part.strip()]


@dataclass(frozen=True, slots=True)
class _Restart:
    """Start of a part: `prefix` comes before `source[at:]`; `line` is the scanned line there.

    `reopened` is the end of the prefix that reopens inline constructs.
    """

    at: int = 0
    prefix: str = ""
    reopened: str = ""
    before: ScannerState = field(default_factory=ScannerState)
    line: Line | None = None


@dataclass(slots=True)
class _Fill:
    """The part being filled."""

    begin: _Restart
    weight: int
    marks: list[BreakPoint] = field(default_factory=list)
    previous: BlockKind = BlockKind.BLANK
    block: int = 0  # the last mark before which a block starts
    grid: tuple[tuple[int, ...], int] = ((), 0)
    settled: int = 0
    settled_weight: int = 0
    measured: int = 0

    def copy(self) -> _Fill:
        """Return a copy that can be modified independently."""
        return replace(self, marks=list(self.marks))


@dataclass(slots=True)
class _Walk:
    """How far a part has been filled: its complete lines end at `at`, where the scanner is in `state`."""

    fill: _Fill
    at: int
    state: ScannerState


class _Splitter:
    def __init__(
        self,
        source: str,
        limit: int,
        measure: Callable[[str], int],
        weigher: Weigher | None,
        *,
        loose: bool = False,
    ) -> None:
        self.source = source
        self.limit = limit
        self._loose = loose
        self._reserve = min(24, limit // 8)  # for closing what a cut within a line leaves open
        self.measure = measure if weigher is not None else None
        self.weigher: Weigher = weigher or SourceWeigher(measure)

    # filling

    def walk(self, begin: _Restart) -> _Walk:
        """Start a part."""
        fill = _Fill(begin, self._prefix_weight(begin))
        if begin.before.leaf is Leaf.TABLE:
            fill.grid = (self.weigher.cells(begin.before.head[0]), 2)
        return _Walk(fill, begin.at, begin.before)

    def part(self, walk: _Walk) -> tuple[str, _Restart | None]:
        """Return the part that continues from `walk`, and where the next one starts; `walk` is advanced."""
        fill, at, state = walk.fill, walk.at, walk.state
        while at < len(self.source):
            end = self.source.find("\n", at)
            known = end >= 0
            end = end if known else len(self.source)
            text = self.source[at:end]
            room = self.limit - self._closing_weight(state)
            weight = self._line_weight(fill, text, state)
            if self._loose and fill.weight + weight > room:
                self._measure_whole(fill, at)
            fill = fill if known else fill.copy()
            if fill.weight + weight > room and (seen := self._overflow(fill, at, text, state, room)):
                return self._cut(fill.copy(), at, state, seen)
            state = self._take(fill, at, text, state, weight)
            at = end + 1
            if known:
                walk.at, walk.state = at, state
        rest = self.source[fill.begin.at :]
        rest = rest if state.leaf is Leaf.FENCE else rest.rstrip()
        return (fill.begin.prefix + rest if rest.strip() else ""), None

    def _take(self, fill: _Fill, at: int, text: str, before: ScannerState, weight: int) -> ScannerState:
        """Add a line that fits; return the state after it."""
        line = self._line(fill, at, text, before)
        if line.kind is BlockKind.DELIMITER:
            fill.grid = (self.weigher.cells(line.state.head[0]), 2)
            self._promote(fill)
        elif before.leaf is Leaf.TABLE and fill.grid[0]:
            fill.grid = self._grown(fill.grid, text)
        mark = self._mark(fill, at, text, line, before)
        if mark.rank is Rank.BLOCK:
            fill.block = len(fill.marks) - 1
        fill.weight += weight
        if line.kind is not BlockKind.BLANK:
            fill.previous = line.kind
        return line.state

    @staticmethod
    def _mark(fill: _Fill, at: int, text: str, line: Line, before: ScannerState) -> BreakPoint:
        """Add the break point before a line."""
        continues = fill.marks and line.kind is BlockKind.TEXT and not line.starts
        first = fill.marks[-1].first if continues else len(fill.marks)
        grade = rank(text, line, before, fill.previous)
        fill.marks.append(BreakPoint(at, line, before, fill.weight, grade, first))
        return fill.marks[-1]

    def _line(self, fill: _Fill, at: int, text: str, before: ScannerState) -> Line:
        first = at == fill.begin.at and fill.begin.line is not None
        return fill.begin.line if first and fill.begin.line else scan(text, before)

    @staticmethod
    def _promote(fill: _Fill) -> None:
        """Treat the line before a delimiter as a table's header: a block starts there, even within a
        paragraph.
        """
        if fill.marks and fill.marks[-1].rank is Rank.LINE:
            header = fill.marks[-1]
            line = replace(header.line, starts=True)
            first = len(fill.marks) - 1
            top = header.line.kept == 0 and not header.line.state.containers
            grade = Rank.BLOCK if top else Rank.ITEM
            fill.marks[-1] = replace(header, line=line, rank=grade, first=first)
            fill.block = first if top else fill.block

    # weights

    def _prefix_weight(self, begin: _Restart) -> int:
        code = begin.before.leaf is Leaf.FENCE
        weigh = self.weigher.code if code else self.weigher.text
        return sum(weigh(line) for line in begin.prefix.split("\n")) if begin.prefix else 0

    def _closing_weight(self, state: ScannerState) -> int:
        return self.weigher.code(self._closing(state)) if state.leaf is Leaf.FENCE else 0

    def _closing(self, state: ScannerState) -> str:
        """Return the line that closes a fence, or "" if it is so long that the part's end must close the
        fence.
        """
        line = "".join(container.follow for container in state.containers) + state.fence
        return "" if len(line) * 4 > self.limit else line

    def _line_weight(self, fill: _Fill, text: str, before: ScannerState) -> int:
        if before.leaf is Leaf.FENCE:
            return self.weigher.code(text)
        if before.leaf is Leaf.TABLE and fill.grid[0] and text.strip():
            now, then = self._grown(fill.grid, text), fill.grid
            return self.weigher.grid(*now) - self.weigher.grid(*then)
        if self._loose and before.leaf is Leaf.TEXT and _CONTINUATION.match(text):
            return self.weigher.code(
                3 * text if "://" in text else 2 * text
            )  # no block, but escaped characters
        return self.weigher.text(text)

    def _grown(self, grid: tuple[tuple[int, ...], int], row: str) -> tuple[tuple[int, ...], int]:
        widths = zip_longest(grid[0], self.weigher.cells(row), fillvalue=0)
        return tuple(max(pair) for pair in widths), grid[1] + 1

    def _overflow(self, fill: _Fill, at: int, text: str, before: ScannerState, room: int) -> int:
        """Return the first position at which the text exceeds the limit; 0 if white space alone exceeds
        it.
        """
        if before.leaf is not Leaf.FENCE:
            text = text.rstrip()
        if fill.weight + self._line_weight(fill, text, before) > room:
            self._tighten_bounds(fill)
        low, high = 0, min(len(text), 2 * self.limit)
        if (high == 0 and before.leaf is not Leaf.FENCE) or (
            fill.weight + self._line_weight(fill, text[:high], before) <= room
        ):
            return 0
        while high - low > 1:
            middle = (low + high) // 2
            if fill.weight + self._line_weight(fill, text[:middle], before) > room:
                high = middle
            else:
                low = middle
        if before.leaf is not Leaf.FENCE:
            high = max(high, min(len(text) - len(text.lstrip()) + 1, len(text)))
        return at + max(high, 1)

    def _measure_whole(self, fill: _Fill, at: int) -> None:
        """Measure a part up to `at` instead of relying on its lines' bounds, if many have been added."""
        if self.measure is None or (fill.weight - fill.measured) * 8 < self.limit:
            return
        bound = fill.weight
        fill.weight = min(bound, self.measure(fill.begin.prefix + self.source[fill.begin.at : at]))
        fill.marks = [replace(mark, weight=mark.weight * fill.weight // bound) for mark in fill.marks]
        fill.measured = fill.weight

    def _tighten_bounds(self, fill: _Fill) -> None:
        """Measure finished blocks exactly where links make the bound inaccurate, which frees room."""
        last = fill.block
        if self.measure is None or self._loose or last <= fill.settled:
            return
        mark = fill.marks[last]
        text = self.source[fill.marks[fill.settled].start : mark.start]
        bound = mark.weight - fill.settled_weight
        if fill.settled == 0:
            text = fill.begin.prefix + text
        hidden = sum(len(found[0]) for found in _LINK_TARGET.finditer(text))
        gain = max(0, bound - self.measure(text) - 2) if hidden * 16 > self.limit else 0
        fill.marks[last:] = [replace(later, weight=later.weight - gain) for later in fill.marks[last:]]
        fill.settled, fill.settled_weight = last, mark.weight - gain
        fill.weight -= gain

    # cutting

    def _cut(self, fill: _Fill, at: int, before: ScannerState, seen: int) -> tuple[str, _Restart]:
        text = self.source[at:seen]
        line = self._line(fill, at, text, before)
        self._mark(fill, at, text, line, before)
        chosen = self._between(fill, seen)
        room = seen - 1 - self._reserve - at - line.content
        if chosen is None and len(fill.marks) > 1 and (room < 1 or undecided(text, line)):
            ranked = [mark for mark in fill.marks[1:] if mark.rank >= Rank.ITEM]
            chosen = (ranked or fill.marks)[-1]
        return self._inside_line(fill, seen) if chosen is None else self._before_line(fill, chosen)

    def _between(self, fill: _Fill, seen: int) -> BreakPoint | None:
        """Return the best break between lines, or None to cut the last line."""
        whole = self._whole(fill)
        if whole is not None:
            return whole
        covers: dict[int, Cover] = {}
        for share in (2, 4):
            for least in (Rank.BLOCK, Rank.ITEM, Rank.LINE):
                fitting = [m for m in fill.marks[1:] if m.rank is least and m.weight * share >= self.limit]
                for mark in reversed(fitting):
                    if least is not Rank.LINE or self._free(fill, mark, seen, covers):
                        return mark
        return None

    def _whole(self, fill: _Fill) -> BreakPoint | None:
        """Return the break before the fence or table that overflows, if that leaves a reasonable part."""
        if not in_leaf(fill.marks[-1].before):
            return None
        index = len(fill.marks) - 1
        leaf = fill.marks[-1].before.leaf
        while index > 0 and fill.marks[index].before.leaf is leaf:
            index -= 1
        index -= leaf is Leaf.TABLE and index > 0  # from the delimiter to the header
        while index > 0 and fill.marks[index].rank is Rank.NEVER:
            index -= 1
        mark = fill.marks[index]
        return mark if index > 0 and mark.rank >= Rank.ITEM and mark.weight * 8 >= self.limit else None

    def _free(self, fill: _Fill, mark: BreakPoint, seen: int, covers: dict[int, Cover]) -> bool:
        if mark.line.kind is not BlockKind.TEXT:
            return True
        if mark.first not in covers:
            covers[mark.first] = self._cover(fill, mark, seen)
        return covers[mark.first].free(mark.start)

    def _cover(self, fill: _Fill, mark: BreakPoint, seen: int) -> Cover:
        """Return the inline constructs of the paragraph, heading or row that contains the mark."""
        start = fill.marks[mark.first].start
        reopened = fill.begin.reopened if mark.first == 0 else ""
        return Cover(self.source[start:seen], reopened, start)

    def _before_line(self, fill: _Fill, mark: BreakPoint) -> tuple[str, _Restart]:
        closed = _continues(mark) and mark.weight + self._closing_weight(mark.before) <= self.limit
        part = self._ended(fill, mark.start - 1, mark.before if closed else ScannerState(), "")
        end = self.source.find("\n", mark.start)
        text = self.source[mark.start : None if end < 0 else end]
        line = scan(text, mark.before)
        if mark.line.starts and mark is not fill.marks[-1]:  # true of a table's header only in hindsight
            line = replace(line, starts=True)
        return part, self._restart(mark, line, text)

    def _restart(self, mark: BreakPoint, line: Line, text: str) -> _Restart:
        before = mark.before
        if _continues(mark):
            head, before = self._head(before)
            return _Restart(mark.start, head, before=before)
        if line.kind is BlockKind.TEXT and not line.starts:
            at = mark.start + line.content
            prefix, skipped = escaped(self.source, at)
            return _Restart(
                at + skipped, self._bounded(openers(before.containers) + prefix), "", before, line
            )
        kept = before.containers[: line.kept]
        at, prefix = line.inner if kept else 0, openers(kept)
        new = line.state.containers[line.kept :][:1]
        if new and new[0].reopen != new[0].opener and text.startswith(new[0].opener, at):
            at, prefix = at + len(new[0].opener), prefix + new[0].reopen
        return _Restart(mark.start + at, self._bounded(prefix), "", before, line)

    def _inside_line(self, fill: _Fill, seen: int) -> tuple[str, _Restart]:
        mark = fill.marks[-1]
        first = len(fill.marks) == 1 and fill.begin.line is not None
        low = mark.start + (1 if first else max(1, min(mark.line.content + 1, seen - 1 - mark.start)))
        high = max(low, seen - 1 - self._reserve)
        code = mark.before.leaf is Leaf.FENCE
        cover = None if code else self._cover(fill, mark, seen)
        at = inner_border(self.source, low, high, self.limit // 2, cover)
        spans = cover.around(at) if cover else []
        reopened = "".join(span.opener for span in spans)
        closers = "".join(span.closer for span in reversed(spans))
        if len(closers) > self._reserve or reopened.startswith(("```", "~~~")):  # would open a fence
            reopened = closers = ""
        part = self._ended(fill, at, mark.before if code else ScannerState(), closers)
        end = self.source.find("\n", mark.start)
        line = self._line(fill, mark.start, self.source[mark.start : None if end < 0 else end], mark.before)
        head, before = self._inner_head(mark)
        if not code:
            escape, skipped = escaped(self.source, at) if not reopened else ("", blank(self.source, at))
            head, at = head + reopened + escape, at + skipped
        return part, _Restart(at, self._bounded(head), reopened, before, line)

    def _inner_head(self, mark: BreakPoint) -> tuple[str, ScannerState]:
        """Return the prefix for the rest of a cut line, and the state after it."""
        state = mark.line.state
        if mark.before.leaf is Leaf.FENCE:
            return self._head(mark.before)
        if mark.before.leaf is Leaf.TABLE and mark.line.kind is BlockKind.ROW:
            head, before = self._head(mark.before)
            return head + "| ", before
        if mark.line.kind is BlockKind.HEADING:
            text = self.source[mark.start : mark.start + mark.line.content]
            return openers(state.containers) + "#" * max(1, text.count("#")) + " ", mark.before
        return openers(state.containers), mark.before

    def _head(self, state: ScannerState) -> tuple[str, ScannerState]:
        """Return a fence's opening line, or a table's header, with the surrounding containers."""
        first = openers(state.containers)
        follow = "".join(container.follow for container in state.containers)
        for rows in (state.head, least_head(state)):
            head = "".join((follow if index else first) + row + "\n" for index, row in enumerate(rows))
            if not self._heavy(head):
                return head, replace(state, head=rows)
        return "", ScannerState()

    def _bounded(self, prefix: str) -> str:
        return "" if self._heavy(prefix) else prefix

    def _heavy(self, prefix: str) -> bool:
        return sum(self.weigher.text(line) for line in prefix.split("\n")) * 2 > self.limit

    def _ended(self, fill: _Fill, at: int, state: ScannerState, closers: str) -> str:
        """Return the part up to `at`, with open constructs closed."""
        body = fill.begin.prefix + self.source[fill.begin.at : max(at, fill.begin.at)]
        if state.leaf is Leaf.FENCE:
            return body + "\n" + self._closing(state)
        return body.rstrip() + closers


def _continues(mark: BreakPoint) -> bool:
    """Return whether a break before `mark` would split a fence or a table."""
    return mark.line.kind in (BlockKind.FENCE_LINE, BlockKind.FENCE_CLOSE, BlockKind.ROW)
