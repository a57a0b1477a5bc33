"""Locate complete and unfinished inline constructs in a piece of a paragraph's source.

markdown-it reports no source positions for inlines, which the splitter (possible cuts) and the stream closer
(open constructs) need. Linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass, replace

from bot.render.inline_tags import BREAK_TAG, CLOSING_TAG, HALF_TAG, OPENING_TAG
from bot.render.opaque import Opaque, OpaqueKind, find_half, find_opaque


@dataclass(frozen=True, slots=True)
class Span:
    """A construct over `[start, end)`. With `opener` it can be closed and reopened inside."""

    start: int
    end: int
    opener: str = ""
    closer: str = ""


@dataclass(frozen=True, slots=True)
class Inlines:
    """Complete constructs in `spans`; unfinished ones in `open`, in order.

    An unfinished span extends to the end of the text. `formulas` are among the spans.
    """

    spans: tuple[Span, ...]
    open: tuple[Span, ...]
    formulas: tuple[Span, ...] = ()


@dataclass(slots=True)
class _Run:
    char: str
    start: int
    count: int
    length: int
    closes: bool
    bracket: int  # how many brackets were open where it stands


_SPECIAL = re.compile(r"[\\`*_~\[\]<&]")
_AUTOLINK = re.compile(r"<(?:[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*|[\w.!#$%&'*+/=?^`{|}~-]+@[\w.-]+)>")
_HALF_AUTOLINK = re.compile(r"<(?:[a-zA-Z][^\s<>]{0,300})?$")
_ENTITY = re.compile(r"&(?:#[xX][0-9a-fA-F]{1,6}|#\d{1,7}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_HALF_ENTITY = re.compile(r"&#?[a-zA-Z0-9]{0,31}$")
_TARGET = re.compile(
    r"\([ \t\n]*(?:<[^<>\n]*>|(?:\\.|[^\s()\\]|\((?:\\.|[^\s()\\])*\))*)"
    r"(?:[ \t\n]+(?:\"(?:\\.|[^\"\\]){0,500}\"|'(?:\\.|[^'\\]){0,500}'|\((?:\\.|[^()\\]){0,500}\)))?"
    r"[ \t\n]*\)"
)
_HALF_TARGET = re.compile(r"\([^\n]{0,2000}$")
_BACKTICKS = re.compile(r"`+")
_LOOK_BACK = 100  # openers looked at for one closer; keeps hostile text linear


_CJK = re.compile(
    "[\u1100-\u11ff\u20a9\u2329\u232a\u2e80-\u303e\u3041-\ua4c6\ua960-\ua97c\uac00-\ud7fb\uf900-\ufaff\ufe10-\ufe19"
    "\ufe30-\ufe6b\uff01-\uffee\U00016fe0-\U00018df2\U0001aff0-\U0001b2fb\U0001f200-\U0001f265\U00020000-\U0003fffd]"
)
"""East Asian wide, full-width and half-width characters without emoji, and Hangul (Unicode 17)."""
_SELECTOR = re.compile("[\ufe00-\ufe0e]")
_IDEOGRAPHIC_SELECTOR = re.compile("[\U000e0100-\U000e01ef]")
_ASCII_SYMBOLS = frozenset("$+<=>^`|~")


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char)[0] == "P" or char in _ASCII_SYMBOLS


def flanks(text: str, start: int, end: int, limit: int | None = None) -> tuple[bool, bool]:
    """Return whether the delimiter run `text[start:end]` may open, and whether it may close, emphasis.

    The text ends at `limit`. Beside Chinese, Japanese and Korean characters, which are written without
    spaces, punctuation does not matter for `*` and `~` (github.com/tats-u/markdown-cjk-friendly,
    specification.md; CommonMark otherwise).
    """
    before = text[start - 1] if start else " "
    after = text[end] if end < (len(text) if limit is None else limit) else " "
    selector = before if _SELECTOR.match(before) else ""
    if selector and start > 1 and not text[start - 2].isspace():
        before = text[start - 2]
    if before.isspace() or after.isspace():
        return not after.isspace(), not before.isspace()
    mark_before, mark_after = _is_punctuation(before), _is_punctuation(after)
    if text[start] == "_":
        left, right = not mark_after or mark_before, not mark_before or mark_after
        return left and (not right or mark_before), right and (not left or mark_after)
    beside = _CJK.match(after) or _CJK.match(before) or _IDEOGRAPHIC_SELECTOR.match(before)
    if beside or (selector == "\ufe01" and before in "‘’“”"):
        return True, True
    return not mark_after or mark_before, not mark_before or mark_after


class _Scanner:
    """A single left-to-right pass, as an object because delimiters and brackets are two stacks."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.spans: list[Span] = []
        self.open: list[Span] = []
        self.runs: list[_Run] = []
        self.brackets: list[int] = []
        self.formulas: list[Span] = []
        self.tags: list[tuple[str, Span]] = []
        self.opaque = find_opaque(text)[::-1]
        self.half = find_half(text)
        if self.opaque and self.half < self.opaque[0].end:
            last = self.opaque[0]
            self.half = last.end if self.half == last.start and last.end < len(text) else -1
        self.ticks: dict[int, list[int]] = {}
        for run in _BACKTICKS.finditer(text):
            self.ticks.setdefault(run.end() - run.start(), []).append(run.start())

    def scan(self) -> Inlines:
        at = 0
        while True:
            found = _SPECIAL.search(self.text, at)
            opaque = self._next_opaque(at, found.start() if found else len(self.text))
            if opaque is not None:
                if opaque.kind is OpaqueKind.FORMULA:
                    self.formulas.append(Span(opaque.start, opaque.end))
                at = self._atom(opaque.start, opaque.end)
            elif found is not None:
                at = self._special(found[0], found.start())
            else:
                break
        whole = (span for span in self.spans if not span.opener or span.opener.startswith("`"))
        if self.half >= 0 and not any(span.start < self.half < span.end for span in whole):
            self.open.append(Span(self.half, len(self.text)))
        end = len(self.text)
        for run in self.runs:
            for size in self._sizes(run):
                mark = run.char * size
                self.open.append(Span(run.start, end, mark, mark))
        self.open += [Span(start, end) for start in self.brackets]
        self.open += [span for _, span in self.tags]
        self.open.sort(key=lambda span: span.start)
        return Inlines(tuple(self.spans), tuple(self.open), tuple(self.formulas))

    def _next_opaque(self, at: int, limit: int) -> Opaque | None:
        """Return the opaque construct that starts between `at` and `limit`, dropping those before."""
        while self.opaque and self.opaque[-1].start < at:
            self.opaque.pop()
        return self.opaque.pop() if self.opaque and self.opaque[-1].start <= limit else None

    @staticmethod
    def _sizes(run: _Run) -> list[int]:
        if run.char == "~":
            return [2] if run.count >= 2 else []
        return ([1] if run.count % 2 else []) + [2] * (run.count // 2)

    def _special(self, char: str, at: int) -> int:
        """Handle the special character at `at`; return the position at which to continue."""
        if char == "\\":
            return self._atom(at, min(at + 2, len(self.text)))
        if char == "`":
            return self._code(at)
        if char in "*_~":
            return self._delimiter(char, at)
        if char in "<&":
            return self._angle_or_entity(char, at)
        if char == "[":
            self.brackets.append(at - 1 if at and self.text[at - 1] == "!" else at)
            return at + 1
        return self._bracket_end(at)

    def _atom(self, start: int, end: int) -> int:
        whole = end - start > 1
        (self.spans if whole else self.open).append(Span(start, end))
        return end

    def _code(self, at: int) -> int:
        run = _BACKTICKS.match(self.text, at)
        size = len(run[0]) if run else 1
        same = self.ticks.get(size, [])
        index = bisect_right(same, at)
        mark = "`" * size
        if index < len(same):
            end = same[index] + size
            self.spans.append(Span(at, end, mark, mark))
            return end
        self.open.append(Span(at, len(self.text), mark, mark))
        return at + size

    def _angle_or_entity(self, char: str, at: int) -> int:
        whole, half = (_AUTOLINK, _HALF_AUTOLINK) if char == "<" else (_ENTITY, _HALF_ENTITY)
        if found := whole.match(self.text, at):
            return self._atom(at, found.end())
        if char == "<" and (end := self._tag(at)):
            return end
        if half.match(self.text, at) or (char == "<" and HALF_TAG.match(self.text, at)):
            self.open.append(Span(at, len(self.text)))
        return at + 1

    def _tag(self, at: int) -> int:
        """Handle a tag that formats text; return its end, or 0 if there is none."""
        if found := BREAK_TAG.match(self.text, at):
            return self._atom(at, found.end())
        if found := OPENING_TAG.match(self.text, at):
            name = found["name"].lower()
            self.tags.append((name, Span(at, len(self.text), found[0], f"</{name}>")))
            return found.end()
        if found := CLOSING_TAG.match(self.text, at):
            name = found["name"].lower()
            index = next(
                (i for i in reversed(range(len(self.tags))[-_LOOK_BACK:]) if self.tags[i][0] == name), -1
            )
            if index >= 0:
                self.spans.append(replace(self.tags[index][1], end=found.end()))
                del self.tags[index:]
                return found.end()
        return 0

    def _bracket_end(self, at: int) -> int:
        if not self.brackets:
            return at + 1
        start = self.brackets.pop()
        target = _TARGET.match(self.text, at + 1)
        if target:
            while self.runs and self.runs[-1].start > start:
                self.runs.pop()
            self.spans.append(Span(start, target.end()))
            return target.end()
        if at + 1 == len(self.text) or _HALF_TARGET.match(self.text, at + 1):
            self.open.append(Span(start, len(self.text)))
        return at + 1

    def _delimiter(self, char: str, at: int) -> int:
        end = at
        while end < len(self.text) and self.text[end] == char:
            end += 1
        opens, closes = flanks(self.text, at, end)
        count = end - at
        if closes:
            count = self._close(char, at, count, opens)
        if opens and count:
            self.runs.append(_Run(char, end - count, count, end - at, closes, len(self.brackets)))
        return end

    def _close(self, char: str, at: int, count: int, opens: bool) -> int:
        """Match a closing run with the openers on the stack; return the number of its remaining
        characters.
        """
        least, length = (2 if char == "~" else 1), count
        while count >= least:
            near = range(len(self.runs) - 1, max(len(self.runs) - _LOOK_BACK, 0) - 1, -1)
            index = next((i for i in near if _may_pair(self.runs[i], char, length, opens)), None)
            if index is None or self.runs[index].bracket < len(self.brackets):
                break
            opener = self.runs[index]
            size = 2 if min(opener.count, count) >= 2 else 1
            if size < least:
                break
            mark = char * size
            opener.count -= size
            self.spans.append(Span(opener.start + opener.count, at + size, mark, mark))
            at, count = at + size, count - size
            del self.runs[index + (opener.count > 0) :]
        return count


def _may_pair(opener: _Run, char: str, length: int, opens: bool) -> bool:
    """Return whether a run closes `opener`, by CommonMark's "multiple of 3" rule if one is ambiguous."""
    if opener.char != char or char == "~" or not (opener.closes or opens):
        return opener.char == char
    return (opener.length + length) % 3 > 0 or (opener.length % 3 == 0 and length % 3 == 0)


def scan_inline(text: str) -> Inlines:
    """Find the inline constructs in `text`, the source of a paragraph or a part of one."""
    return _Scanner(text).scan()
