"""Conversion of tags in the Markdown of cards and rich texts to plain Markdown.

Tags: open.feishu.cn, "Card JSON 2.0 structure", rich text (Markdown) component.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from bot.platforms.feishu.mentions import FeishuMentions

_MENTION = re.compile(r"<(at|person)\b([^<>]{0,2000})>(?:([^<>]{0,200})</\1>)?")
_ATTRIBUTE = re.compile(r"(\w{1,40})\s{0,4}=\s{0,4}['\"]?([^'\"\s<>]{1,1000})")
_TIME = re.compile(r"<local_datetime\b([^<>]{0,500})>(?:[^<>]{0,200}</local_datetime>)?")
_LINK = re.compile(r"<(?:a|link)\b([^<>]{0,2000})>(?:([^<>]{0,1000})</(?:a|link)>)?")
_PICTURE = re.compile(r"!\[([^\]\n]{0,200})\]\((?!https?:)[^)\s]{1,300}\)")
_STYLE = re.compile(
    r"</?(?:font|text_tag|number_tag|highlight|b|i|u|s|em|strong|p|div|span|code|raw|list|ul|ol|li)"
    r"(?:\s[^<>]{0,500})?/?>"
)
_BREAK = re.compile(r"<(?:br|hr)\s?/?>")


def clean_markup(text: str, mentions: FeishuMentions) -> str:
    """Return Markdown without tags: mentions and times in words, links as Markdown, images as their
    descriptions.
    """
    if "<" in text:
        text = _MENTION.sub(lambda found: _mention_text(found, mentions), text)
        text = _TIME.sub(lambda found: _time_text(found[1]), text)
        text = _LINK.sub(_link_text, text)
        text = _STYLE.sub("", _BREAK.sub("\n", text))
    return _PICTURE.sub(lambda found: f"[image: {found[1]}]" if found[1] else "[image]", text)


def format_time(milliseconds: float) -> str:
    """Return a time (ms since the epoch) in UTC to the minute; "" for 0 and for invalid times."""
    if not 0 < milliseconds < 250_000_000_000_000:
        return ""
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M} UTC"


def _mention_text(found: re.Match[str], mentions: FeishuMentions) -> str:
    """Return a mention; its ids belong to the app that sent the card, so its keys take precedence."""
    attributes = dict(_ATTRIBUTE.findall(found[2]))
    keys = attributes.get("mention_key") or attributes.get("mentions_key")
    ids = attributes.get("ids") or attributes.get("id") or attributes.get("user_id") or ""
    chosen = (keys or ids).split(",")[:50]
    return " ".join(filter(None, (mentions.find(one, (found[3] or "").strip()) for one in chosen)))


def _time_text(attributes: str) -> str:
    at = dict(_ATTRIBUTE.findall(attributes)).get("millisecond", "")
    return format_time(int(at)) if at.isascii() and at.isdecimal() and len(at) < 16 else ""


def _link_text(found: re.Match[str]) -> str:
    attributes = dict(_ATTRIBUTE.findall(found[1]))
    url, label = attributes.get("href") or attributes.get("url") or "", (found[2] or "").strip()
    return f"[{label}]({url})" if label and url and label != url else label or url
