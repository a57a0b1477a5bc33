"""Mask what a person said wherever it is quoted literally.

A passage counts as a quotation if it is a run of consecutive words of theirs that is long enough not to be a
coincidence, their complete message, or one distinctive word: an e-mail address, or a word with a digit in it.
Case, punctuation and line breaks between the words make no difference. A paraphrase is not recognised.

The labels that the service puts before quoted messages are masked as well: `"Name" (platform:id)`, and
`(forward "Name"` of a name. Elsewhere a name stays, because many people can have it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from agent.shared.envelope import QuotedText, escape_text, mark_tags, render_quotation

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
_WORD = re.compile(rf"[^\s@<>\"'(),;:]{{1,{_LOCAL_PART}}}@[\w-]+(?:\.[\w-]+)+|[{_WIDE}]|[^\W_{_WIDE}]+")
_IS_WIDE = re.compile(f"[{_WIDE}]")
_KINDS = ("forward", "quote", "shared", "reply")
_SENTENCE = re.compile(r".*?(?:[.!?。！？\n]\s*|\Z)", re.DOTALL)
"""A sentence with the space behind it, so that what stays is unchanged: lists, `1.5`, `a.txt`."""
_GAP = 12
"""Largest number of other characters between two words of a passage."""


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int

    @property
    def letters(self) -> int:
        return 2 if _IS_WIDE.match(self.text) else len(self.text)

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
            self._learn(_split_words(text))
        self._first_words = {said[0] for said in self._whole}
        self._sizes = sorted({len(said) for said in self._whole}, reverse=True)

    def __bool__(self) -> bool:
        return bool(self._whole or self._distinctive or self._labels)

    def apply(self, text: str) -> str:
        """Return the text with the quotations, and the author in labels, replaced by `MASK`."""
        if not self or len(text) < DISTINCTIVE_LETTERS:
            return text
        for mark, pattern, masked in self._labels:
            text = pattern.sub(masked, text) if mark in text else text
        words = _split_words(text)
        pieces, at = [], 0
        for first, last in self._find_passages(words):
            self.masked += 1
            pieces += [text[at : words[first].start], MASK]
            at = words[last].end
        return "".join([*pieces, text[at:]]) if pieces else text

    def _learn(self, words: Sequence[_Word]) -> None:
        said = tuple(word.text for word in words)
        for first, second, third in zip(said, said[1:], said[2:], strict=False):
            self._following.setdefault((first, second), set()).add(third)
        self._distinctive |= {word.text for word in words if word.is_distinctive}
        if sum(word.letters for word in words) >= WHOLE_LETTERS:
            self._whole.add(said)

    def _find_passages(self, words: Sequence[_Word]) -> Iterator[tuple[int, int]]:
        """Yield the index of the first and last word of each passage to mask."""
        texts = [word.text for word in words]
        at = 0
        while at < len(words):
            size = self._passage_size(words, at)
            if not size and texts[at] in self._first_words:
                sizes = (n for n in self._sizes if at + n <= len(words))
                size = next((n for n in sizes if tuple(texts[at : at + n]) in self._whole), 0)
            if not size and texts[at] in self._distinctive:
                size = 1
            if size:
                yield at, at + size - 1
            at += size or 1

    def _passage_size(self, words: Sequence[_Word], at: int) -> int:
        """Return the number of words of the passage that starts here, 0 if it is too short."""
        end = at + 2
        while end < len(words) and words[end].start - words[end - 1].end <= _GAP:
            if words[end].text not in self._following.get((words[end - 2].text, words[end - 1].text), ()):
                break
            end += 1
        letters = sum(word.letters for word in words[at:end])
        return end - at if end - at >= PASSAGE_WORDS and letters >= PASSAGE_LETTERS else 0


def _list_labels(authors: Iterable[str], names: Iterable[str]) -> Iterator[tuple[str, re.Pattern[str], str]]:
    """Yield a part, the pattern and the replacement of each label, also as it is quoted within JSON."""
    for author in authors:
        mark = f"({author})"
        yield mark, re.compile(rf'(?<!\\)"(?:[^"\\\n]|\\.)*" {re.escape(mark)}'), f'"{MASK}" ({MASK})'
        yield mark, re.compile(rf'\\"[^"\\\n]*\\" {re.escape(mark)}'), rf'\\"{MASK}\\" ({MASK})'
    for name, kind in product(names, _KINDS):
        for label, masked in zip(_list_forms(kind, name), _list_forms(kind, MASK), strict=True):
            yield label, re.compile(re.escape(label)), masked.replace("\\", r"\\")


def _list_forms(kind: str, name: str) -> list[str]:
    """Return how a quotation of somebody whose id is unknown begins: in a line and as a tag."""
    line = f"({kind} {json.dumps(name, ensure_ascii=False)}"
    tag = render_quotation(QuotedText(kind, "", name=name)).partition(">")[0]
    tags = [tag, mark_tags(tag)] if " name=" in tag else [line, line]
    forms = [line, escape_text(line), *tags]
    return [*forms, *(json.dumps(one, ensure_ascii=False)[1:-1] for one in forms)]


def _split_words(text: str) -> list[_Word]:
    return [_Word(found.group().casefold(), *found.span()) for found in _WORD.finditer(text)]


def mask_sentences(text: str, mask: TextMask, names: Iterable[str]) -> str:
    """Return a text about several people without the sentences that contain one of `names` or a quotation."""
    known = [name.casefold() for name in names if len(name) > 1]
    kept, sentences = [], _SENTENCE.findall(text)
    for sentence in sentences:
        plain = sentence.casefold()
        is_about = any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", plain) for name in known)
        if not is_about and mask.apply(sentence) == sentence:
            kept.append(sentence)
    return text if len(kept) == len(sentences) else "".join(kept).strip()
