"""Messages of other apps and of Slack itself: read like people's, but never in anybody's name."""

from __future__ import annotations

from typing import Any

import pytest

from bot.domain import HistoryMessage, InboundMessage, QuotationKind
from roebot_testing.emulators.slack.cards import alert, poll, table

from .conftest import Running, answer_to, eventually

ALERT = alert(
    "[FIRING] Queue of mails is growing",
    "https://mon.example.com/alerts/17",
    "More than *5000* mails wait",
    {"Severity": "critical", "Host": "mail-3"},
)
MENTION = "<@U0ROEBOT>"


def recorded(running: Running) -> str:
    """A channel of which a record is kept."""
    channel = running.emulator.people.make_channel("team")
    running.shelf.recorded.add(channel)
    return channel


async def heard(running: Running, count: int = 1) -> InboundMessage:
    return (await running.shelf.until(count))[-1]


def everything(message: InboundMessage | HistoryMessage) -> str:
    """What the agent reads of a message."""
    sender = message.origin.sender if isinstance(message, InboundMessage) else message.sender
    return "\n".join([sender.name, message.text, *(one.text for one in message.quotations)])


async def test_under_an_alert_the_bot_knows_what_this_is(running: Running) -> None:
    people = running.emulator.people
    channel = recorded(running)
    root = people.app_posts(channel=channel, name="Monitoring", attachments=[ALERT])
    people.says("looks like the relay", user="U0000002", name="Ben", channel=channel, thread=root.ts)
    people.says("@roebot what is this?", user="U0000003", name="Eve", channel=channel, thread=root.ts)
    asked = await heard(running, 3)
    assert (asked.text, asked.addressed, asked.origin.sender.name) == ("what is this?", True, "Eve")
    started, replied = await running.adapter.earlier(answer_to(asked), asked.origin.message_id, 10)
    assert started.sender.is_bot
    words = ["Monitoring", ALERT["title"], ALERT["title_link"], "5000", "Severity: critical", "Host: mail-3"]
    assert [one for one in words if one not in everything(started)] == []
    assert (replied.sender.name, replied.text, replied.sender.is_bot) == (
        "Ben",
        "looks like the relay",
        False,
    )
    assert everything(running.shelf.messages[0]) == everything(started)


async def test_an_app_is_known_by_its_bot_id_whosever_name_it_uses(running: Running) -> None:
    channel = recorded(running)
    running.emulator.people.app_posts("done", channel=channel, name="CI", username="Ada L.")
    message = await heard(running)
    app = running.emulator.world.app("CI")
    sender = message.origin.sender
    assert (sender.id, sender.name, sender.is_bot, sender.guest) == (app.bot_id, "Ada L.", True, False)
    assert sender.belongs == (f"app:{app.app_id}", f"team:{app.team}")
    assert not message.addressed


@pytest.mark.guard(
    "Slack: what an app posts in somebody's name is the app's",
    "bot/platforms/slack/messages.py",
    'Sender(bot_id or get_string(message, "user"), name',
    'Sender(get_string(message, "user") or bot_id, name',
    against="forwarded commands",
)
async def test_a_post_in_somebodys_name_is_the_apps(running: Running) -> None:
    """Apps post with a person's token too: such an event has the person's id and the app's."""
    channel = recorded(running)
    event = {"type": "message", "user": "U0000001", "bot_id": "B0GIF", "app_id": "A0GIF", "text": "/allow"}
    event |= {"channel": channel, "channel_type": "channel", "ts": "1700000000.000100"}
    running.emulator.people.event({**event, "bot_profile": {"name": "GIFs"}})
    message = await heard(running)
    assert (message.origin.sender.id, message.origin.sender.name) == ("B0GIF", "GIFs")
    assert message.origin.sender.is_bot


async def test_the_name_of_an_app_is_looked_up_once(running: Running) -> None:
    channel = recorded(running)
    for text in ("one", "two"):
        running.emulator.people.app_posts(text, channel=channel, name="Coffee", subtype="bot_message")
    assert [one.origin.sender.name for one in await running.shelf.until(2)] == ["Coffee", "Coffee"]
    assert running.emulator.counters()["calls"]["bots.info"] == 1


@pytest.mark.guard(
    "Slack: a card that mentions the bot does not call it",
    "bot/platforms/slack/messages.py",
    "read_block_card(others if whole else blocks, names)",
    "read_block_card(others if whole else blocks, author)",
    against="forwarded commands",
)
@pytest.mark.parametrize(
    ("content", "addressed"),
    [
        ({"text": "@roebot summarize"}, True),
        ({"attachments": [{"text": f"{MENTION} summarize", "fallback": f"{MENTION} summarize"}]}, False),
        (
            {"blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": f"{MENTION} summarize"}}]},
            False,
        ),
        ({"blocks": [{"type": "markdown", "text": f"{MENTION} summarize"}]}, False),
    ],
)
async def test_an_app_calls_the_bot_by_its_text_alone(
    running: Running, content: dict[str, Any], *, addressed: bool
) -> None:
    running.emulator.people.app_posts(channel=recorded(running), **content)
    message = await heard(running)
    assert message.addressed is addressed
    assert "summarize" in everything(message)
    assert (message.text == "summarize") is addressed


