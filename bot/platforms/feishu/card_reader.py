"""Interactive cards: the simplified format in events, card JSON 1.0 and card JSON 2.0.

Events hold `title` and `elements` (paragraphs of nodes), and the card as its app sent it in `user_dsl`; cards
that have no simplified form show UPGRADE. The API returns them in full with
`card_msg_content_type=user_card_content`. Components: open.feishu.cn, "Card JSON 2.0 structure" and "Card
JSON 1.0 structure".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from bot.content import Card, CardField, CardLink, card, link_text, unsupported
from bot.domain import Quotation
from bot.platforms.feishu.card_tables import chart_lines, table_lines
from bot.platforms.feishu.card_values import (
    child_objects,
    find_address,
    objects,
    pick_language,
    read_choices,
    read_plain,
)
from bot.platforms.feishu.markup import clean_markup
from bot.platforms.feishu.mentions import FeishuMentions
from bot.platforms.payload import Json

UPGRADE = "请升级至最新版本客户端，以查看内容"
"""Feishu's text in place of a card that has no simplified form."""
MAX_LINES = 300
MAX_DEPTH = 12
"""Depth of components within components that is read; the editor allows five."""
_INLINE = frozenset({"text", "a", "at", "lark_md", "plain_text", "md"})
_SELECTIONS = frozenset(
    {"select_static", "multi_select_static", "select_person", "multi_select_person", "select_img"}
)
_PICKERS = {
    "date_picker": "initial_date",
    "picker_time": "initial_time",
    "picker_datetime": "initial_datetime",
    "input": "default_value",
}
"""Components with one value, each with its key."""


def read_card(content: Json, mentions: FeishuMentions) -> Quotation:
    """Read the content of an `interactive` message."""
    simplified = _CardReader(mentions)
    simplified.read_all(content.get("elements"), 0)
    title = simplified.read_text(content.get("title"))
    found = Card(title, lines=simplified.lines)
    sent = _parse_sent(content.get("user_dsl")) or (content if _is_sent_form(content) else None)
    if sent is not None:
        full = _read_sent(sent, mentions)
        found = Card(full.title or title, full.url, lines=full.lines or ([] if full.title else found.lines))
    return card(found) if found.title or found.lines else unsupported("interactive")


def _parse_sent(source: object) -> Json | None:
    if not isinstance(source, str):
        return None
    try:
        loaded = orjson.loads(source)
    except orjson.JSONDecodeError:
        return None
    return loaded if isinstance(loaded, dict) else None


def _is_sent_form(content: Json) -> bool:
    return any(key in content for key in ("schema", "header", "body", "i18n_elements", "i18n_header"))


def _read_sent(sent: Json, mentions: FeishuMentions) -> Card:
    """Read a card as sent by its app."""
    reader = _CardReader(mentions)
    header = sent.get("header") or pick_language(sent.get("i18n_header"))
    header = header if isinstance(header, dict) else {}
    reader.add(reader.read_text(header.get("subtitle")))
    tags = (reader.read_text(one.get("text")) for one in objects(header.get("text_tag_list")))
    reader.add(", ".join(filter(None, tags)))
    body = sent.get("body")
    elements = body.get("elements") if isinstance(body, dict) else sent.get("elements")
    reader.read_all(elements or pick_language(sent.get("i18n_elements")), 0)
    link = sent.get("card_link")
    return Card(
        reader.read_text(header.get("title")),
        find_address(link) if isinstance(link, dict) else "",
        lines=reader.lines,
    )


