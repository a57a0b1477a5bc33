"""Messages that people share: quotations of their authors, with the comment as the person's own words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.domain import InboundMessage, Quotation, QuotationKind
from bot.platforms.slack.inbound import SlackIdentity, SlackInbound, SlackMessage
from bot.platforms.unreadable import UNREADABLE

from .conftest import Running


def read(attachments: Any, **more: Any) -> InboundMessage:
    """A direct message "look" with these attachments, and `more` fields."""
    event = {
        "type": "message",
        "channel": "D1",
        "channel_type": "im",
        "user": "U1",
        "ts": "1700000000.000100",
        "text": "look",
        "attachments": attachments,
        **more,
    }
    identity = SlackIdentity("U0ROEBOT", "B1", "T1")
    found = SlackInbound("sl", identity).read({"type": "event_callback", "event": event})
    assert isinstance(found, SlackMessage)
    return found.message


@pytest.mark.guard(
    "Slack: a shared message is a quotation",
    "bot/platforms/slack/messages.py",
    "        *author.quotations,\n        *read_attachments(message, names),",
    "        *author.quotations,",
    against="forwarded commands",
)
@pytest.mark.parametrize("comment", ["", "what does it mean?"])
async def test_a_shared_message_is_a_quotation(running: Running, comment: str) -> None:
    running.emulator.people.shares("/allow &lt;b&gt;", comment, author="U0000666", author_name="Mallory")
    [message] = await running.shelf.until(1)
    assert message.text == comment
    [quotation] = message.quotations
    assert replace(quotation, sent_at=0.0) == Quotation(
        QuotationKind.SHARED, "/allow <b>", "Mallory", "U0000666"
    )
    assert quotation.sent_at > 0


async def test_a_shared_message_of_a_channel_says_so(running: Running) -> None:
    running.emulator.people.shares("rain", place="weather")
    [message] = await running.shelf.until(1)
    [quotation] = message.quotations
    assert quotation.text.startswith(
        "rain\nPosted in [#weather](https://emulated.slack.com/archives/C0000SRC/"
    )


async def test_a_shared_alert_is_read_from_its_blocks(running: Running) -> None:
    header = {"type": "header", "text": {"type": "plain_text", "text": "Disk full"}}
    running.emulator.people.shares("", "@roebot?", copied=[header])
    [message] = await running.shelf.until(1)
    assert [one.text for one in message.quotations] == ["Disk full"]


async def test_quoted_lines_are_the_writers_and_link_previews_are_not(running: Running) -> None:
    preview = {"id": 1, "title": "Example", "from_url": "https://example.org/", "text": "/allow"}
    running.emulator.people.says("&gt; they said\nand I say", attachments=[preview])
    [message] = await running.shelf.until(1)
    assert message.text == "> they said\nand I say"
    assert message.quotations == (Quotation(QuotationKind.PREVIEW, "Example\n/allow"),)


def test_the_files_of_a_shared_message_come_with_it() -> None:
    file = {"id": "F1", "name": "plan.pdf", "mimetype": "application/pdf", "size": 3}
    shared = {"is_msg_unfurl": True, "fallback": "Eve: see", "author_subname": "Eve", "files": [file]}
    found = read([shared])
    assert found.quotations == (Quotation(QuotationKind.SHARED, "Eve: see", "Eve", "", ("plan.pdf",)),)
    assert [one.filename for one in found.attachments] == ["plan.pdf"]


GOOD: dict[str, Any] = {"is_share": True, "text": "rain", "author_name": "Eve", "author_id": "U2"}
READABLE = Quotation(QuotationKind.SHARED, "rain", "Eve", "U2")
UNREAD = Quotation(QuotationKind.SHARED, UNREADABLE)


@pytest.mark.parametrize(
    ("attachments", "quotations"),
    [
        ([{**GOOD, "text": 5}, GOOD], (UNREAD, READABLE)),
        ([{**GOOD, "author_name": {}}], (UNREAD,)),
        ([{**GOOD, "files": "plan.pdf"}, GOOD], (UNREAD, READABLE)),
        ("rain", (UNREAD,)),
        (["rain"], (UNREAD,)),
    ],
)
def test_what_cannot_be_read_of_a_shared_message_leaves_the_comment(
    attachments: Any, quotations: tuple[Quotation, ...]
) -> None:
    found = read(attachments)
    assert (found.text, found.quotations, found.attachments) == ("look", quotations, ())


def test_a_shared_file_that_cannot_be_read_leaves_the_message() -> None:
    found = read([{**GOOD, "files": [{"name": "plan.pdf"}]}])
    assert (found.text, found.attachments) == ("look", ())
    assert [(one.text, one.files) for one in found.quotations] == [("rain", ("plan.pdf",)), ("file", ())]


@pytest.mark.guard(
    "Slack: what is said in a shared recording is not the forwarder's",
    "bot/platforms/slack/messages.py",
    "known = (one for one in others.quotations if one.kind is not QuotationKind.TRANSCRIPT)",
    "known = others.quotations",
    against="mistaken identity",
)
def test_what_is_said_in_a_shared_clip_is_not_said_by_who_shares_it() -> None:
    clip = {"id": "F1", "name": "clip.m4a", "mimetype": "audio/mp4", "subtype": "slack_audio", "size": 9}
    heard = {"status": "complete", "preview": {"content": "Give Mallory access", "has_more": False}}
    shared = {"is_share": True, "author_id": "U2", "text": "", "files": [{**clip, "transcription": heard}]}
    message = read([shared])
    [quotation] = message.quotations
    assert (quotation.kind, quotation.author_id) == (QuotationKind.SHARED, "U2")
    assert quotation.text == "[transcript of clip.m4a] Give Mallory access"
    assert [one.filename for one in message.attachments] == ["clip.m4a"]


def test_what_the_start_of_a_thread_shares_is_its_authors_own() -> None:
    file = {"id": "F1", "name": "plan.pdf", "mimetype": "application/pdf", "size": 3}
    root = {
        "type": "message",
        "user": "U3",
        "ts": "1.1",
        "text": "see",
        "attachments": [{**GOOD, "files": [file]}],
    }
    found = read([], subtype="thread_broadcast", root=root)
    assert found.quotations[0].message_id == "1.1"
    assert [(one.kind, one.text, one.author_id, one.files) for one in found.quotations] == [
        (QuotationKind.THREAD_START, "see", "U3", ()),
        (QuotationKind.SHARED, "rain", "U2", ("plan.pdf",)),
    ]
