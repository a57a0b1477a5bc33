"""Parsing of mrkdwn, Slack's markup in texts (docs.slack.dev/messaging/formatting-message-text)."""

from __future__ import annotations

import re

from bot.content import CardLink, link_text
from bot.platforms.payload import Json, get_string
from bot.platforms.slack.names import BOT_MARK, Names

_TOKEN = re.compile(r"<([@#!][^<>\n]*|[a-z][a-z0-9+.-]*:[^<>\n]*)>")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_NOTHING = frozenset({"this content can't be displayed.", "[no preview available]"})


def read_mrkdwn(text: str, names: Names) -> str:
    """Return a text with names in place of ids, and links in Markdown."""
    shown = _TOKEN.sub(lambda found: _read_token(found[1], names), text.replace(BOT_MARK, ""))
    for entity, sign in _ENTITIES:
        shown = shown.replace(entity, sign)
    return shown


def read_labels(text: str) -> dict[str, str]:
    """Return the names that a text includes with ids, which rich text lacks."""
    tokens = (token.partition("|") for token in _TOKEN.findall(text))
    return {target.lstrip("@#!").removeprefix("subteam^"): label for target, _, label in tokens if label}


def read_text_object(parent: Json, key: str, names: Names) -> str:
    """Return a text object's text, or a string in its place."""
    value = parent.get(key)
    if not isinstance(value, dict):
        return read_mrkdwn(get_string(parent, key), names)
    text = get_string(value, "text")
    return text if get_string(value, "type") == "plain_text" else read_mrkdwn(text, names)


def close_gaps(text: str) -> str:
    """Close the gaps left by removing the bot's name from its author's text."""
    text = re.sub(rf"^\s*{BOT_MARK}[\s,:]*", "", text)
    # Without the lookbehind, every space of a long run would be tried as its beginning.
    return re.sub(rf"(?<![ \t])[ \t]*{BOT_MARK}|{BOT_MARK}", "", text).strip()


def is_placeholder(text: str) -> bool:
    """Return whether a text is Slack's placeholder for a missing one."""
    return text.strip().replace("’", "'").lower() in _NOTHING


def show_link(url: str, label: str) -> str:
    """Return a link as Markdown; mail and telephone addresses are shown without their scheme."""
    address = url.removeprefix("mailto:").removeprefix("tel:")
    if address != url:
        return f"{label} ({address})" if label and _squeeze(label) != address else label or address
    return link_text(CardLink(label, url))


def _squeeze(label: str) -> str:
    return label.replace(" ", "")


def _read_token(token: str, names: Names) -> str:
    target, _, label = token.partition("|")
    if target.startswith("@"):
        return names.show_person(target[1:], label)
    if target.startswith("#"):
        return names.show_channel(target[1:], label)
    if target.startswith("!subteam^"):
        return names.show_group(target.removeprefix("!subteam^"), label)
    if target.startswith("!date^"):
        address = target.split("^")[3:]
        return show_link(address[0], label) if address else label
    if target.startswith("!"):
        return f"@{label.lstrip('@') or target[1:]}"
    return show_link(target, label)
