"""Questions with buttons, and their replacement after a choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.shared.text import shorten
from bot.platforms.payload import Json
from bot.platforms.slack.block_limits import BLOCK_LIMIT, fit_blocks
from bot.platforms.slack.mrkdwn_writer import render_mrkdwn

MAX_CHOICES = 25
"""Elements of an actions block (docs.slack.dev/reference/block-kit/blocks/actions-block)."""
LABEL_LIMIT = 75
"""Characters on a button (docs.slack.dev/reference/block-kit/block-elements/button-element)."""
VALUE_LIMIT = 2000
"""Characters of its value (same page)."""
BLOCK_ID_LIMIT = 255
"""Characters of the id of a block (docs.slack.dev/reference/block-kit/blocks/actions-block)."""
FALLBACK_BYTES = 3800
"""UTF-8 bytes of the `text` beside blocks, which notifications show.

chat.update refuses more than 4,000 bytes (measured in openclaw/openclaw#115027).
"""
SECTION_LIMIT = 3000
"""Characters of a section's text (docs.slack.dev/reference/block-kit/blocks/section-block)."""
_PLACE = "roebot"
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
ACTION = "roebot:choice"
FEEDBACK = "roebot:feedback"
"""Id of the action of feedback buttons, whose values are GOOD and BAD."""
GOOD, BAD = "good", "bad"
_RATINGS = (("👍", GOOD), ("👎", BAD))


@dataclass(frozen=True, slots=True)
class SlackClick:
    """A pressed button, and its message; `response_url` answers the person privately.

    `alone`: only they see the message, so it can be changed by the response URL alone.
    """

    chat: str
    ts: str
    user: str
    choice: str
    text: str
    blocks: tuple[Json, ...]
    response_url: str = ""
    alone: bool = False


@dataclass(frozen=True, slots=True)
class ButtonPlace:
    """Location of buttons visible to one person. Slack reports it with a click, but not the message itself.

    `message` is the id of the message as it was returned when it was posted ("" if it has its own ts).
    """

    topic: str = ""
    message: str = ""

    @property
    def block_id(self) -> str:
        """The location as a block id, or "" if it is too long."""
        found = f"{_PLACE}|{self.message}|{self.topic}"
        return found if len(found) <= BLOCK_ID_LIMIT else ""


def read_place(block_id: str) -> ButtonPlace:
    """Parse a location from a block id."""
    kind, _, rest = block_id.partition("|")
    message, _, topic = rest.rpartition("|")
    return ButtonPlace(topic, message) if kind == _PLACE else ButtonPlace()


def button_blocks(choices: Sequence[str], place: ButtonPlace | None = None) -> list[Json]:
    """Build the block of buttons, empty without choices; `place` is for messages visible to one person."""
    if not choices:
        return []
    elements = [
        {
            "type": "button",
            "action_id": f"{ACTION}:{index}",
            "text": {"type": "plain_text", "text": shorten(choice, LABEL_LIMIT), "emoji": False},
            "value": choice[:VALUE_LIMIT],
        }
        for index, choice in enumerate(choices[:MAX_CHOICES])
    ]
    placed = {"block_id": place.block_id} if place is not None and place.block_id else {}
    return [{"type": "actions", **placed, "elements": elements}]


def feedback_blocks() -> list[Json]:
    """Build the block of answer rating buttons (docs.slack.dev/reference/block-kit/block-elements/
    feedback-buttons-element).
    """
    good, bad = ({"text": {"type": "plain_text", "text": sign}, "value": value} for sign, value in _RATINGS)
    element = {"type": "feedback_buttons", "action_id": FEEDBACK, "positive_button": good}
    return [{"type": "context_actions", "elements": [{**element, "negative_button": bad}]}]


def message_content(
    text: str, choices: Sequence[str], place: ButtonPlace | None = None, *, rated: bool = False
) -> Json:
    """Build a message's content: Markdown alone, or as a block above its buttons."""
    if not choices and not rated:
        return {"markdown_text": fit_blocks(text)}
    blocks = [*question_blocks(text, choices, place), *(feedback_blocks() if rated else [])]
    return {"text": fallback_text(text), "blocks": blocks}


def text_content(text: str, choices: Sequence[str], place: ButtonPlace | None = None) -> Json:
    """Build a message's content for servers without Markdown: mrkdwn, in sections above buttons."""
    written = render_mrkdwn(text)
    if not choices:
        return {"text": written}
    starts = range(0, len(written), SECTION_LIMIT)
    parts = [written[start : start + SECTION_LIMIT] for start in starts]
    sections = [{"type": "section", "text": {"type": "mrkdwn", "text": part}} for part in parts]
    return {"text": fallback_text(written), "blocks": [*sections, *button_blocks(choices, place)]}


def fallback_text(text: str) -> str:
    """Return the beginning of a text, at most FALLBACK_BYTES long, without a partial character at its end."""
    return text.encode(errors="ignore")[:FALLBACK_BYTES].decode(errors="ignore")


def question_blocks(text: str, choices: Sequence[str], place: ButtonPlace | None = None) -> list[Json]:
    """Build a block of Markdown above its buttons, with room for another line after a choice."""
    markdown = {"type": "markdown", "text": fit_blocks(text, BLOCK_LIMIT - 2)}
    return [markdown, *button_blocks(choices, place)]


def answered_blocks(click: SlackClick) -> list[Json]:
    """Build the blocks of an answered question: the choice replaces the buttons."""
    blocks = [block for block in click.blocks if block.get("type") != "actions"]
    if not blocks and click.text:
        blocks = [{"type": "markdown", "text": fit_blocks(click.text, BLOCK_LIMIT - 1)}]
    answer = f"✓ {_cut_mrkdwn(click.choice)} — <@{click.user}>"
    return [*blocks, {"type": "context", "elements": [{"type": "mrkdwn", "text": answer}]}]


def _cut_mrkdwn(text: str) -> str:
    """Escape a text, cut to VALUE_LIMIT characters."""
    escaped = [_ENTITIES.get(sign, sign) for sign in text[:VALUE_LIMIT]]
    while sum(map(len, escaped)) > VALUE_LIMIT:
        escaped.pop()
    return "".join(escaped)
