"""Content of messages in the shapes that Slack delivers: alerts and polls of apps, shared messages, pasted
tables, and the rich text of people (docs.slack.dev/reference/block-kit/blocks).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_TOKEN = re.compile(r"<([@#!][^<>\n]*|[a-z][a-z0-9+.-]*:[^<>\n]*)>")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


def alert(title: str, url: str, text: str = "", fields: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Build the attachment of an alert."""
    return {
        "id": 1,
        "color": "e01e5a",
        "fallback": title,
        "title": title,
        "title_link": url,
        "text": text,
        "fields": [{"title": key, "value": value, "short": True} for key, value in (fields or {}).items()],
        "mrkdwn_in": ["text"],
    }


def poll(question: str, votes: Mapping[str, int]) -> list[dict[str, Any]]:
    """Build the blocks of a poll, as apps post it: Slack has none of its own."""
    vote = {"type": "button", "action_id": "vote", "text": {"type": "plain_text", "text": "Vote"}}
    options = [_section(f"{option}  `{count}`", {**vote, "value": option}) for option, count in votes.items()]
    return [_section(f"*{question}*"), *options]


def table(rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Build the attachment for a pasted table."""
    cells = [[{"type": "raw_text", "text": cell} for cell in row] for row in rows]
    return {"id": 1, "fallback": "[no preview available]", "blocks": [{"type": "table", "rows": cells}]}


def shared_message(
    text: str,
    ts: str,
    author: str,
    author_name: str,
    place: str,
    copied: Sequence[dict[str, Any]],
    *,
    team: str,
) -> dict[str, Any]:
    """Build the attachment with a copy of a shared message."""
    channel = "C0000SRC" if place else "D0000SRC"
    copy = {"team": team, "channel": channel, "ts": ts, "message": {"blocks": [*copied]}}
    named = {"channel_name": place} if place else {}
    return {
        "id": 1,
        "ts": ts,
        "channel_id": channel,
        "channel_team": team,
        "is_msg_unfurl": True,
        "is_share": True,
        "author_id": author,
        "author_name": author_name,
        "author_subname": author_name,
        "author_link": f"https://emulated.slack.com/team/{author}",
        "from_url": f"https://emulated.slack.com/archives/{channel}/p{ts.replace('.', '')}",
        "fallback": f"[November 25th, 2026 9:00 AM] {author_name}: {text}",
        "text": text,
        "mrkdwn_in": ["text"],
        "footer": f"Posted in #{place}" if place else "Slack Conversation",
        **named,
        **({"message_blocks": [copy]} if copied else {}),
    }


def rich_text(text: str) -> list[dict[str, Any]]:
    """Build the blocks that Slack's clients add to people's messages, from mrkdwn; empty without words."""
    if not text:
        return []
    elements: list[dict[str, Any]] = []
    end = 0
    for found in _TOKEN.finditer(text):
        elements += _text_elements(text[end : found.start()])
        elements.append(_element(found[1]))
        end = found.end()
    elements += _text_elements(text[end:])
    section = {"type": "rich_text_section", "elements": elements}
    return [{"type": "rich_text", "block_id": "b0rt1", "elements": [section]}]


def subtitles(text: str) -> str:
    """Build the subtitles of a recording (www.w3.org/TR/webvtt1), a few words at a time."""
    words = text.split()
    cues = [" ".join(words[start : start + 8]) for start in range(0, len(words), 8)]
    timed = [f"{n}\n00:00:{n:02}.000 --> 00:00:{n + 1:02}.000\n- {cue}" for n, cue in enumerate(cues)]
    return "\n\n".join(["WEBVTT", *timed])


def _text_elements(text: str) -> list[dict[str, Any]]:
    for entity, sign in _ENTITIES:
        text = text.replace(entity, sign)
    return [{"type": "text", "text": text}] if text else []


def _element(token: str) -> dict[str, Any]:
    target, _, label = token.partition("|")
    if target.startswith("@"):
        return {"type": "user", "user_id": target[1:]}
    if target.startswith("#"):
        return {"type": "channel", "channel_id": target[1:]}
    if target.startswith("!subteam^"):
        return {"type": "usergroup", "usergroup_id": target.removeprefix("!subteam^")}
    if target.startswith("!"):
        return {"type": "broadcast", "range": target[1:]}
    return {"type": "link", "url": target.replace("&amp;", "&"), **({"text": label} if label else {})}


def _section(text: str, accessory: dict[str, Any] | None = None) -> dict[str, Any]:
    words = {"type": "mrkdwn", "text": text, "verbatim": False}
    return {"type": "section", "text": words, **({"accessory": accessory} if accessory else {})}
