"""Calls that the state of a message, stream, response URL or conversation does not allow on Slack."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.api import RESPONSE_SECONDS, RESPONSE_USES

from .conftest import Ticks
from .slack_sdk_client import refused

PERSON, STRANGER = "U0000001", "U0STRANGER"


# Streams


async def test_a_stream_in_a_channel_is_for_somebody_known(slack: SlackEmulator, web: AsyncWebClient) -> None:
    """docs.slack.dev, chat.startStream: missing_recipient_user_id and …_team_id, user_not_found."""
    team = slack.people.make_channel("team")
    root = slack.people.says("@roebot", channel=team)
    start: dict[str, Any] = {"channel": team, "thread_ts": root.ts, "markdown_text": "a"}
    assert await refused(web.chat_startStream(**start)) == "missing_recipient_user_id"
    start["recipient_user_id"] = STRANGER
    assert await refused(web.chat_startStream(**start)) == "missing_recipient_team_id"
    start["recipient_team_id"] = slack.world.team
    assert await refused(web.chat_startStream(**start)) == "user_not_found"
    assert (await web.chat_startStream(**{**start, "recipient_user_id": PERSON}))["ok"]


async def test_a_stream_that_a_person_stopped_takes_nothing_more(
    slack: SlackEmulator, web: AsyncWebClient
) -> None:
    """docs.slack.dev, chat.appendStream: stopped_by_user; agent_session_stopped: the app ends the stream."""
    asked = slack.people.says("hi")
    ts = (await web.chat_startStream(channel=asked.channel, thread_ts=asked.ts, markdown_text="a"))["ts"]
    slack.people.stops(asked.channel, asked.ts)
    append = web.chat_appendStream(channel=asked.channel, ts=ts, markdown_text="b")
    assert await refused(append) == "stopped_by_user"
    update = web.chat_update(channel=asked.channel, ts=ts, text="x")
    assert await refused(update) == "streaming_state_conflict"
    await web.chat_stopStream(channel=asked.channel, ts=ts)
    await web.chat_update(channel=asked.channel, ts=ts, markdown_text="ab")
    assert [one["text"] for one in slack.view(asked.channel)["messages"]] == ["hi", "ab"]


async def test_a_stream_has_fifty_blocks(slack: SlackEmulator, web: AsyncWebClient) -> None:
    """docs.slack.dev, chat.startStream, chat.appendStream and chat.stopStream: msg_blocks_too_many."""
    asked = slack.people.says("hi")
    where, rule = asked.channel, {"type": "divider"}

    def chunk(count: int) -> dict[str, Any]:
        return {"type": "blocks", "blocks": [rule] * count}

    too_many = "msg_blocks_too_many"
    start: dict[str, Any] = {"channel": where, "thread_ts": asked.ts}
    assert await refused(web.chat_startStream(**start, chunks=[chunk(50), chunk(1)])) == too_many
    ts = (await web.chat_startStream(**start, chunks=[chunk(25)]))["ts"]
    assert await refused(web.chat_appendStream(channel=where, ts=ts, chunks=[chunk(26)])) == too_many
    await web.chat_appendStream(channel=where, ts=ts, chunks=[chunk(24)])
    assert await refused(web.chat_stopStream(channel=where, ts=ts, blocks=[rule, rule])) == too_many
    await web.chat_stopStream(channel=where, ts=ts, blocks=[rule])
    assert len(slack.view(where)["messages"][-1]["blocks"]) == 50


async def test_blocks_of_a_stream_keep_their_limits(slack: SlackEmulator, web: AsyncWebClient) -> None:
    asked = slack.people.says("hi")
    header = {"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}
    start: dict[str, Any] = {"channel": asked.channel, "thread_ts": asked.ts}
    chunks = [{"type": "blocks", "blocks": [header]}]
    assert await refused(web.chat_startStream(**start, chunks=chunks)) == "invalid_blocks"
    ts = (await web.chat_startStream(**start, markdown_text="a"))["ts"]
    stop = web.chat_stopStream(channel=asked.channel, ts=ts, blocks=[header])
    assert await refused(stop) == "invalid_blocks"


# Messages


async def test_an_update_names_a_conversation_and_not_a_person(
    slack: SlackEmulator, web: AsyncWebClient
) -> None:
    """docs.slack.dev, chat.update, channel: "a DM ID (starts with D) instead of a User ID"."""
    slack.people.says("hi")
    posted = await web.chat_postMessage(channel=PERSON, text="x")
    assert await refused(web.chat_update(channel=PERSON, ts=posted["ts"], text="y")) == "channel_not_found"
    await web.chat_update(channel=posted["channel"], ts=posted["ts"], text="y")


async def test_a_message_in_an_archived_channel_stays_as_it_is(
    slack: SlackEmulator, web: AsyncWebClient
) -> None:
    """docs.slack.dev, chat.update: is_inactive."""
    team = slack.people.make_channel("team")
    posted = await web.chat_postMessage(channel=team, text="x")
    slack.people.archives(team)
    assert await refused(web.chat_update(channel=team, ts=posted["ts"], text="y")) == "is_inactive"
    assert await refused(web.chat_postMessage(channel=team, text="y")) == "is_archived"


async def test_a_message_for_one_person_is_for_a_member(slack: SlackEmulator, web: AsyncWebClient) -> None:
    """docs.slack.dev, chat.postEphemeral: user_not_in_channel; nothing else finds the message again."""
    team = slack.people.make_channel("team")
    slack.people.says("hi", user=PERSON)
    call: dict[str, Any] = {"channel": team, "text": "x"}
    assert await refused(web.chat_postEphemeral(**call, user=PERSON)) == "user_not_in_channel"
    slack.people.joins(team, user=PERSON)
    ts = (await web.chat_postEphemeral(**call, user=PERSON))["message_ts"]
    assert await refused(web.chat_update(channel=team, ts=ts, text="y")) == "message_not_found"
    assert await refused(web.chat_delete(channel=team, ts=ts)) == "message_not_found"


# Response URLs


async def respond(url: str, **body: Any) -> tuple[int, str]:
    """Post to a response URL; return the status and the name of the refusal."""
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.post(url, json=body or {"text": "x"})
    return answer.status_code, str(answer.json().get("error", ""))


async def test_a_response_url_works_five_times(slack: SlackEmulator) -> None:
    """docs.slack.dev, handling user interaction: "up to 5 times within 30 minutes"."""
    url = slack.people.commands("status")["response_url"]
    assert [await respond(url) for _ in range(RESPONSE_USES)] == [(200, "")] * RESPONSE_USES
    assert await respond(url) == (404, "used_url")
    other = slack.people.commands("status")["response_url"]
    assert await respond(other) == (200, "")
    assert await respond(other.rpartition("/")[0] + "/99") == (404, "expired_url")


async def test_a_response_url_works_for_thirty_minutes(slack: SlackEmulator, ticks: Ticks) -> None:
    url = slack.people.commands("status")["response_url"]
    ticks.at += RESPONSE_SECONDS - 1
    assert await respond(url) == (200, "")
    ticks.at += 1
    assert await respond(url) == (404, "expired_url")


async def test_a_response_is_refused_like_a_message(slack: SlackEmulator) -> None:
    url = slack.people.commands("status")["response_url"]
    header = {"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}
    assert await respond(url, text="x", blocks=[header]) == (400, "invalid_blocks")
    assert await respond(url, response_type="ephemeral") == (400, "no_text")
    assert [await respond(url) for _ in range(RESPONSE_USES)] == [(200, "")] * RESPONSE_USES


# Reactions


async def test_a_reaction_is_added_and_removed_once(slack: SlackEmulator, web: AsyncWebClient) -> None:
    """docs.slack.dev, reactions.add and reactions.remove."""
    team = slack.people.make_channel("team")
    asked = slack.people.says("hi", channel=team)
    here: dict[str, Any] = {"channel": team, "timestamp": asked.ts, "name": "eyes"}
    assert await refused(web.reactions_remove(**here)) == "no_reaction"
    assert (await web.reactions_add(**here))["ok"]
    assert await refused(web.reactions_add(**here)) == "already_reacted"
    assert (await web.reactions_remove(**here))["ok"]
    for wrong, error in (
        ({"name": "no_such_emoji"}, "invalid_name"),
        ({"timestamp": "yesterday"}, "bad_timestamp"),
        ({"timestamp": "1.000001"}, "message_not_found"),
        ({"channel": "C0NOWHERE"}, "channel_not_found"),
    ):
        assert await refused(web.reactions_add(**{**here, **wrong})) == error
    slack.world.channels[team].archived = True
    assert await refused(web.reactions_add(**here)) == "is_archived"


# Reading


@pytest.mark.parametrize("method", ["conversations.history", "conversations.replies"])
async def test_what_is_read_is_a_page_of_a_time(
    slack: SlackEmulator, web: AsyncWebClient, method: str
) -> None:
    """docs.slack.dev, conversations.history and conversations.replies: cursor, oldest and latest."""
    root = slack.people.says("root")
    thread = root.ts if method == "conversations.replies" else ""
    said = [slack.people.says(str(number), thread=thread) for number in range(4)]
    where: dict[str, Any] = {"channel": root.channel, **({"ts": root.ts} if thread else {})}

    async def read(**more: Any) -> Any:
        return await web.api_call(method, params={**where, **more})

    for name in ("oldest", "latest"):
        assert await refused(read(**{name: "yesterday"})) == f"invalid_ts_{name}"
    assert await refused(read(cursor="7")) == "invalid_cursor"
    between = await read(oldest=said[0].ts, latest=said[3].ts)
    found = {one["text"] for one in between["messages"]} - {"root"}
    assert (found, between["has_more"]) == ({"1", "2"}, False)
    texts: list[str] = []
    cursor = ""
    for _ in range(3):
        page = await read(limit=2, cursor=cursor, oldest=root.ts)
        texts += [one["text"] for one in page["messages"] if one["text"] != "root"]
        cursor = page["response_metadata"]["next_cursor"]
        if not cursor:
            break
    assert sorted(texts) == ["0", "1", "2", "3"]


async def test_a_page_of_history_has_at_most_999_messages(slack: SlackEmulator, web: AsyncWebClient) -> None:
    """docs.slack.dev, conversations.history, limit."""
    asked = slack.people.says("hi")
    for number in range(999):
        slack.world.add(slack.world.channels[asked.channel], slack.world.users[PERSON], str(number))
    page = await web.conversations_history(channel=asked.channel, limit=1000)
    assert (len(page["messages"]), page["has_more"]) == (999, True)


async def test_a_conversation_is_opened_with_people(slack: SlackEmulator, web: AsyncWebClient) -> None:
    """docs.slack.dev, conversations.open: users_list_not_supplied, too_many_users, user_not_found."""
    slack.people.says("hi", user=PERSON)
    assert await refused(web.api_call("conversations.open", json={})) == "users_list_not_supplied"
    nine = ",".join(f"U{number}" for number in range(9))
    assert await refused(web.conversations_open(users=nine)) == "too_many_users"
    assert await refused(web.conversations_open(users=STRANGER)) == "user_not_found"
    assert (await web.conversations_open(users=PERSON))["ok"]


async def test_a_snippet_has_a_megabyte(web: AsyncWebClient) -> None:
    """docs.slack.dev, files.getUploadURLExternal: snippet_too_large."""
    call: dict[str, Any] = {"filename": "a.py", "snippet_type": "python"}
    large = web.files_getUploadURLExternal(**call, length=1024 * 1024 + 1)
    assert await refused(large) == "snippet_too_large"
    assert (await web.files_getUploadURLExternal(**call, length=1024 * 1024))["ok"]
