"""Choice of break points for splitting Markdown, and prefixes that preserve the meaning of the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate

from bot.render.block_scanner import BlockKind, Container, Leaf, Line, ScannerState, split_row
from bot.render.inline_scanner import Span, scan_inline
from bot.render.measure import grapheme_border


class Rank(IntEnum):
    """Quality of a break before a line."""

    NEVER = 0
    LINE = 1
    ITEM = 2
    BLOCK = 3


@dataclass(frozen=True, slots=True)
class BreakPoint:
    """A line of the part being filled: its index in the source, and the preceding weight of the part.

    `first` is the number of the part's line where the paragraph of this one starts.
    """

    start: int
    line: Line
    before: ScannerState
    weight: int
    rank: Rank
    first: int = 0


_NO_BORDER_BEFORE = (BlockKind.BLANK, BlockKind.UNDERLINE, BlockKind.DELIMITER, BlockKind.FENCE_CLOSE)
_NO_BORDER_AFTER = (BlockKind.HEADING, BlockKind.UNDERLINE, BlockKind.FENCE_OPEN, BlockKind.DELIMITER)
_UNDECIDED = re.compile(r"[-+*=_#>|:~`\s]*(?:\d{1,9}[.)]?\s*)?$")  # may yet become markup


def rank(text: str, line: Line, before: ScannerState, previous: BlockKind) -> Rank:
    """Return the rank of a break before the line `text`; `previous` is the kind of the last non-blank
    line.
    """
    if line.kind in _NO_BORDER_BEFORE or previous in _NO_BORDER_AFTER:
        return Rank.NEVER
    if line.starts:
        sibling = line.kept > 0 or (before.containers and line.state.containers)
        return Rank.ITEM if sibling else Rank.BLOCK
    return Rank.NEVER if line.kind is BlockKind.TEXT and undecided(text, line) else Rank.LINE


def undecided(text: str, line: Line) -> bool:
    """Return whether the beginning of a line may still turn into other markup."""
    return _UNDECIDED.match(text, line.content if line.kind is BlockKind.TEXT else line.inner) is not None


def _paint(ranges: Iterable[tuple[int, int]], length: int) -> list[int]:
    """Return for each position the number of ranges that contain it."""
    steps = [0] * (length + 1)
    for start, end in ranges:
        if start < min(end, length):
            steps[start] += 1
            steps[min(end, length)] -= 1
    return list(accumulate(steps[:length]))


class Cover:
    """Inline constructs that cover positions in `text`; `shift` is the text's index in the source."""

    def __init__(self, text: str, reopened: str, shift: int) -> None:
        found = scan_inline(reopened + text)
        self._shift = shift - len(reopened)
        self._spans = sorted(found.spans, key=lambda span: span.start)
        end = len(reopened + text)
        # an unfinished construct that nothing can reopen is believed in only while it is short
        self._spans += [span for span in found.open if span.opener or end - span.start <= 300]
        inside = [(span.start + 1, span.end) for span in self._spans]
        fixed: list[tuple[int, int]] = []
        for span in self._spans:
            if not span.opener:
                fixed.append((span.start + 1, span.end))
            else:
                fixed.append((span.start + 1, span.start + len(span.opener) + 1))
                fixed.append((span.end - len(span.closer), span.end))
        self._inside, self._fixed = _paint(inside, end + 1), _paint(fixed, end + 1)

    def free(self, at: int) -> bool:
        """Return whether a cut at `at` splits no construct."""
        place = at - self._shift
        return place >= len(self._inside) or not self._inside[place]

    def reopenable(self, at: int) -> bool:
        """Return whether every construct that a cut at `at` splits can be closed and reopened."""
        place = at - self._shift
        return place >= len(self._fixed) or not self._fixed[place]

    def around(self, at: int) -> list[Span]:
        """Return the reopenable constructs that a cut at `at` splits, outermost first."""
        place = at - self._shift
        return [span for span in self._spans if span.opener and span.start < place < span.end]


_SENTENCE = re.compile(r"[.!?…][\"')\]”’»*_]*[ \t]+|[。！？][”」』）]*")
_WORD = re.compile(r"[ \t]+|[，、；：]")
_OPAQUE = ("```", "~~~")


def inner_border(source: str, low: int, high: int, reach: int, cover: Cover | None) -> int:
    """Return the best place in `[low, high]` to cut a line.

    `reach` characters before `high` count as full enough. Without `cover` the text is code: only words and
    characters matter.
    """
    middle = max(low, high - reach)
    words = [found.end() for found in _WORD.finditer(source, low, high)]
    if cover is None:
        return _last(words, middle, high) or _grapheme(source, low, high)
    words = [at for at in words if not source.startswith(_OPAQUE, at)]
    free = [at for at in words if cover.free(at)]
    ends = [found.end() for found in _SENTENCE.finditer(source, low, high)]
    best = _last((at for at in ends if cover.free(at)), middle, high) or _last(free, middle, high)
    if best:
        return best
    at = _grapheme(source, low, high)
    if cover.free(at):
        return at
    early = _last(free, max(low, high - reach - reach // 2), high)
    inside = _last((at for at in words if cover.reopenable(at)), middle, high)
    return early or inside or _inside(source, low, at, cover)


def _inside(source: str, low: int, at: int, cover: Cover) -> int:
    """Return the last grapheme boundary at which all split constructs can be reopened."""
    for place in range(at, max(low, at - 400), -1):
        if cover.reopenable(place) and grapheme_border(source, place) == place:
            return place
    return at


def _grapheme(source: str, low: int, high: int) -> int:
    at = grapheme_border(source, high)
    return at if at >= low else high


def _last(places: Iterable[int], low: int, high: int) -> int:
    """Return the last of the ascending `places` within the bounds, or 0 if there is none."""
    return max((place for place in places if low <= place <= high), default=0)


def in_leaf(state: ScannerState) -> bool:
    """Return whether the open block should preferably stay whole."""
    return state.leaf in (Leaf.FENCE, Leaf.TABLE)


_BLOCK_START = re.compile(
    r"#{1,6}(?=[ \t]|$)|>|[-+*](?=[ \t]|$)|[-_=~]{3}|`{3}(?=[^`\n]*$)|(\d{1,9})(?=[.)](?:[ \t]|$))",
    re.MULTILINE,
)


def least_head(state: ScannerState) -> tuple[str, ...]:
    """Return the shortest head that preserves a fence or table."""
    if state.fence:
        return (state.fence[:3],)
    columns = len(split_row(state.head[1]))
    return "|" + " |" * columns, "|" + "-|" * columns


def openers(containers: tuple[Container, ...]) -> str:
    """Return the markers that reopen `containers`, on one line."""
    return "".join(container.reopen for container in containers)


def blank(source: str, at: int) -> int:
    """Count the spaces and tabs at `at`."""
    end = at
    while end < len(source) and source[end] in " \t":
        end += 1
    return end - at


def escaped(source: str, at: int) -> tuple[str, int]:
    """Return an escape that keeps the next characters literal text, and the number of replaced characters."""
    skipped = blank(source, at)
    found = _BLOCK_START.match(source, at + skipped)
    if found is None:
        return "", skipped
    if found[1]:
        return found[1] + "\\", skipped + len(found[1])
    return "\\", skipped
