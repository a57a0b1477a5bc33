"""Acts of people on the emulated Slack, as the Events API and the SDK report them."""

from __future__ import annotations

from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from roebot_testing.emulators.slack import SlackEmulator

from .slack_sdk_client import refused

PERSON = "U0000001"


def events(slack: SlackEmulator) -> list[dict[str, Any]]:
    """The events that wait for the app, which are taken away."""
    found = [one.payload["event"] for one in slack.outbox._waiting]
    slack.outbox._waiting.clear()
    return found


async def test_an_answer_in_a_thread_is_also_sent_to_the_channel(slack: SlackEmulator) -> None:
    """docs.slack.dev, event thread_broadcast: the message comes with the root of its thread."""
    team = slack.people.make_channel("team")
    root = slack.people.says("Which region first?", channel=team)
    events(slack)
    said = slack.people.broadcasts("Frankfurt", channel=team, thread=root.ts, user="U0000002")
    [event] = events(slack)
    assert (event["subtype"], event["thread_ts"], event["ts"]) == ("thread_broadcast", root.ts, said.ts)
    assert (event["root"]["ts"], event["root"]["text"]) == (root.ts, "Which region first?")
    assert event["parent_user_id"] == PERSON


async def test_a_pasted_table_is_attached(slack: SlackEmulator) -> None:
    """docs.slack.dev, table block; the corpus has table-pasted-by-a-person."""
    slack.people.pastes([["Region", "Price"], ["Frankfurt", "12"]], "see")
    [event] = events(slack)
    [attachment] = event["attachments"]
    [block] = attachment["blocks"]
    assert (event["text"], block["type"]) == ("see", "table")
    assert [[cell["text"] for cell in row] for row in block["rows"]] == [
        ["Region", "Price"],
        ["Frankfurt", "12"],
    ]


async def test_who_leaves_a_channel_gets_nothing_there(slack: SlackEmulator, web: AsyncWebClient) -> None:
    """docs.slack.dev, event channel_leave; chat.postEphemeral, user_not_in_channel."""
    team = slack.people.make_channel("team")
    slack.people.joins(team, user=PERSON)
    slack.people.leaves(team, user=PERSON)
    assert [one["subtype"] for one in events(slack)] == ["channel_join", "channel_leave"]
    alone = web.chat_postEphemeral(channel=team, user=PERSON, text="x")
    assert await refused(alone) == "user_not_in_channel"


async def test_a_deactivated_person_is_told_as_such(slack: SlackEmulator, web: AsyncWebClient) -> None:
    """docs.slack.dev, users.info, deleted; conversations.open, user_disabled."""
    slack.people.says("hi", user=PERSON)
    assert (await web.users_info(user=PERSON))["user"]["deleted"] is False
    slack.people.deactivates(PERSON)
    assert (await web.users_info(user=PERSON))["user"]["deleted"] is True
    assert await refused(web.conversations_open(users=PERSON)) == "user_disabled"
