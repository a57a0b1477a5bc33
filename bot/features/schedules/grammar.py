"""Grammar-based parser for the time phrase at the start of a text: a vocabulary and rows of patterns.

The vocabulary turns words into tokens, each of a kind in capitals, up to the first word that it lacks. A row
is a regular expression over kinds, such as `EVERY (WEEKDAY | WORKDAY)`, which reads one part of a phrase.
Parts come in any order; where several rows match, the longest match counts, so their order does not matter.

A parser generator would not help: a phrase is the beginning of a longer text, Chinese has no
spaces, so the lexer would be ours in any case, LALR has conflicts ("first monday of", "first of"), and
Earley reads whole texts only, in cubic time for hostile ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from bot.errors import ScheduleRefused

MAX_TOKENS = 160
"""Maximum number of words of a phrase, so that a hostile text costs no more than a long one."""
TEXT, TASK, END, SEPARATOR, ODD = "TEXT", "TASK", "FINISH", "SEPARATOR", "ODD"
"""Kinds of a last token: another word, one that begins a task, the end, punctuation, another sign."""
_GAP = re.compile(r"\s*+")
_SEPARATOR = re.compile(r"[:：;；—(（。!！]|\.(?!\S)")
_WORD = re.compile(r"[^\W\d_]|[\"'“”‘’*_`#<\[「《【]")
_TAIL = 32


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text: its kind, value and position."""

    kind: str
    value: Any
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Words:
    """The tokens of one part of a phrase, and today's date, as input of its interpreting function."""

    text: str
    tokens: tuple[Token, ...]
    today: date = date.min

    def all(self, *kinds: str) -> list[Any]:
        """Return the values of tokens of certain kinds."""
        return [one.value for one in self.tokens if one.kind in kinds]

    def first(self, *kinds: str) -> Any:
        """Return the value of the first token of certain kinds, or None if there is none."""
        return next(iter(self.all(*kinds)), None)

    def has(self, *kinds: str) -> bool:
        """Return whether there is a token of certain kinds."""
        return any(one.kind in kinds for one in self.tokens)

    def split(self, *kinds: str) -> list[Words]:
        """Return the words between tokens of certain kinds."""
        found: list[list[Token]] = [[]]
        for one in self.tokens:
            if one.kind in kinds:
                found.append([])
            else:
                found[-1].append(one)
        return [self.part(tokens) for tokens in found if tokens]

    def without(self, *kinds: str) -> Words:
        """Return the words without tokens of certain kinds."""
        return Words(self.text, tuple(one for one in self.tokens if one.kind not in kinds), self.today)

    def part(self, tokens: Sequence[Token]) -> Words:
        """Return a subset of the tokens as words."""
        begin = self.tokens[0].start
        text = self.text[tokens[0].start - begin : tokens[-1].end - begin]
        return Words(text, tuple(tokens), self.today)

    def __str__(self) -> str:
        return " ".join(self.text.split())


Interpret = Callable[[Words], Any]


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A token kind: its pattern, and the function that returns a token's value."""

    kind: str
    pattern: str
    value: Callable[[str], object] = str.lower


def constant(value: object) -> Callable[[str], object]:
    """Return a function that returns a constant value for any word."""
    return lambda _word: value


@dataclass(frozen=True, slots=True)
class Form:
    """A pattern for one part of a phrase, and its interpreting function.

    `after` is a part that has to stand before it, `before` one that must not.
    """

    slot: str
    pattern: str
    interpret: Interpret
    after: str = ""
    before: str = ""


_TOGETHER = (
    frozenset({"cron", "zone"}),
    frozenset({"wait", "zone"}),
    frozenset({"every", "span", "days", "part", "zone"}),
    frozenset({"days", "times", "part", "start", "until", "zone"}),
)
"""The parts that a phrase can have, each at most once."""


@dataclass(slots=True)
class Phrase:
    """The parsed parts of a text, up to the position `end`; they are interpreted when needed."""

    parts: dict[str, tuple[Interpret, Words]] = field(default_factory=dict)
    end: int = 0

    def takes(self, row: Form) -> bool:
        """Return whether the phrase can still accept a row's part."""
        if {row.slot, row.before} & self.parts.keys() or (row.after and row.after not in self.parts):
            return False
        return any({row.slot, *self.parts} <= together for together in _TOGETHER)

    def has(self, *slots: str) -> bool:
        """Return whether any of the parts was parsed."""
        return any(slot in self.parts for slot in slots)

    def find_words(self, slot: str) -> str:
        """Return the words of a part, or "" if it is missing."""
        return str(self.parts[slot][1]) if slot in self.parts else ""

    def value(self, slot: str, today: date = date.min) -> Any:
        """Return a part's interpretation, or None if it is missing. Raises ScheduleRefused."""
        if slot not in self.parts:
            return None
        interpret, words = self.parts[slot]
        return interpret(Words(words.text, words.tokens, today))


