"""Rich messages with blocks of headings, tables, lists and media, converted to Markdown.

The structure is that of core.telegram.org/bots/api#richmessage (Bot API 10.3).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from bot import content
from bot.content import CardLink
from bot.domain import Attachment, Mention
from bot.platforms.payload import (
    Json,
    Malformed,
    get_int,
    get_object,
    get_objects,
    get_string,
    require_int,
    require_object,
)
from bot.platforms.telegram.attachments import MAX_FILES, read_file
from bot.platforms.telegram.buttons import read_button
from bot.platforms.telegram.formatted_text import (
    NOBODY,
    TelegramIdentity,
    TelegramReceivedText,
    format_date,
    mention_user,
    mention_username,
)
from bot.platforms.telegram.locations import read_place

MAX_DEPTH = 24
"""Maximum number of blocks and texts within each other that are read."""
_LITERALS = {"custom_emoji": "alternative_text", "mathematical_expression": "expression"}
"""Texts without an inner text, and the field that holds theirs."""
_MARKS = {"code": "`", "strikethrough": "~~"}
_OWN_MENTION = "\0"
_AROUND_OWN = re.compile(r"(?:(?<![^\s])\0[ ,:]*)|\0")


@dataclass(frozen=True, slots=True)
class RichMessage:
    """A rich message: its title, if it starts with one, the other `lines`, its files, and the addressing
    information in its text.
    """

    title: str
    lines: tuple[str, ...]
    attachments: tuple[Attachment, ...]
    reading: TelegramReceivedText


def read_rich(message: Json, identity: TelegramIdentity = NOBODY) -> RichMessage | None:
    """Return a message's rich message, or None if it has none. Raises Malformed."""
    if message.get("rich_message") is None:
        return None
    number = str(get_int(message, "message_id")) if message.get("message_id") is not None else ""
    return _RichReader(identity, number).read(require_object(message, "rich_message"))


