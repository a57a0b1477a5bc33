"""Find names in an answer that become mentions, and format them for a platform.

A name counts behind `@` (`#` for channels) as a whole word and as it is spelled; of several names the longest
one counts. Code, links, quotes and tables keep their text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from bot.domain import Mention
from bot.render.inline_scanner import scan_inline
from bot.render.measure import characters
from bot.render.parse import grammar

MAX_MENTIONS = 20
"""Maximum number of mentions in a message; the text of further ones stays."""
MAX_SIGNS = 1000
"""Maximum number of `@` and `#` signs in a message that are checked for names."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}://\S+")
_SIGNS = re.compile("[@#]")
_NEVER_BEFORE = frozenset("@#/\\=&%+.$<_")
_JOINERS = frozenset("-.@&/'’")
_POSSESSIVE = re.compile(r"['’]s(?!\w)")
_APOSTROPHES = re.compile("['’]")
_MARKUP = re.compile(r"[*_~]")
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_OPAQUE = "`[!<"


@dataclass(frozen=True, slots=True)
class MentionPlace:
    """A mention from `start` to `end` in a text."""

    start: int
    end: int
    mention: Mention


def names_in(text: str, mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """Return the mentions whose name may occur in the text, to limit the search to them."""
    plain = _APOSTROPHES.sub("'", text.replace("\\", ""))
    return tuple(one for one in mentions if _APOSTROPHES.sub("'", one.label) in plain)


def find_mentions(text: str, mentions: Sequence[Mention]) -> list[MentionPlace]:
    """Return the first MAX_MENTIONS mentions in a plain text. A mention without an id is a name that stays
    text.
    """
    names: dict[str, list[tuple[re.Pattern[str], Mention]]] = {}
    for one in sorted(mentions, key=lambda mention: len(mention.name), reverse=True):
        names.setdefault(one.label[0], []).append((re.compile(_spelled(one.label)), one))
    found: list[MentionPlace] = []
    end = 0
    for sign in islice(_SIGNS.finditer(text), MAX_SIGNS) if names else ():
        start = sign.start()
        if start < end or not _starts_word(text, start):
            continue
        place = next(_match_names(text, start, names.get(sign[0], ())), None)
        if place is not None:
            end = place.end
            found += [place] if place.mention.id else []
    return found[:MAX_MENTIONS]


def _match_names(
    text: str, start: int, names: Iterable[tuple[re.Pattern[str], Mention]]
) -> Iterator[MentionPlace]:
    for pattern, mention in names:
        found = pattern.match(text, start)
        if found and _ends_word(text, found.end()):
            yield MentionPlace(start, found.end(), mention)


def find_in_markdown(markdown: str, mentions: Sequence[Mention]) -> list[MentionPlace]:
    """Return the mentions in Markdown, outside code, links, quotes and tables."""
    if not mentions or not _SIGNS.search(markdown):
        return []
    lines = markdown.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    found: list[MentionPlace] = []
    for first, last in _list_running_text(markdown):
        piece = "\n".join(lines[first:last])
        places = find_mentions(piece, mentions)
        opaque = _list_opaque(piece) if places else []
        found += [
            MentionPlace(starts[first] + one.start, starts[first] + one.end, one.mention)
            for one in places
            if not any(start < one.end and one.start < end for start, end in opaque)
        ]
    return found[:MAX_MENTIONS]


def write_mentions(
    markdown: str,
    mentions: Sequence[Mention],
    write: Callable[[Mention], str],
    *,
    limit: int,
    measure: Callable[[str], int] = characters,
) -> tuple[str, tuple[Mention, ...]]:
    """Return Markdown with the mentions replaced by `write`, and the replaced mentions.

    `write` returns "" for a mention that the platform does not have. One that makes the text longer than
    `limit` keeps its text.
    """
    room = limit - measure(markdown)
    pieces: list[str] = []
    written: list[Mention] = []
    end = 0
    for place in find_in_markdown(markdown, mentions):
        shown, name = write(place.mention), markdown[place.start : place.end]
        grows = measure(shown) - measure(name)
        if not shown or grows > room:
            continue
        room -= grows
        pieces += [markdown[end : place.start], shown]
        written.append(place.mention)
        end = place.end
    return "".join([*pieces, markdown[end:]]), tuple(dict.fromkeys(written))


def _list_opaque(text: str) -> list[tuple[int, int]]:
    """Return start and end of code, links, images and addresses in running text."""
    spans = [(one.start, one.end) for one in scan_inline(text).spans if text[one.start] in _OPAQUE]
    return [*spans, *(found.span() for found in _ADDRESS.finditer(text))]


def _list_running_text(markdown: str) -> Iterator[tuple[int, int]]:
    """Yield each paragraph and heading outside quotes as a range of lines, end excluded."""
    hidden = 0
    for token in grammar().parse(markdown):
        if token.type in ("blockquote_open", "table_open"):
            hidden += 1
        elif token.type in ("blockquote_close", "table_close"):
            hidden -= 1
        elif token.type == "inline" and token.map is not None and not hidden:
            yield token.map[0], token.map[1]


def _spelled(label: str) -> str:
    """Return the regular expression for a name in Markdown: with either apostrophe, and a backslash before
    markup.
    """
    escaped = _APOSTROPHES.sub("['’]", re.escape(label))
    return re.sub(r"(?:\\)?([*_~])", r"\\\\?[\1]", escaped) if _MARKUP.search(label) else escaped


def _starts_word(text: str, start: int) -> bool:
    before = text[start - 1 : start]
    return not before or (before not in _NEVER_BEFORE and (_is_wide(before) or not _continues(before)))


def _ends_word(text: str, end: int) -> bool:
    after = text[end : end + 1]
    if not after or (_is_wide(after) and not _is_wide(text[end - 1])):
        return True
    if after in _JOINERS and not _POSSESSIVE.match(text, end):
        return not _continues(text[end + 1 : end + 2])
    return not _continues(after)


def _is_wide(char: str) -> bool:
    return _WIDE.match(char) is not None


def _continues(char: str) -> bool:
    """Return whether a character continues the preceding word: a letter, digit, or invisible joiner."""
    return bool(char) and (char == "_" or unicodedata.category(char)[0] in "LNM" or _is_invisible(char))


def _is_invisible(char: str) -> bool:
    return unicodedata.category(char) in ("Cf", "Co", "Cs")
