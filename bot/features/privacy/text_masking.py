"""Mask what a person said wherever others quote it literally.

A passage counts as a quotation if it is a run of consecutive words of theirs that is long enough not to be a
coincidence, their complete message, or one distinctive word: an e-mail address, or a word with a digit in it.
Case, punctuation and line breaks between the words make no difference, also if they are escaped as in JSON. A
paraphrase is not recognised.

An answer can also repeat how the service labels what somebody said: `"Name" (platform:id) "text"`, or only
the name as a JSON string if the platform tells no id. Elsewhere a name stays: many people can have it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

MASK = "[erased]"
"""Replacement for a masked passage or field."""
PASSAGE_LETTERS, PASSAGE_WORDS = 20, 3
"""Smallest number of letters, and of words, of a passage within a message. A Chinese, Japanese or Korean
character counts as two letters and as a word.
"""
WHOLE_LETTERS = 8
"""Smallest number of letters of a complete message that is masked within a longer text."""
DISTINCTIVE_LETTERS, LONG_WORD_LETTERS = 5, 20
"""Smallest length of a word with a digit, and of one without, that is masked by itself."""
_WIDE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_LOCAL_PART = 64
"""Largest length of an e-mail address before its `@` (RFC 5321, 4.5.3.1.1)."""
_WORD = re.compile(rf"\w[^\s@<>\"'(),;:]{{0,{_LOCAL_PART - 1}}}@[\w-]+(?:\.[\w-]+)+|[{_WIDE}]|[^\W_{_WIDE}]+")
_IS_WIDE = re.compile(f"[{_WIDE}]")
_ESCAPE = re.compile(r"\\+[nrtbf]?")
"""A line break or tab of a text in a JSON string, of any depth."""
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_GAP = 12
"""Largest number of other characters between two words of a passage."""


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int

    @property
    def letters(self) -> int:
        return 2 if _IS_WIDE.fullmatch(self.text) else len(self.text)

    @property
    def is_distinctive(self) -> bool:
        if "@" in self.text or len(self.text) >= LONG_WORD_LETTERS:
            return True
        return len(self.text) >= DISTINCTIVE_LETTERS and any(letter.isdigit() for letter in self.text)


class TextMask:
    """Masks the literal quotations of a person's messages; `masked` counts them. Labels with the `person` as
    `platform:id`, or with one of their display `names`, are masked too, and not counted.
    """

    def __init__(self, texts: Iterable[str], names: Iterable[str] = (), person: str = "") -> None:
        self.masked = 0
        self.names = frozenset(filter(None, names))
        self._label = re.compile(rf"{_STRING} \({re.escape(person)}\)(:? {_STRING})?") if person else None
        self._following: dict[tuple[str, str], set[str]] = {}
        self._distinctive: set[str] = set()
        self._whole: set[tuple[str, ...]] = set()
        for text in texts:
            self._learn(_split_words(text))
        sizes: dict[tuple[str, ...], set[int]] = {}
        for said in self._whole:
            sizes.setdefault(said[:2], set()).add(len(said))
        self._sizes = {start: sorted(found, reverse=True) for start, found in sizes.items()}

    def apply(self, text: str) -> str:
        """Return the text with the quotations and labels replaced by `MASK`."""
        for name in self.names:
            text = text.replace(json.dumps(name, ensure_ascii=False), f'"{MASK}"')
        if self._label is not None:
            text = self._label.sub(_mask_label, text)
        words = _split_words(text)
        found = ((words[first].start, words[last].end) for first, last in self._find_passages(words))
        parts, end = list[str](), 0
        for start, stop in _merge_ranges(found):
            parts += [text[end:start], MASK]
            end = stop
            self.masked += 1
        return "".join([*parts, text[end:]])

    def _learn(self, words: Sequence[_Word]) -> None:
        said = tuple(word.text for word in words)
        for first, second, third in zip(said, said[1:], said[2:], strict=False):
            self._following.setdefault((first, second), set()).add(third)
        self._distinctive |= {word.text for word in words if word.is_distinctive}
        if sum(word.letters for word in words) >= WHOLE_LETTERS:
            self._whole.add(said)

    def _find_passages(self, words: Sequence[_Word]) -> Iterator[tuple[int, int]]:
        """Yield the index of the first and last word of each passage to mask; they can overlap."""
        texts = [word.text for word in words]
        searched = 0
        for at, text in enumerate(texts):
            if at >= searched:
                end = self._passage_end(words, at)
                letters = sum(word.letters for word in words[at:end])
                if end - at >= PASSAGE_WORDS and letters >= PASSAGE_LETTERS:
                    yield at, end - 1
                # A passage that begins within this one has the same end.
                searched = max(at + 1, end - 1)
            if size := self._whole_size(texts, at):
                yield at, at + size - 1
            elif text in self._distinctive:
                yield at, at

    def _whole_size(self, texts: Sequence[str], at: int) -> int:
        """Return the number of words of the longest complete message that begins here, or 0 if none does."""
        for start in (tuple(texts[at : at + 2]), (texts[at],)):
            for size in self._sizes.get(start, ()):
                if at + size <= len(texts) and tuple(texts[at : at + size]) in self._whole:
                    return size
        return 0

    def _passage_end(self, words: Sequence[_Word], at: int) -> int:
        """Return the index behind the words from here on that follow one another in a message."""
        end = at + 2
        while end < len(words) and words[end].start - words[end - 1].end <= _GAP:
            if words[end].text not in self._following.get((words[end - 2].text, words[end - 1].text), ()):
                break
            end += 1
        return min(end, len(words))


def _merge_ranges(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges in order, those that overlap as one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _mask_label(found: re.Match[str]) -> str:
    return f'"{MASK}" ({MASK}) "{MASK}"' if found[1] else f'"{MASK}" ({MASK})'


def _split_words(text: str) -> list[_Word]:
    plain = _ESCAPE.sub(lambda found: " " * len(found.group()), text)
    return [_Word(found.group().casefold(), *found.span()) for found in _WORD.finditer(plain)]