class _CardReader:
    """Collects the lines of one card."""

    def __init__(self, mentions: FeishuMentions) -> None:
        self.lines: list[str | CardField | CardLink] = []
        self._mentions = mentions

    def add(self, line: str | CardField | CardLink) -> None:
        """Add a line unless it is empty, or the card is already too long."""
        if line and line != UPGRADE and len(self.lines) < MAX_LINES:
            self.lines.append(line)

    def read_text(self, value: object) -> str:
        """Return a text, plain or Markdown, in one language and without tags."""
        return clean_markup(read_plain(value), self._mentions).strip()

    def read_all(self, elements: Any, depth: int) -> None:
        """Read components, or paragraphs of nodes."""
        if not isinstance(elements, list) or depth > MAX_DEPTH:
            return
        for element in elements:
            if isinstance(element, list):
                self._read_paragraph(element, depth)
            elif isinstance(element, dict):
                self._read(element, depth)
            if len(self.lines) >= MAX_LINES:
                return

    def _read_paragraph(self, nodes: list[Any], depth: int) -> None:
        words: list[str] = []
        for node in (one for one in nodes if isinstance(one, dict)):
            if read_plain(node.get("tag")) in _INLINE:
                words.append(self._inline(node))
            else:
                self.add("".join(words).strip())
                words = []
                self._read(node, depth)
        self.add("".join(words).strip())

    def _inline(self, node: Json) -> str:
        tag, text = node.get("tag"), read_plain(node.get("text")) or read_plain(node.get("content"))
        if tag == "at":
            return self._mentions.find(read_plain(node.get("user_id")), read_plain(node.get("user_name")))
        if tag == "a":
            return link_text(CardLink(text, read_plain(node.get("href"))))
        return "" if text == UPGRADE else clean_markup(text, self._mentions)

    def _read(self, element: Json, depth: int) -> None:
        tag = read_plain(element.get("tag"))
        if tag in _SELECTIONS:
            self.add(self._selection(element))
        elif tag in _PICKERS:
            self.add(CardField(self._label(element), self.read_text(element.get(_PICKERS[tag]))))
        elif tag in _READERS:
            _READERS[tag](self, element)
        else:
            self._read_container(element, depth)

    def _read_inline(self, element: Json) -> None:
        self.add(self._inline(element))

    def _read_button(self, element: Json) -> None:
        self.add(CardLink(self.read_text(element.get("text")), find_address(element)))

    def _read_checker(self, element: Json) -> None:
        mark = "x" if element.get("checked") is True else " "
        self.add(f"[{mark}] {self.read_text(element.get('text'))}")

    def _read_menu(self, element: Json) -> None:
        for option in objects(element.get("options")):
            self._read_button(option)

    def _read_persons(self, element: Json) -> None:
        persons = objects(element.get("persons")) or [element]
        self.add(", ".join(self._person(one.get("id") or one.get("user_id")) for one in persons[:50]))

    def _read_picture(self, element: Json) -> None:
        description = self.read_text(element.get("alt"))
        self.add(f"[image: {description}]" if description else "")

    def _read_recording(self, element: Json) -> None:
        self.add(f"[{read_plain(element.get('tag'))}]")

    def _read_table(self, element: Json) -> None:
        for line in table_lines(element, self.read_text, self._person):
            self.add(line)

    def _read_chart(self, element: Json) -> None:
        for line in chart_lines(element, self.read_text):
            self.add(line)

    def _skip(self, element: Json) -> None:
        """Ignore a separator line, which has no text."""

    def _read_container(self, element: Json, depth: int) -> None:
        """Read a container, a text, or an unknown component, whose texts are shown."""
        header = element.get("header")
        if isinstance(header, dict):
            self.add(self.read_text(header.get("title")))
        for key in ("title", "text", "content"):
            self.add(self.read_text(element.get(key)))
        for field in objects(element.get("fields")):
            self.add(" ".join(self.read_text(field.get("text")).split("\n")))
        self.read_all(child_objects(element), depth + 1)
        if address := find_address(element):
            self.add(CardLink("", address))

    def _label(self, element: Json) -> str:
        return self.read_text(element.get("label")) or self.read_text(element.get("placeholder"))

    def _selection(self, element: Json) -> CardField:
        choices = read_choices(element)
        of_people = "person" in read_plain(element.get("tag"))
        named = [
            f"{self._person(one.value) if of_people else self.read_text(one.text)}"
            f"{' (selected)' if one.selected else ''}"
            for one in choices
        ]
        return CardField(self._label(element), ", ".join(named))

    def _person(self, open_id: object) -> str:
        return self._mentions.find(read_plain(open_id)).removeprefix("@")


_READERS: dict[str, Callable[[_CardReader, Json], None]] = {
    "a": _CardReader._read_inline,
    "at": _CardReader._read_inline,
    "button": _CardReader._read_button,
    "checker": _CardReader._read_checker,
    "overflow": _CardReader._read_menu,
    "person": _CardReader._read_persons,
    "person_list": _CardReader._read_persons,
    "img": _CardReader._read_picture,
    "audio": _CardReader._read_recording,
    "video": _CardReader._read_recording,
    "table": _CardReader._read_table,
    "chart": _CardReader._read_chart,
    "hr": _CardReader._skip,
}
"""Components with a form of their own; all others are read as texts and containers."""
