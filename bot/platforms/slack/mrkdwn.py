"""Converts Slack's text to plain text: angle brackets resolved, the bot's own mention removed."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(r"<([@#!][^<>\n]*|[a-z][a-z0-9+.-]*:[^<>\n]*)>")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


@dataclass(frozen=True, slots=True)
class SlackText:
    """A text without the bot's mention.

    `named`: the bot was mentioned; `other`: somebody else was mentioned first.
    """

    text: str
    named: bool = False
    other: bool = False


def read_text(text: str, bot: str) -> SlackText:
    """The text of a message (docs.slack.dev/messaging/formatting-message-text)."""
    mentions = [token[1:].partition("|")[0] for token in _TOKEN.findall(text) if token.startswith("@")]
    named = bot in mentions
    shown = _TOKEN.sub(lambda found: _resolve_token(found[1], bot), text)
    for entity, sign in _ENTITIES:
        shown = shown.replace(entity, sign)
    return SlackText(_close_gaps(shown) if named else shown, named, bool(mentions) and mentions[0] != bot)


def _resolve_token(token: str, bot: str) -> str:
    target, _, label = token.partition("|")
    if target == f"@{bot}":
        return "\x00"
    if target.startswith("@"):
        return f"@{label or target[1:]}"
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    if target.startswith("!"):
        return _resolve_special(target[1:], label)
    address = target.removeprefix("mailto:").removeprefix("tel:")
    return f"{label} ({address})" if label and label not in (address, target) else address


def _resolve_special(target: str, label: str) -> str:
    if target.startswith(("subteam^", "date^")):
        return label or target.partition("^")[2]
    return f"@{label.lstrip('@') or target}"


def _close_gaps(text: str) -> str:
    """Close the gaps that the bot's name left."""
    text = re.sub(r"^\s*\x00[\s,:]*", "", text)
    return re.sub(r"[ \t]*\x00", "", text).strip()
