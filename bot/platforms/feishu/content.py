"""Content of a message: its author's text with names in place of mentions, its files, and other content as
quotations.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson
import structlog

from bot.content import sticker, unsupported
from bot.domain import Attachment, Mention, Quotation, QuotationKind
from bot.platforms.feishu.attachments import (
    file_attachment,
    image_attachment,
    video_attachment,
    voice_attachment,
)
from bot.platforms.feishu.card_reader import read_card
from bot.platforms.feishu.mentions import FeishuMentions, FeishuNames
from bot.platforms.feishu.message_kinds import read_kind
from bot.platforms.feishu.rich_text import read_rich_text
from bot.platforms.payload import Json, Malformed, get_object, get_objects, get_string, require_string

log = structlog.get_logger(__name__)

MERGED = "merge_forward"
"""The type of several messages that were forwarded together; its content is plain text, not JSON."""
CARD = "interactive"
_FILES = {"file": file_attachment, "media": video_attachment, "audio": voice_attachment}
_OWN_CONTENT = frozenset({"text", "post", "image", *_FILES})


@dataclass(frozen=True, slots=True)
class FeishuContent:
    """A message's content. `named`: it mentions the bot, whose name is not in the text; `forwarded`: it only
    contains others' messages, which must be fetched.
    """

    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    quotations: tuple[Quotation, ...] = ()
    mentions: tuple[Mention, ...] = ()
    named: bool = False
    forwarded: bool = False

    @property
    def is_notice(self) -> bool:
        """Return whether the platform wrote the message, not its sender."""
        return bool(self.quotations) and all(one.kind is QuotationKind.NOTICE for one in self.quotations)

    @property
    def quoted_text(self) -> str:
        """Return the content as quotation text, without file names."""
        forwarded = "[forwarded messages]" if self.forwarded else ""
        return "\n".join(filter(None, [self.text, forwarded, *map(_inline_text, self.quotations)]))


def read_content(message: Json, bot: str, names: FeishuNames) -> FeishuContent:
    """Read a message's content in event format; unknown formats are identified by name.

    Raises Malformed for a message without an id or a type.
    """
    mentions = FeishuMentions(message, bot, names)
    kind = require_string(message, "message_type")
    require_string(message, "message_id")
    if kind == MERGED:
        return FeishuContent(forwarded=True)
    if kind in _OWN_CONTENT:
        try:
            return _read_own(kind, message, mentions)
        except Malformed as problem:
            log.warning("feishu.content_unreadable", kind=kind, reason=str(problem))
            return FeishuContent(
                quotations=(unsupported(kind),), mentions=mentions.listed, named=mentions.named
            )
    is_card_for_bot = kind == CARD and mentions.named
    return FeishuContent(quotations=(_read_other(kind, message, mentions, names),), named=is_card_for_bot)


def _read_own(kind: str, message: Json, mentions: FeishuMentions) -> FeishuContent:
    """Read content written or uploaded by the author. Raises Malformed."""
    message_id = require_string(message, "message_id")
    content = parse_object(get_string(message, "content") or "{}")
    if kind == "text":
        text = mentions.resolve(get_string(content, "text"))
        return FeishuContent(text, mentions=mentions.listed, named=mentions.named)
    if kind == "post":
        text, files = read_rich_text(content, message_id, mentions)
        return FeishuContent(text, files, mentions=mentions.listed, named=mentions.named)
    return FeishuContent(attachments=(_read_file(kind, message_id, content),))


def _read_file(kind: str, message_id: str, content: Json) -> Attachment:
    if kind == "image":
        return image_attachment(message_id, require_string(content, "image_key"))
    return _FILES[kind](message_id, content)


def _read_other(kind: str, message: Json, mentions: FeishuMentions, names: FeishuNames) -> Quotation:
    """Read quoted content; unknown formats are identified by name."""
    try:
        content = parse_object(get_string(message, "content") or "{}")
        if kind == CARD:
            return read_card(content, mentions)
        return read_kind(kind, content, mentions, names)
    except Malformed:
        return sticker("") if kind == "sticker" else unsupported(kind)


def to_event_form(message: Json) -> Json:
    """Convert an API message to the format of events."""
    mentions = [{**one, "id": {"open_id": one.get("id")}} for one in get_objects(message, "mentions")]
    return {
        "message_id": message.get("message_id"),
        "message_type": message.get("msg_type"),
        "content": get_object(message, "body").get("content"),
        "mentions": mentions,
    }


def _inline_text(quotation: Quotation) -> str:
    if quotation.kind is QuotationKind.STICKER:
        return f"[sticker {quotation.text}]".replace(" ]", "]")
    return (
        f"[unsupported: {quotation.text}]" if quotation.kind is QuotationKind.UNSUPPORTED else quotation.text
    )


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
    """Return a time (epoch seconds) from a string of milliseconds; 0.0 if absent."""
    text = str(parent.get(key) or "0")
    if not text.isdecimal() or len(text) > 16:
        raise Malformed(f"{key} is not a time")
    return int(text) / 1000