class _RichReader:
    """Reads one rich message."""

    def __init__(self, identity: TelegramIdentity, number: str) -> None:
        self._identity = identity
        self._number = number
        self._attachments: list[Attachment] = []
        self._mentions: dict[Mention, None] = {}
        self._commands: list[str] = []
        self._blocks: Mapping[str, Callable[[Json, int], list[str]]] = {
            "heading": self._read_heading,
            "pre": self._read_code,
            "divider": lambda _block, _depth: [],
            "anchor": lambda _block, _depth: [],
            "mathematical_expression": lambda block, _depth: [get_string(block, "expression")],
            "list": self._read_list,
            "blockquote": self._read_quotation,
            "expandable_blockquote": self._read_quotation,
            "pullquote": self._read_quotation,
            "table": self._read_table,
            "details": self._read_details,
            "map": self._read_map,
            "buttons": self._read_buttons,
        }

    def read(self, rich: Json) -> RichMessage:
        blocks = get_objects(rich, "blocks")
        has_title = bool(blocks) and blocks[0].get("type") == "heading"
        whole = self._read_blocks(blocks, 0)
        title = self._clean(whole[0].lstrip("# ")) if has_title and whole else ""
        return RichMessage(
            title=title,
            lines=tuple(self._clean(line) for line in whole[bool(title) :]),
            attachments=tuple(self._attachments[:MAX_FILES]),
            reading=self._read_own("\n".join(whole)),
        )

    def _read_own(self, whole: str) -> TelegramReceivedText:
        """Return the text as the author's own."""
        text = self._clean(whole).strip()
        command = next((one for one in self._commands if text.startswith(one)), "")
        tag = command.partition("@")[2]
        is_ours = bool(tag) and f"@{tag}".casefold() == self._identity.tag
        if is_ours:
            text = command.partition("@")[0] + text.removeprefix(command)
        named = is_ours or _OWN_MENTION in whole
        other = bool(tag) and not is_ours
        if other and named:
            text = f"`{command}`{text.removeprefix(command)}"
        return TelegramReceivedText(text, named, bool(command), other and not named, tuple(self._mentions))

    def _clean(self, text: str) -> str:
        return _AROUND_OWN.sub("", text)

    def _read_blocks(self, blocks: Iterable[Json], depth: int) -> list[str]:
        if depth > MAX_DEPTH:
            return ["…"]
        return [line for block in blocks for line in self._read_block(block, depth + 1)]

    def _read_block(self, block: Json, depth: int) -> list[str]:
        """Return a block's lines; a malformed block is omitted, so that the others remain readable."""
        try:
            kind = get_string(block, "type")
            if kind in self._blocks:
                return self._blocks[kind](block, depth)
            file = read_file(block, f"{self._number}_{len(self._attachments) + 1}")
            if file is not None:
                return self._read_media(block, file, depth)
            lines = self._read_blocks(get_objects(block, "blocks"), depth)
            return [*lines, *self._lines(block.get("text"), depth), *self._read_caption(block, depth)]
        except Malformed:
            return ["[unreadable]"]

    def _lines(self, text: object, depth: int) -> list[str]:
        return [line for line in [self._read_text(text, depth)] if line]

    def _read_heading(self, block: Json, depth: int) -> list[str]:
        level = min(max(get_int(block, "size", 1), 1), 6)
        return [f"{'#' * level} {self._read_text(block.get('text'), depth)}"]

    def _read_code(self, block: Json, depth: int) -> list[str]:
        code = self._read_text(block.get("text"), depth)
        fence = "~~~" if "```" in code else "```"
        return [f"{fence}{get_string(block, 'language')}\n{code}\n{fence}"]

    def _read_list(self, block: Json, depth: int) -> list[str]:
        lines: list[str] = []
        for item in get_objects(block, "items"):
            label = get_string(item, "label") or "-"
            if item.get("has_checkbox"):
                label = f"- [{'x' if item.get('is_checked') else ' '}]"
            texts = self._read_blocks(get_objects(item, "blocks"), depth)
            first, *rest = "\n".join(texts).split("\n")
            lines += [f"{label} {first}", *(f"  {line}" for line in rest)]
        return lines

    def _read_quotation(self, block: Json, depth: int) -> list[str]:
        texts = [*self._lines(block.get("text"), depth)]
        texts += self._read_blocks(get_objects(block, "blocks"), depth)
        credit = self._read_text(block.get("credit"), depth)
        quoted = "\n".join([*texts, *([f"— {credit}"] if credit else [])])
        return [f"> {line}" for line in quoted.split("\n")]

    def _read_table(self, block: Json, depth: int) -> list[str]:
        """Return a table in Markdown; one with two columns and row headings as named values."""
        rows = block.get("cells")
        if not isinstance(rows, list):
            raise Malformed("cells is not a list")
        cells = [get_objects({"row": row}, "row") for row in rows]
        texts = [
            [self._read_text(cell.get("text"), depth).replace("\n", " ") for cell in row] for row in cells
        ]
        caption = self._lines(block.get("caption"), depth)
        is_named = bool(cells) and all(
            len(row) == 2 and row[0].get("is_header") and not row[1].get("is_header") for row in cells
        )
        if is_named:
            return [*caption, *(f"{name}: {value}" for name, value in texts)]
        lines = [f"| {' | '.join(row)} |" for row in texts]
        if cells and any(cell.get("is_header") for cell in cells[0]):
            lines.insert(1, f"|{' --- |' * len(cells[0])}")
        return [*caption, *lines]

    def _read_details(self, block: Json, depth: int) -> list[str]:
        return [
            *self._lines(block.get("summary"), depth),
            *self._read_blocks(get_objects(block, "blocks"), depth),
        ]

    def _read_map(self, block: Json, depth: int) -> list[str]:
        return [*read_place(block).text.split("\n"), *self._read_caption(block, depth)]

    def _read_buttons(self, block: Json, _depth: int) -> list[str]:
        links = (read_button(one) for one in get_objects(block, "buttons"))
        return [content.link_text(link) for link in links if link is not None]

    def _read_media(self, block: Json, file: Attachment, depth: int) -> list[str]:
        self._attachments.append(file)
        return [f"[{file.filename}]", *self._read_caption(block, depth)]

    def _read_caption(self, block: Json, depth: int) -> list[str]:
        caption = block.get("caption")
        if not isinstance(caption, dict) or "type" in caption:
            return self._lines(caption, depth)
        text, credit = (
            self._read_text(caption.get("text"), depth),
            self._read_text(caption.get("credit"), depth),
        )
        return [line for line in [text, f"({credit})" if credit else ""] if line]

    def _read_text(self, text: object, depth: int) -> str:
        """Read a RichText: a string, a list, or an object with a type."""
        if text is None or depth > MAX_DEPTH:
            return "…" if text is not None else ""
        if isinstance(text, str):
            return get_string({"text": text}, "text").replace(_OWN_MENTION, "")
        if isinstance(text, list):
            return "".join(self._read_text(part, depth + 1) for part in text)
        if not isinstance(text, dict):
            raise Malformed("text is not a rich text")
        return self._read_styled(text, depth)

    def _read_styled(self, text: Json, depth: int) -> str:
        kind, inner = get_string(text, "type"), self._read_text(text.get("text"), depth + 1)
        if kind in _LITERALS:
            return get_string(text, _LITERALS[kind])
        if kind in ("mention", "text_mention"):
            return self._read_mention(text, inner)
        if kind == "bot_command":
            self._commands.append(inner)
        if kind == "url":
            return content.link_text(CardLink(inner, get_string(text, "url")))
        date = format_date(require_int(text, "unix_time")) if kind == "date_time" else ""
        mark = _MARKS.get(kind, "")
        return f"{mark}{inner}{mark}" + (f" ({date})" if date else "")

    def _read_mention(self, text: Json, shown: str) -> str:
        user = get_object(text, "user")
        if self._identity.is_mentioned("" if user else shown, user):
            return _OWN_MENTION
        mention = mention_user(user, shown) if user else mention_username(shown)
        self._mentions[mention] = None
        return f"@{mention.name}"