class Grammar:
    """A language's vocabulary and rows.

    `ignored` are kinds that may stand between parts. `when` is a pattern of tokens after a phrase that also
    say when, `limits` one of texts that do, and `clock` one of times at the end of a text.
    """

    def __init__(
        self,
        entries: Sequence[Lexeme],
        rows: Sequence[Form],
        *,
        ignored: str,
        when: str,
        limits: str,
        clock: str,
    ) -> None:
        self._entries = entries
        self._lexicon = re.compile(
            "|".join(f"(?P<k{number}>{one.pattern})" for number, one in enumerate(entries)), re.IGNORECASE
        )
        names = sorted({*(one.kind for one in entries), TEXT, TASK, END, SEPARATOR, ODD})
        self._codes: Mapping[str, str] = {name: chr(0xE000 + number) for number, name in enumerate(names)}
        self._rows = [(row, self._compile(row.pattern)) for row in rows]
        self._ignored, self._when = self._compile(f"({ignored})*"), self._compile(when)
        self._limits, self._clock = re.compile(limits, re.IGNORECASE), re.compile(clock, re.IGNORECASE)

    def read(self, text: str, start: int = 0) -> Phrase:
        """Parse the phrase at a position of a text."""
        tokens = self._scan(text, start)
        codes = "".join(self._codes[one.kind] for one in tokens)
        phrase, at = Phrase(end=start), 0
        while (found := self._longest(codes, self._skip(codes, at), phrase)) is not None:
            row, begin, at = found
            words = text[tokens[begin].start : tokens[at - 1].end]
            phrase.parts[row.slot] = (row.interpret, Words(words, tuple(tokens[begin:at])))
            phrase.end = tokens[at - 1].end
        return phrase

    def refuse_more(self, text: str, phrase: Phrase, *, strict: bool) -> None:
        """Refuse a text if words after the phrase add to the time, because a run at the parsed time would be
        wrong.

        `strict` refuses a number that no word follows, too.
        """
        tokens = self._scan(text, phrase.end)
        codes = "".join(self._codes[one.kind] for one in tokens)
        *_, last = tokens
        known = codes[self._skip(codes, 0) : -1]
        only_known = bool(known) and last.kind in {END, SEPARATOR}
        rest = text[phrase.end :].lstrip(" ,，")
        if not phrase.has("times", "wait", "every", "cron") and self._clock.search(
            rest[-_TAIL:].rstrip(" .。!！")
        ):
            only_known = True
        if (
            only_known
            or (strict and last.kind == ODD)
            or self._when.search(known)
            or self._limits.match(rest)
        ):
            raise ScheduleRefused("phrase_part", words=text[: phrase.end].strip(), rest=rest[:40].strip())

    def _scan(self, text: str, at: int) -> list[Token]:
        """Return the tokens from a position; the last token has a kind that no row accepts."""
        tokens: list[Token] = []
        while True:
            at = _end(_GAP.match(text, at))
            match = self._lexicon.match(text, at)
            if match is None or match.lastgroup is None or len(tokens) == MAX_TOKENS:
                return [*tokens, Token(_kind_of_end(text, at, full=match is not None), None, at, at)]
            entry = self._entries[int(match.lastgroup[1:])]
            tokens.append(Token(entry.kind, entry.value(match.group()), at, match.end()))
            if entry.kind == TASK:
                return tokens
            at = match.end()

    def _longest(self, codes: str, at: int, phrase: Phrase) -> tuple[Form, int, int] | None:
        found: tuple[Form, int, int] | None = None
        for row, pattern in self._rows:
            match = pattern.match(codes, at) if phrase.takes(row) else None
            if match is not None and match.end() > (found[2] if found else at):
                found = (row, at, match.end())
        return found

    def _skip(self, codes: str, at: int) -> int:
        return _end(self._ignored.match(codes, at))

    def _compile(self, pattern: str) -> re.Pattern[str]:
        coded = re.sub(r"[A-Z]{2,}", lambda name: self._codes[name.group()], pattern)
        return re.compile(coded.replace(" ", ""))


def _kind_of_end(text: str, at: int, *, full: bool) -> str:
    if full:
        return ODD
    if at >= len(text):
        return END
    if _SEPARATOR.match(text, at):
        return SEPARATOR
    return TEXT if _WORD.match(text, at) else ODD


def _end(match: re.Match[str] | None) -> int:
    assert match is not None
    return match.end()
