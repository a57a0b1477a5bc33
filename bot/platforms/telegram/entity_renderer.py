"""Telegram messages as text with entities, which every Bot API version understands."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from rich.cells import cell_len

from bot.domain import Mention, MentionKind
from bot.render.addresses import is_spelled_out, spell_address
from bot.render.block_scanner import split_row
from bot.render.entities import EntityMark, Laid, Style, lay_out
from bot.render.measure import utf16_units
from bot.render.mentions import MentionPlace, find_mentions, names_in
from bot.render.parse import parse
from bot.render.renderer import CODE_TABLES, MarkdownRenderer, Renderer, length_limit
from bot.render.split import GrowingSplit

TELEGRAM_TEXT_LIMIT = 4096
"""UTF-16 units in a message after entities (python-telegram-bot 22.8,
`constants.MessageLimit.MAX_TEXT_LENGTH`).
"""

TELEGRAM_ENTITY_LIMIT = 100
"""Entities in a message (python-telegram-bot 22.8, `constants.MessageLimit.MESSAGE_ENTITIES`)."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A MessageEntity: `offset` and `length` in UTF-16 units; `url` for a text_link, `language` for a pre,
    and `user` (an id) for a text_mention.
    """

    type: Style
    offset: int
    length: int
    url: str = ""
    language: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True)
class RenderedTelegram:
    """Arguments of sendMessage: text and entities, no parse mode."""

    text: str
    entities: tuple[Entity, ...]


_USER = re.compile(r"[1-9]\d{0,19}")
_ADDRESS = re.compile(r"https?://(?:[\w.~:+-]+@)?[\w-]*\.[\w.-]*\w(?::(\d{1,5}))?(?:[/?#]|$)", re.IGNORECASE)
_NUMBERED = re.compile(r"[ \t>]*\d{1,9}[.)]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")  # encoded in addresses
_WRAPS: tuple[Style, ...] = ("bold", "italic", "strikethrough")
_SINGLE: tuple[Style, ...] = ("blockquote", "text_link", "code")
_IMPORTANCE: dict[Style, int] = {
    "pre": 0,
    "text_mention": 1,
    "text_link": 1,
    "blockquote": 2,
    "code": 3,
    "bold": 4,
    "italic": 5,
    "strikethrough": 5,
}


def render_entities(markdown: str, mentions: Sequence[Mention] = ()) -> RenderedTelegram:
    """Render `markdown` as text and at most `TELEGRAM_ENTITY_LIMIT` entities, in order, outer ones first.

    The people in `mentions` get entities of their own where the text names them.

    `pre` and `code` contain and are contained in nothing but a quote (the Bot API's rule), quotes do not
    nest; if there are too many entities, the least important kinds go first and only formatting is lost.
    """
    laid = _lay_out(markdown)
    marks = sorted([*laid.marks, *_mark_people(laid, mentions)], key=lambda mark: (mark.start, -mark.end))
    marks = [mark for mark in _allowed(marks) if laid.text[mark.start : mark.end].strip()]
    if len(marks) > TELEGRAM_ENTITY_LIMIT:
        kept = sorted(marks, key=lambda mark: _IMPORTANCE[mark.style])[:TELEGRAM_ENTITY_LIMIT]
        marks = sorted(kept, key=lambda mark: (mark.start, -mark.end))
    return RenderedTelegram(laid.text, _entities(laid.text, marks))


def _lay_out(markdown: str) -> Laid:
    """Lay out `markdown`, spelling out addresses that Telegram would refuse as links."""
    laid = lay_out(parse(markdown))
    kept, hidden = [], []
    for mark in laid.marks:
        if mark.style != "text_link" or _is_linkable(mark.data):
            kept.append(mark)
        elif not is_spelled_out(laid.text[mark.start : mark.end], mark.data):
            hidden.append(mark)
    hidden = sorted(reversed(hidden), key=lambda mark: mark.end)  # of an image in a link, the image's first
    return _put_in(laid.text, kept, [(mark.end, f" ({spell_address(mark.data)})") for mark in hidden])


def _is_linkable(address: str) -> bool:
    """Return whether Telegram accepts an address as a link; a single invalid link causes the whole message to
    be refused.

    Hosts need a dot, so that `http://localhost` is none (tdlib: LinkManager::check_link_impl). `mailto:` is
    taken for a host.
    """
    found = _ADDRESS.match(address)
    return found is not None and (not found[1] or 0 < int(found[1]) < 65_536)


def _put_in(text: str, marks: Sequence[EntityMark], added: Sequence[tuple[int, str]]) -> Laid:
    """Insert texts at their ascending indices, shifting the marks.

    A text at the end of a mark stays outside it, unless the mark is a quote.
    """
    places = [at for at, _ in added]
    pieces = [text[start:at] + new for start, (at, new) in zip([0, *places], added, strict=False)]
    moves = list(accumulate((len(new) for _, new in added), initial=0))
    moved = []
    for mark in marks:
        count_before = bisect_right if mark.style == "blockquote" else bisect_left
        start = mark.start + moves[bisect_right(places, mark.start)]
        moved.append(replace(mark, start=start, end=mark.end + moves[count_before(places, mark.end)]))
    return Laid("".join(pieces) + text[places[-1] if places else 0 :], tuple(moved))


def is_telegram_person(mention: Mention) -> bool:
    """Return whether Telegram can mention a person by the id: it is a numeric account id."""
    return mention.kind is MentionKind.PERSON and _USER.fullmatch(mention.id) is not None


def _mark_people(laid: Laid, mentions: Sequence[Mention]) -> list[EntityMark]:
    """Mark people mentioned outside code, links and quotes."""
    return [
        EntityMark("text_mention", one.start, one.end, one.mention.id)
        for one in find_mentions(laid.text, names_in(laid.text, mentions))
        if is_telegram_person(one.mention) and not any(_is_in_the_way(mark, one) for mark in laid.marks)
    ]


def _is_in_the_way(mark: EntityMark, place: MentionPlace) -> bool:
    """Return whether a mark may not contain a mention, or only overlaps it."""
    if mark.end <= place.start or place.end <= mark.start:
        return False
    return mark.style not in _WRAPS or mark.start > place.start or mark.end < place.end


def _entities(text: str, marks: Sequence[EntityMark]) -> tuple[Entity, ...]:
    units: Sequence[int] = range(len(text) + 1)
    if not text.isascii():
        units = list(accumulate((2 if char > "\uffff" else 1 for char in text), initial=0))
    out = []
    for mark in marks:
        offset = units[mark.start]
        length = units[mark.end] - offset
        url = mark.data if mark.style == "text_link" else ""
        language = mark.data if mark.style == "pre" else ""
        user = mark.data if mark.style == "text_mention" else ""
        out.append(Entity(mark.style, offset, length, url, language, user))
    return tuple(out)


def _allowed(marks: Sequence[EntityMark]) -> list[EntityMark]:
    """Drop marks that may not nest, and cut formatting around code."""
    kept: list[EntityMark] = []
    ends: dict[Style, int] = {}
    for mark in marks:  # by start, outer ones first
        outer = "text_link" if mark.style == "code" else mark.style
        if mark.style in _SINGLE and mark.start < ends.get(outer, 0):
            continue
        ends[mark.style] = mark.end
        kept.append(mark)
    codes = [mark for mark in kept if mark.style in ("code", "pre")]
    out = [mark for mark in kept if mark.style not in _WRAPS]
    for mark in kept:
        if mark.style in _WRAPS:
            out += _around(mark, codes)
    return sorted(out, key=lambda mark: (mark.start, -mark.end))


def _around(mark: EntityMark, codes: Sequence[EntityMark]) -> list[EntityMark]:
    """Return the pieces of `mark` between the codes in it."""
    pieces, start = [], mark.start
    first = bisect_left(codes, mark.start, key=lambda code: code.start)
    for code in codes[first:]:
        if code.start >= mark.end:
            break
        pieces.append(replace(mark, start=start, end=code.start))
        start = code.end
    pieces.append(replace(mark, start=start))
    return [piece for piece in pieces if piece.end > piece.start]


@dataclass(frozen=True, slots=True)
class TelegramWeigher:
    """Bounds for text with entities: markup disappears, blocks are separated, tables are drawn as grids."""

    def text(self, line: str) -> int:
        if not line.strip():
            return 0
        weight = utf16_units(line.expandtabs(4)) + 2
        if "|" in line:  # may be a table's header, which is drawn with a rule below
            weight = 2 * max(weight, cell_len(line) + 2)
        weight += 2 * len(_CONTROL.findall(line))
        return weight + 3 * (_NUMBERED.match(line) is not None)

    def code(self, line: str) -> int:
        return utf16_units(line) + 1

    def cells(self, row: str) -> tuple[int, ...]:
        return tuple(
            max(utf16_units(cell), cell_len(cell)) + 2 * len(_CONTROL.findall(cell))
            for cell in split_row(row)
        )

    def grid(self, widths: Sequence[int], rows: int) -> int:
        return rows * (sum(widths) + 3 * len(widths))


def _entity_units(markdown: str) -> int:
    return utf16_units(_lay_out(markdown).text)


def growing_for_telegram() -> GrowingSplit:
    """Return `split_for_telegram` for a growing text."""
    return GrowingSplit(limit=TELEGRAM_TEXT_LIMIT, measure=_entity_units, weigher=TelegramWeigher())


def split_for_telegram(markdown: str) -> list[str]:
    """Split into parts whose text after `render_entities` is at most `TELEGRAM_TEXT_LIMIT` units."""
    return growing_for_telegram().split(markdown)


TELEGRAM_ENTITIES: Renderer = MarkdownRenderer(
    "telegram-entities",
    growing_for_telegram,
    f"{CODE_TABLES} {length_limit(f'{TELEGRAM_TEXT_LIMIT:,} characters')}",
)
