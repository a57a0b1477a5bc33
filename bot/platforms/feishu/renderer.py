"""Markdown for Feishu cards 2.0, measured in bytes of the surrounding request."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.domain import Mention, MentionKind
from bot.render.measure import utf8_bytes
from bot.render.mentions import write_mentions
from bot.render.native_markdown import adapt_markdown
from bot.render.parse import grammar
from bot.render.references import resolve_references
from bot.render.renderer import MarkdownRenderer, Renderer, length_limit
from bot.render.split import GrowingSplit

FEISHU_CARD_LIMIT = 25_000
"""Bytes of a part inside its request; the request may have 30 KB (open.feishu.cn, im-v1 message/patch), and
the card's own frame, its summary and what `card_markdown` adds need the rest.
"""

FEISHU_TABLE_LIMIT = 3
"""Tables in a card; more are refused (code 230099, ErrCode 11310; larksuite/openclaw-lark#65 found three)."""

_MENTIONED_LIMIT = FEISHU_CARD_LIMIT + 2000
"""Characters of a part with its mentions, of which there are at most 20 of some 50 bytes."""
_OPEN_ID = re.compile(r"ou_[A-Za-z0-9]{1,64}")
_DELIMITER = re.compile(r"^(?=.*\|)[ \t>|:-]*-[ \t|:-]*$", re.MULTILINE)
_TABLE_START = re.compile(r"[ \t>]*(?=\|)")
_BACKTICKS = re.compile(r"`+")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_AT = re.compile(r"<(?=/?at\b)", re.IGNORECASE)
_IMAGE = re.compile(r"!(?=\[[^\]\n]*\]\()")
_ESCAPED = re.compile(r'["\\]')
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def feishu_bytes(text: str) -> int:
    """Count the bytes of `text` in a request, where it is escaped twice: card JSON is a string inside
    JSON.
    """
    length = utf8_bytes(text) + 2 * (text.count("\n") + text.count("\t") + text.count("\r"))
    if _ESCAPED.search(text):
        length += 3 * (text.count('"') + text.count("\\"))
    if _CONTROL.search(text):
        length += 6 * len(_CONTROL.findall(text))
    return length


@dataclass(frozen=True, slots=True)
class FeishuWeigher:
    """A line's weight is its bytes, including the additions of `card_markdown` for mentions and tables."""

    measure: Callable[[str], int] = feishu_bytes

    def text(self, line: str) -> int:
        fences = 24 * len(_DELIMITER.findall(line)) if "|" in line else 0
        return self.measure(line) + 3 * line.count("<") + fences + 3

    def code(self, line: str) -> int:
        return self.measure(line) + 3

    def cells(self, row: str) -> tuple[int, ...]:
        del row
        return ()

    def grid(self, widths: Sequence[int], rows: int) -> int:
        return sum(widths) * rows


def growing_for_feishu() -> GrowingSplit:
    """Return a splitter for a growing text, with `FEISHU_CARD_LIMIT`."""
    weigher = FeishuWeigher()
    return GrowingSplit(limit=FEISHU_CARD_LIMIT, measure=weigher.text, weigher=weigher)


def card_markdown(markdown: str) -> str:
    """Return `markdown` in a form that cards display correctly.

    Formulas and tags are adapted, and no `<at>` tag mentions anyone. Images become links, because cards only
    accept uploaded ones, and tables beyond the limit become code; otherwise Feishu refuses the whole card.
    Code is unchanged.
    """
    markdown = adapt_markdown(_few_tables(resolve_references(markdown)), _MENTIONED_LIMIT, feishu_bytes)
    if not _AT.search(markdown) and "![" not in markdown:
        return markdown
    out: list[str] = []
    fence = ""
    for line in markdown.split("\n"):
        opened = _FENCE.match(line)
        if fence:
            if opened and opened[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            out.append(_AT.sub("<\u200b", line))
        elif opened:
            fence = opened[1]
            out.append(_AT.sub("<\u200b", line))
        else:
            out.append(_strip_images_and_mentions(line))
    return "\n".join(out)


def mention_in_card(markdown: str, mentions: Sequence[Mention]) -> str:
    """Return `card_markdown` with mentions (open.feishu.cn, card JSON 2.0, "Rich Text Component")."""
    return write_mentions(card_markdown(markdown), mentions, _write_mention, limit=_MENTIONED_LIMIT)[0]


def _write_mention(mention: Mention) -> str:
    is_person = mention.kind is MentionKind.PERSON and _OPEN_ID.fullmatch(mention.id)
    return f"<at id={mention.id}></at>" if is_person else ""


def _few_tables(markdown: str) -> str:
    """Convert tables beyond the limit to code blocks, except those directly after a list marker."""
    if len(_DELIMITER.findall(markdown)) <= FEISHU_TABLE_LIMIT:
        return markdown
    lines = markdown.split("\n")
    tables = [token.map for token in grammar().parse(markdown) if token.type == "table_open" and token.map]
    for start, after in reversed(tables[FEISHU_TABLE_LIMIT:]):
        end = after
        while end > start and not lines[end - 1].strip(" \t>"):
            end -= 1
        begin = _TABLE_START.match(lines[start])
        if begin is None:
            continue
        runs = _BACKTICKS.findall("\n".join(lines[start:end]))
        fence = begin[0] + "`" * max(3, *(len(run) + 1 for run in runs), 3)
        lines[start:end] = [fence, *lines[start:end], fence]
    return "\n".join(lines)


def _strip_images_and_mentions(line: str) -> str:
    pieces, at = [], 0
    for span in _CODE_SPAN.finditer(line):
        pieces += [_IMAGE.sub("", line[at : span.start()]), span[0]]
        at = span.end()
    pieces.append(_IMAGE.sub("", line[at:]))
    return _AT.sub("<\u200b", "".join(pieces))


FEISHU: Renderer = MarkdownRenderer(
    "feishu",
    growing_for_feishu,
    f"Tables after the first {FEISHU_TABLE_LIMIT} become code blocks, and pictures links. "
    + length_limit(f"{FEISHU_CARD_LIMIT // 1000} KB"),
)
