"""Reads the content of a message: its text with mentions resolved, and its files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import orjson

from bot.domain import Attachment, AttachmentKind
from bot.platforms.feishu.files import resource_ref
from bot.platforms.payload import Json, Malformed, get_object, get_objects, get_string, require_string

MERGED = "merge_forward"
"""The type of several messages that were forwarded together; its content is plain text, not JSON."""
_FILES = ("file", "media")
_LOCALES = ("zh_cn", "en_us", "ja_jp")


@dataclass(frozen=True, slots=True)
class FeishuContent:
    """A message as it was meant. `named` says that the bot was mentioned; its name is not in the text.
    `forwarded` says that it only contains messages of others, which have to be fetched.
    """

    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    unsupported: str = ""
    named: bool = False
    forwarded: bool = False


class FeishuMentions:
    """The placeholders of one message (`@_user_1`) and whom they mean."""

    def __init__(self, message: Json, bot: str) -> None:
        self.named = False
        self._names: dict[str, str] = {}
        for mention in get_objects(message, "mentions"):
            key = require_string(mention, "key")
            ours = get_object(mention, "id").get("open_id") == bot
            self.named = self.named or ours
            self._names[key] = "" if ours else f"@{get_string(mention, 'name') or 'somebody'}"

    def resolve(self, text: str) -> str:
        """Replace placeholders by names, and remove the bot's own."""
        # Longest first: @_user_1 begins @_user_10.
        for key in sorted(self._names, key=len, reverse=True):
            name = self._names[key]
            text = text.replace(f"{key} ", f"{name} " if name else "").replace(key, name)
        return text.replace("@_all", "@all").strip()

    def name(self, key: str, shown: str) -> str:
        """Return the text for one mention of a rich text."""
        if key in self._names:
            return self._names[key]
        return "@all" if key in ("@_all", "all") else f"@{shown or 'somebody'}"


def read_content(message: Json, bot: str) -> FeishuContent:
    """Read the content of a message. Raises Malformed."""
    mentions = FeishuMentions(message, bot)
    kind, message_id = require_string(message, "message_type"), require_string(message, "message_id")
    if kind == MERGED:
        return FeishuContent(named=mentions.named, forwarded=True)
    content = parse_object(get_string(message, "content") or "{}")
    if kind == "text":
        return FeishuContent(mentions.resolve(get_string(content, "text")), named=mentions.named)
    if kind == "post":
        return _read_post(content, message_id, mentions)
    if kind == "image":
        picture = _image_attachment(message_id, require_string(content, "image_key"))
        return FeishuContent(attachments=(picture,), named=mentions.named)
    if kind in _FILES:
        key = require_string(content, "file_key")
        name = get_string(content, "file_name") or f"{kind}_{key[-8:]}"
        file = Attachment(AttachmentKind.FILE, name, resource_ref(message_id, key))
        return FeishuContent(attachments=(file,), named=mentions.named)
    return FeishuContent(unsupported=kind, named=mentions.named)


def to_event_form(message: Json) -> Json:
    """Convert a message as the API returns it to the form in which events hold it."""
    mentions = [{**one, "id": {"open_id": one.get("id")}} for one in get_objects(message, "mentions")]
    return {
        "message_id": message.get("message_id"),
        "message_type": message.get("msg_type"),
        "content": get_object(message, "body").get("content"),
        "mentions": mentions,
    }


def _image_attachment(message_id: str, key: str) -> Attachment:
    name = f"image_{key[-8:]}.png"
    return Attachment(AttachmentKind.IMAGE, name, resource_ref(message_id, key), mime="image/png")


def _read_post(content: Json, message_id: str, mentions: FeishuMentions) -> FeishuContent:
    """Read a rich text; one that names a language has its content one level deeper."""
    if "content" not in content:
        content = next((get_object(content, key) for key in _LOCALES if key in content), content)
    paragraphs = content.get("content")
    if not isinstance(paragraphs, list):
        raise Malformed("content is no list")
    pictures: list[Attachment] = []
    lines = [get_string(content, "title")]
    for paragraph in paragraphs:
        if not isinstance(paragraph, list) or not all(isinstance(node, dict) for node in paragraph):
            raise Malformed("a paragraph is no list of objects")
        lines.append("".join(_node_text(node, mentions) for node in paragraph))
        pictures += [
            _image_attachment(message_id, require_string(node, "image_key"))
            for node in paragraph
            if node.get("tag") == "img"
        ]
    text = "\n".join(lines).strip()
    return FeishuContent(text, tuple(pictures), named=mentions.named)


def _node_text(node: Json, mentions: FeishuMentions) -> str:
    read = _NODES.get(get_string(node, "tag"))
    return read(node, mentions) if read is not None else ""


def _styled_text(node: Json, mentions: FeishuMentions) -> str:
    del mentions
    return get_string(node, "text")


def _link_text(node: Json, mentions: FeishuMentions) -> str:
    del mentions
    text, href = get_string(node, "text"), get_string(node, "href")
    return href if text in ("", href) else f"[{text}]({href})"


def _mention_text(node: Json, mentions: FeishuMentions) -> str:
    return mentions.name(get_string(node, "user_id"), get_string(node, "user_name"))


def _code_text(node: Json, mentions: FeishuMentions) -> str:
    del mentions
    return f"\n```{get_string(node, 'language').lower()}\n{get_string(node, 'text')}\n```\n"


def _rule_text(node: Json, mentions: FeishuMentions) -> str:
    del node, mentions
    return "\n---\n"


_NODES: dict[str, Callable[[Json, FeishuMentions], str]] = {
    "text": _styled_text,
    "md": _styled_text,
    "a": _link_text,
    "at": _mention_text,
    "code_block": _code_text,
    "hr": _rule_text,
}


def parse_object(data: bytes | str) -> Json:
    """Parse a JSON object. Raises Malformed."""
    try:
        loaded = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise Malformed("not JSON") from None
    if not isinstance(loaded, dict):
        raise Malformed("no JSON object")
    return loaded


def read_time(parent: Json, key: str) -> float:
    """Return a time (epoch seconds) that is written as a string of milliseconds; 0.0 where absent."""
    text = str(parent.get(key) or "0")
    if not text.isdecimal() or len(text) > 16:
        raise Malformed(f"{key} is no time")
    return int(text) / 1000
