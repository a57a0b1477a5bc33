"""Mask what a person said wherever it is quoted literally.

A passage counts as a quotation if it is a run of consecutive words of theirs that is long enough not to be a
coincidence, their complete message, or one distinctive word: an e-mail address, or a word with a digit in it.
Case, punctuation and line breaks between the words make no difference, nor do JSON strings around them. A
paraphrase is not recognised.

The labels that the service puts before quoted messages are masked as well: `"Name" (platform:id)` with the
JSON string behind it, `(forward "Name"`, and `@Name (platform:id)` among the mentions of a message. Elsewhere
a name stays, because many people can have it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from agent.shared.envelope import MAX_ATTRIBUTE, QuotedText, escape_text, mark_tags, render_quotation
from agent.shared.escaped_text import Edit, apply_edits, edit_views, iterate_views

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
_KINDS = (
    *("forward", "quote", "shared", "reply", "thread_start", "card", "transcript", "poll", "checklist"),
    *("location", "contact", "sticker", "notice", "preview", "unsupported"),
)
"""All kinds of quotations: any of them can show its author."""
_SENTENCE = re.compile(r".*?(?:[.!?。！？\n]\s*|\Z)", re.DOTALL)
"""A sentence with the space behind it, so that what stays is unchanged: lists, `1.5`, `a.txt`."""
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_MENTION = rf'(?<=["| ])@[^|"<>\n]{{0,{MAX_ATTRIBUTE * len("&quot;")}}}'
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
    """Masks the literal quotations of texts; `masked` counts them. Labels that name their author are masked
    too, and not counted.
    """

    def __init__(self, texts: Iterable[str], authors: Iterable[str] = (), names: Iterable[str] = ()) -> None:
        """`texts` are the messages of the person whose words are masked, `authors` the person as
        `platform:id`, and `names` their display names.
        """
        self.masked = 0
        self.names = frozenset(filter(None, names))
        self._labels = list(_list_labels(authors, self.names))
        self._following: dict[tuple[str, str], set[str]] = {}
        self._distinctive: set[str] = set()
        self._whole: set[tuple[str, ...]] = set()
        for text in texts:
            for view in iterate_views(text):
                self._learn(_split_words(view.text))
        sizes: dict[tuple[str, ...], set[int]] = {}
        for said in self._whole:
            sizes.setdefault(said[:2], set()).add(len(said))
        self._sizes = {start: sorted(found, reverse=True) for start, found in sizes.items()}

    def __bool__(self) -> bool:
        return bool(self._whole or self._distinctive or self._labels)

    def apply(self, text: str) -> str:
        """Return the text with the quotations, and the author in labels, replaced by `MASK`."""
        if not self or len(text) < DISTINCTIVE_LETTERS:
            return text
        shown = edit_views(text, self._find_labels) if self._labels else text
        return apply_edits(shown, ((start, end, MASK) for start, end in self.find_quotations(shown)))

    def find_quotations(self, text: str) -> list[tuple[int, int]]:
        """Return start and end of the quotations in a text, in order, and count them."""
        found: list[tuple[int, int]] = []
        for view in iterate_views(text) if self._whole or self._distinctive else ():
            words = _split_words(view.text)
            for first, last in self._find_passages(words):
                start, end = view.offsets[words[first].start], view.offsets[words[last].end]
                # Half an escape must not stay.
                while start and text[start - 1] == "\\":
                    start -= 1
                found.append((start, end))
        merged = _merge_ranges(found)
        self.masked += len(merged)
        return merged

    def _learn(self, words: Sequence[_Word]) -> None:
        said = tuple(word.text for word in words)
        for first, second, third in zip(said, said[1:], said[2:], strict=False):
            self._following.setdefault((first, second), set()).add(third)
        self._distinctive |= {word.text for word in words if word.is_distinctive}
        if sum(word.letters for word in words) >= WHOLE_LETTERS:
            self._whole.add(said)

    def _find_labels(self, text: str) -> Iterator[Edit]:
        """Yield the edits of labels that name the author."""
        edits = [
            (*found.span(), masked)
            for mark, pattern, masked in self._labels
            if mark in text
            for found in pattern.finditer(text)
        ]
        end = 0
        for edit in sorted(edits, key=lambda one: (one[0], -one[1])):
            if edit[0] >= end:
                yield edit
                end = edit[1]

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
        """Return the number of words of the longest complete message that begins here, 0 if none does."""
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


def _list_labels(authors: Iterable[str], names: Iterable[str]) -> Iterator[tuple[str, re.Pattern[str], str]]:
    """Yield a part, the pattern and the replacement of each label."""
    for author in authors:
        mark = f"({author})"
        label, masked = rf"(?<!\\){_STRING} {re.escape(mark)}", f'"{MASK}" ({MASK})'
        yield mark, re.compile(rf"\[{label}[^\"\n]*{_STRING}[^\"\n]*{_STRING}\]"), f"[{masked}]"
        yield mark, re.compile(rf"{label}:? {_STRING}"), f'{masked} "{MASK}"'
        yield mark, re.compile(label), masked
        yield mark, re.compile(f"{_MENTION} {re.escape(mark)}"), f"@{MASK} ({MASK})"
    for name, kind in product(names, _KINDS):
        for label, masked in zip(_list_forms(kind, name), _list_forms(kind, MASK), strict=True):
            yield label, re.compile(re.escape(label)), masked


def _list_forms(kind: str, name: str) -> list[str]:
    """Return how a quotation of somebody whose id is unknown begins: in a line and as a tag."""
    line = f"({kind} {json.dumps(name, ensure_ascii=False)}"
    tag = render_quotation(QuotedText(kind, "", name=name)).partition(">")[0]
    tags = [tag, mark_tags(tag)] if " name=" in tag else [line, line]
    return [line, escape_text(line), *tags]


def _split_words(text: str) -> list[_Word]:
    return [_Word(found.group().casefold(), *found.span()) for found in _WORD.finditer(text)]


def mask_sentences(text: str, mask: TextMask, names: Iterable[str]) -> str:
    """Return a text about several people without the sentences that contain one of `names` or a quotation."""
    known = [name.casefold() for name in names if len(name) > 1]
    quoted = mask.find_quotations(text)
    kept, sentences = [], list(_SENTENCE.finditer(text))
    for found in sentences:
        sentence, (start, end) = found.group(), found.span()
        plain = sentence.casefold()
        is_about = any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", plain) for name in known)
        is_quoting = any(first < end and start < last for first, last in quoted)
        if not is_about and not is_quoting and mask.apply(sentence) == sentence:
            kept.append(sentence)
    return text if len(kept) == len(sentences) else "".join(kept).strip()