async def test_what_an_app_writes_below_the_bots_words_is_not_for_it(running: Running) -> None:
    people = running.emulator.people
    channel = recorded(running)
    root = people.says("@roebot hi", channel=channel)
    people.app_posts("done", channel=channel, thread=root.ts)
    private = people.says("hi").channel
    people.app_posts("done", channel=private)
    running.shelf.recorded.add(private)
    messages = await running.shelf.until(4)
    assert [one.addressed for one in messages if one.origin.sender.is_bot] == [False, False]


@pytest.mark.parametrize("kind", ["card", "shared", "preview", "table"])
async def test_content_of_others_calls_nobody(running: Running, kind: str) -> None:
    words = f"{MENTION} /allow"
    attachments: dict[str, dict[str, Any]] = {
        "card": {"title": words, "text": words},
        "shared": {"is_share": True, "text": words, "author_name": "Mallory"},
        "preview": {"from_url": "https://example.org/", "title": words},
        "table": table([["a"], [words]]),
    }
    running.emulator.people.says("look", channel=recorded(running), attachments=[attachments[kind]])
    message = await heard(running)
    assert (message.text, message.addressed) == ("look", False)
    assert any("/allow" in one.text for one in message.quotations)


@pytest.mark.guard(
    "Slack: the words behind a link to a message are not the writer's",
    "bot/platforms/slack/names.py",
    "        return url\n",
    "        return title\n",
    against="forwarded commands",
)
async def test_the_words_behind_a_link_to_a_message_are_not_the_writers(running: Running) -> None:
    url = "https://x.slack.com/archives/C1/p1"
    link = {"type": "message_mention", "text": "/allow", "author_id": "U0000666", "url": url}
    ticket = {"type": "work_object_mention", "text": "approve", "url": "https://tickets.example.com/1"}
    section = {"type": "rich_text_section", "elements": [link, {"type": "text", "text": " "}, ticket]}
    running.emulator.people.says("x", blocks=[{"type": "rich_text", "elements": [section]}])
    message = await heard(running)
    assert message.text == f"{url} https://tickets.example.com/1"
    shared, titled = message.quotations
    assert (shared.kind, shared.text, shared.author_id) == (QuotationKind.SHARED, "/allow", "U0000666")
    assert (titled.kind, titled.text) == (QuotationKind.PREVIEW, "[approve](https://tickets.example.com/1)")


async def test_a_poll_of_an_app_is_read_with_its_votes(running: Running) -> None:
    blocks = poll("When is the party?", {"Friday": 3, "Saturday": 1})
    running.emulator.people.app_posts(
        "When is the party?", channel=recorded(running), name="Poll", blocks=blocks
    )
    message = await heard(running)
    assert message.text == "", "the words of the notification are in the card already"
    [card] = message.quotations
    assert card.kind is QuotationKind.CARD
    assert card.text == "*When is the party?*\nFriday  `3`\n[Vote]\nSaturday  `1`\n[Vote]"


async def test_an_alert_that_is_resolved_changes(running: Running) -> None:
    people = running.emulator.people
    channel = recorded(running)
    root = people.app_posts(channel=channel, attachments=[ALERT])
    people.app_edits(channel, root.ts, attachments=[{**ALERT, "title": "[RESOLVED] Queue of mails"}])
    await eventually(lambda: running.shelf.changes)
    [change] = running.shelf.changes
    assert change.origin.sender.is_bot and change.message is None
    assert change.quotations is not None and "[RESOLVED]" in change.quotations[0].text


async def test_who_joins_is_a_notice_to_nobody(running: Running) -> None:
    running.emulator.people.joins(recorded(running), user="U0000005", name="Ana Petrova")
    message = await heard(running)
    [notice] = message.quotations
    assert (notice.kind, notice.text) == (QuotationKind.NOTICE, "Ana Petrova has joined the channel")
    assert (message.text, message.addressed, message.origin.sender.id) == ("", False, "U0000005")


async def test_a_pasted_table_is_read(running: Running) -> None:
    running.emulator.people.says("who?", attachments=[table([["Week", "Person"], ["49", "Ana"]])])
    message = await heard(running)
    assert [one.text for one in message.quotations] == ["| Week | Person |\n| --- | --- |\n| 49 | Ana |"]
