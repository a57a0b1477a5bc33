"""Rich texts (`post`): paragraphs of nodes, or Markdown.

Nodes: open.larkoffice.com, im-v1, "Message content" of events. `content_v2` holds the same message as
Markdown, where Feishu has it; `content` is flat then.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bot.content import CardLink, link_text
from bot.domain import Attachment
from bot.platforms.feishu.attachments import file_attachment, image_attachment, video_attachment
from bot.platforms.feishu.markup import clean_markup
from bot.platforms.feishu.mentions import FeishuMentions
from bot.platforms.payload import Json, Malformed, get_object, get_string, get_strings, require_string
from bot.platforms.unreadable import UNREADABLE

_LANGUAGES = ("zh_cn", "en_us")
"""The languages that are read where a rich text comes in several; otherwise its first one is."""
_BODIES = ("content_v2", "content")
_STYLES = {"bold": "**", "italic": "*", "lineThrough": "~~"}
_PICTURE = re.compile(r"!\[([^\]\n]{0,200})\]\((img_[^)\s]{1,300})\)")


@dataclass(slots=True)
class RichText:
    """A rich text being read, with the files among its lines."""

    message_id: str
    mentions: FeishuMentions
    attachments: list[Attachment] = field(default_factory=list)

    def attach(self, file: Attachment) -> str:
        """Add a file, which has no position in the text."""
        self.attachments.append(file)
        return ""


def read_rich_text(
    content: Json, message_id: str, mentions: FeishuMentions
) -> tuple[str, tuple[Attachment, ...]]:
    """Return the text and files of a rich text. Raises Malformed for an unknown format."""
    chosen = _choose_language(content)
    reading = RichText(message_id, mentions)
    title = chosen.get("title")
    lines = [
        title if isinstance(title, str) else "",
        *(_read_paragraph(one, reading) for one in _paragraphs(chosen)),
    ]
    return "\n".join(lines).strip(), tuple(reading.attachments)


def _choose_language(content: Json) -> Json:
    """Return the object with the paragraphs, of which a rich text may contain one per language."""
    if any(key in content for key in _BODIES):
        return content
    chosen = [key for key in _LANGUAGES if key in content]
    found = [get_object(content, key) for key in chosen]
    found += [one for key, one in content.items() if key not in chosen and isinstance(one, dict)]
    filled = (one for one in found if any(one.get(key) for key in _BODIES))
    return next(filled, found[0] if found else content)


def _paragraphs(content: Json) -> list[Any]:
    paragraphs = content.get("content_v2") or content.get("content") or []
    if not isinstance(paragraphs, list):
        raise Malformed("content is not a list")
    return paragraphs


def _read_paragraph(paragraph: Any, reading: RichText) -> str:
    """Read a paragraph, skipping unreadable parts."""
    if not isinstance(paragraph, list):
        return UNREADABLE
    return "".join(_read_node(node, reading) for node in paragraph)


def _read_node(node: Any, reading: RichText) -> str:
    if not isinstance(node, dict):
        return UNREADABLE
    try:
        return _NODES.get(get_string(node, "tag"), _unknown_text)(node, reading)
    except Malformed:
        return _unknown_text(node, reading) or UNREADABLE


def _styled_text(node: Json, reading: RichText) -> str:
    del reading
    text = get_string(node, "text")
    words = text.strip()
    if not words:
        return text
    marks = "".join(_STYLES.get(one, "") for one in get_strings(node, "style"))
    before, _, after = text.partition(words)
    return f"{before}{marks}{words}{marks[::-1]}{after}"


def _markdown_text(node: Json, reading: RichText) -> str:
    def name_picture(found: re.Match[str]) -> str:
        picture = image_attachment(reading.message_id, found[2])
        reading.attach(picture)
        return f"[{found[1] or 'image'}: {picture.filename}]"

    return clean_markup(_PICTURE.sub(name_picture, get_string(node, "text")), reading.mentions)


def _link_text(node: Json, reading: RichText) -> str:
    del reading
    text, href = get_string(node, "text"), get_string(node, "href")
    return link_text(CardLink(text, href)) if href else text


def _mention_text(node: Json, reading: RichText) -> str:
    return reading.mentions.find(get_string(node, "user_id"), get_string(node, "user_name"))


def _code_text(node: Json, reading: RichText) -> str:
    del reading
    return f"\n```{get_string(node, 'language').lower()}\n{get_string(node, 'text')}\n```\n"


def _rule_text(node: Json, reading: RichText) -> str:
    del node, reading
    return "\n---\n"


def _emoji_text(node: Json, reading: RichText) -> str:
    del reading
    emoji = get_string(node, "emoji_type")
    return f":{emoji}:" if emoji else ""


def _attach_image(node: Json, reading: RichText) -> str:
    return reading.attach(image_attachment(reading.message_id, require_string(node, "image_key")))


def _attach_video(node: Json, reading: RichText) -> str:
    return reading.attach(video_attachment(reading.message_id, node))


def _attach_file(node: Json, reading: RichText) -> str:
    return reading.attach(file_attachment(reading.message_id, node))


def _unknown_text(node: Json, reading: RichText) -> str:
    """Return the text of an unknown kind of node."""
    del reading
    key = next((one for one in ("text", "content") if isinstance(node.get(one), str)), "text")
    return get_string(node, key) if isinstance(node.get(key), str) else ""


_NODES: dict[str, Callable[[Json, RichText], str]] = {
    "text": _styled_text,
    "md": _markdown_text,
    "a": _link_text,
    "at": _mention_text,
    "code_block": _code_text,
    "hr": _rule_text,
    "emotion": _emoji_text,
    "img": _attach_image,
    "media": _attach_video,
    "file": _attach_file,
}
