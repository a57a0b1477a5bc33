"""Markdown for Slack, which renders it natively except for length, unfinished markup and mentions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.domain import Mention, MentionKind
from bot.render.inline_scanner import scan_inline
from bot.render.measure import characters
from bot.render.mentions import write_mentions
from bot.render.native_markdown import adapt_markdown
from bot.render.partial_markdown import GrowingFrame, close_open
from bot.render.renderer import Renderer, Splitter, length_limit
from bot.render.split import GrowingSplit

MARKDOWN_LIMIT = 12_000
"""Characters of `markdown_text` in one call (docs.slack.dev, chat.postMessage and chat.startStream)."""
PART_LIMIT = MARKDOWN_LIMIT - 100
"""What a part may be: a mark may be put in front of one."""
TEXT_LIMIT = 1_000
"""Characters of a part as mrkdwn: chat.update takes 4,000 bytes, in which a character has up to four."""
_LONGEST_HELD = 400
_COMMANDS = ("channel", "here", "everyone", "group", "subteam", "date")
_CONTROL = re.compile(
    "|".join([r"(?<=<[@#][A-Z])(?=[A-Z0-9])", *(f"(?<=<!{one[:-1]})(?={one[-1]})" for one in _COMMANDS)])
)
"""In the id of a mention, or before the last letter of a command such as `<!channel>`
(docs.slack.dev/messaging/formatting-message-text). Not earlier, because `<!doctype html>` or `<#if x>` can be
code to copy. Found from what stands before, so that a text that grows is escaped alike.
"""
_MENTIONED = {
    MentionKind.PERSON: re.compile(r"[UW][A-Z0-9]{2,20}"),
    MentionKind.CHANNEL: re.compile(r"[CG][A-Z0-9]{2,20}"),
    MentionKind.ROLE: re.compile(r"S[A-Z0-9]{2,20}"),
}
_SIGN = {MentionKind.PERSON: "@", MentionKind.CHANNEL: "#", MentionKind.ROLE: "!subteam^"}
"""docs.slack.dev/messaging/formatting-message-text#advanced"""
_FENCES = ("```", "~~~")


@dataclass(frozen=True, slots=True)
class SlackRenderer:
    """Parts of at most `part` characters; each frame is a prefix of the next."""

    name: str = "slack"
    limits: str = length_limit(f"{MARKDOWN_LIMIT:,} characters")
    part: int = PART_LIMIT

    def split(self, markdown: str) -> list[str]:
        return self.growing().split(markdown)

    def growing(self) -> Splitter:
        return GrowingSplit(limit=self.part, measure=_length)

    def frame(self, markdown: str) -> str:
        """Return the certain beginning of the text.

        It is a prefix of the text, so that a stream can go on from it: nothing is closed here. An open code
        block is shown as it grows; other markup is held back until it is closed, unless it is long.
        """
        return _frame(markdown, close_open(markdown))

    def framing(self) -> Callable[[str], str]:
        growing = GrowingFrame()
        return lambda markdown: _frame(markdown, growing.close(markdown))


def render_slack(markdown: str, mentions: Sequence[Mention] = ()) -> str:
    """Return a message's text, in which only `mentions` are Slack mentions or commands."""
    adapted = adapt_markdown(markdown, MARKDOWN_LIMIT, escape=_escape_controls)
    return write_mentions(adapted, mentions, _write_mention, limit=MARKDOWN_LIMIT)[0]


def _escape_controls(markdown: str) -> str:
    return _CONTROL.sub("\u200b", markdown) if "<" in markdown else markdown


def _write_mention(mention: Mention) -> str:
    pattern = _MENTIONED.get(mention.kind)
    if pattern is None or not pattern.fullmatch(mention.id):
        return ""
    return f"<{_SIGN[mention.kind]}{mention.id}>"


def _length(markdown: str) -> int:
    return characters(markdown) + (len(_CONTROL.findall(markdown)) if "<" in markdown else 0)


def _frame(markdown: str, closed: str) -> str:
    shown = certain(markdown, closed)
    return shown if shown.strip() else ""


def certain(markdown: str, closed: str) -> str:
    """Return the longest beginning of an unfinished text whose rendering is final; `closed` is its closed
    form.
    """
    shown = _common(closed, markdown)
    closers = closed[len(shown) :]
    if not closers or any(fence in closers for fence in _FENCES):
        return shown
    start = shown.rfind("\n\n") + 1
    opened = [start + span.start for span in scan_inline(shown[start:]).open if span.opener]
    cut = min(opened, default=len(shown))
    return shown[:cut].rstrip() if len(shown) - cut <= _LONGEST_HELD else shown


def _common(left: str, right: str) -> str:
    if right.startswith(left):
        return left
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if right.startswith(left[:middle]) else (low, middle - 1)
    return left[:low]


SLACK: Renderer = SlackRenderer()
SLACK_TEXT: Renderer = SlackRenderer(limits=length_limit(f"{TEXT_LIMIT:,} characters"), part=TEXT_LIMIT - 50)
"""For servers that take no Markdown."""
