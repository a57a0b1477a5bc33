"""Agents on Slack: what a session's state and the app's declaration do not allow, and people's events."""

from __future__ import annotations

from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.sessions import NO_STOP, PROCESSING_SECONDS, STATUSES
from roebot_testing.emulators.slack.state import AppView, SlackChatMessage

from .conftest import Ticks
from .slack_sdk_client import refusal, refused

PERSON, STRANGER = "U0000001", "U0STRANGER"
PROMPT = {"title": "Sum up", "message": "Sum up this channel."}


@pytest.fixture
def asked(slack: SlackEmulator) -> SlackChatMessage:
    return slack.people.says("hi")


def thread(asked: SlackChatMessage) -> dict[str, Any]:
    return {"channel_id": asked.channel, "thread_ts": asked.ts}


def session(slack: SlackEmulator, asked: SlackChatMessage) -> dict[str, str]:
    found: dict[str, str] = slack.view(asked.channel)["sessions"][asked.ts]
    return found


def events(slack: SlackEmulator) -> list[dict[str, Any]]:
    """Return the events that wait for the app, without those of messages."""
    found = [one.payload["event"] for one in slack.outbox._waiting]
    slack.outbox._waiting.clear()
    return [one for one in found if one["type"] != "message"]


# Status


async def test_a_session_has_one_of_four_statuses(
    slack: SlackEmulator, web: AsyncWebClient, asked: SlackChatMessage
) -> None:
    for status in STATUSES:
        answer = await web.agents_sessions_setStatus(**thread(asked), status=status)
        assert (answer["status"], answer["agent_status"]) == (status, status)
        assert session(slack, asked)["status"] == status
    answer = await refusal(web.agents_sessions_setStatus(**thread(asked), status="is thinking …"))
    assert answer["error"] == "invalid_arguments"
    assert answer["response_metadata"]["messages"] == [
        "[ERROR] must be a valid enum value [json-pointer:/status]"
    ]


async def test_title_and_initiator_count_when_a_session_begins(
    slack: SlackEmulator, web: AsyncWebClient, asked: SlackChatMessage
) -> None:
    begin = {**thread(asked), "status": "processing"}
    assert (
        await refused(web.agents_sessions_setStatus(**begin, initiator_user_id=STRANGER)) == "user_not_found"
    )
    assert slack.view(asked.channel)["sessions"] == {}
    await web.agents_sessions_setStatus(**begin, title="Lunch", initiator_user_id=PERSON)
    answer = await web.agents_sessions_setStatus(**begin, title="Dinner", initiator_user_id=STRANGER)
    assert answer["title"] == "Lunch"
    assert session(slack, asked) == {"status": "processing", "title": "Lunch", "initiator": PERSON}


async def test_a_session_is_of_a_thread_in_a_channel_of_the_agent(
    slack: SlackEmulator, web: AsyncWebClient, asked: SlackChatMessage
) -> None:
    await web.agents_sessions_setStatus(**thread(asked), status="active")
    for call in (web.agents_sessions_setStatus, web.agents_sessions_rename):
        what = {"status": "active"} if call == web.agents_sessions_setStatus else {"title": "t"}
        assert await refused(call(channel_id=asked.channel, **what)) == "thread_ts_required"
        assert await refused(call(channel_id="C0NOWHERE", thread_ts=asked.ts, **what)) == "channel_not_found"
        team = slack.people.make_channel("team")
        root = slack.people.says("@roebot", channel=team)
        slack.people.removes_bot(team)
        assert await refused(call(**thread(root), **what)) == "not_authorized"
        slack.world.view = AppView.NONE
        assert await refused(call(**thread(asked), **what)) == "not_authorized"
        slack.world.view = AppView.AGENT


async def test_only_a_session_can_be_renamed(
    slack: SlackEmulator, web: AsyncWebClient, asked: SlackChatMessage
) -> None:
    assert await refused(web.agents_sessions_rename(**thread(asked), title="t")) == "session_not_found"
    await web.agents_sessions_setStatus(**thread(asked), status="active")
    assert (await web.agents_sessions_rename(**thread(asked), title="t"))["title"] == "t"
    assert session(slack, asked)["title"] == "t"


async def test_streams_begin_sessions_and_end_their_work(
    slack: SlackEmulator, web: AsyncWebClient, asked: SlackChatMessage
) -> None:
    where = {"channel": asked.channel}
    for status in ("", *STATUSES):
        ts = (await web.chat_startStream(**where, thread_ts=asked.ts, markdown_text="a"))["ts"]
        assert session(slack, asked)["status"] == "processing"
        wrong = web.chat_stopStream(**where, ts=ts, session_status="done")
        assert await refused(wrong) == "invalid_arguments"
        await web.chat_stopStream(**where, ts=ts, session_status=status or None)
        assert session(slack, asked)["status"] == (status or "active")
    slack.world.view = AppView.NONE
    other = slack.people.says("ho")
    await web.chat_startStream(**where, thread_ts=other.ts, markdown_text="a")
    assert other.ts not in slack.view(asked.channel)["sessions"]


# Stop


async def test_there_is_a_stop_button_while_a_session_is_worked_on(
    slack: SlackEmulator, web: AsyncWebClient, asked: SlackChatMessage, ticks: Ticks
) -> None:
    def stop() -> None:
        slack.people.stops(asked.channel, asked.ts)

    for status in (None, "active", "suspended", "closed"):
        if status:
            await web.agents_sessions_setStatus(**thread(asked), status=status)
        with pytest.raises(ValueError, match="no stop button"):
            stop()
    await web.agents_sessions_setStatus(**thread(asked), status="processing")
    stop()
    [event] = events(slack)
    assert (event["type"], event["thread_ts"], event["user"]) == ("agent_session_stopped", asked.ts, PERSON)
    assert event["streaming_message_ts"] == []
    assert session(slack, asked)["status"] == "processing"  # the app changes it
    ticks.at += PROCESSING_SECONDS
    with pytest.raises(ValueError, match="no stop button"):
        stop()


async def test_without_the_event_there_is_no_stop_button(
    slack: SlackEmulator, web: AsyncWebClient, asked: SlackChatMessage
) -> None:
    """docs.slack.dev, agent_session_stopped."""
    answer = await web.agents_sessions_setStatus(**thread(asked), status="processing")
    assert "warning" not in answer.data
    slack.world.events -= {"agent_session_stopped"}
    assert (await web.agents_sessions_setStatus(**thread(asked), status="processing"))["warning"] == NO_STOP
    assert "warning" not in (await web.agents_sessions_setStatus(**thread(asked), status="active")).data
    await web.agents_sessions_setStatus(**thread(asked), status="processing")
    with pytest.raises(ValueError, match="no stop button"):
        slack.people.stops(asked.channel, asked.ts)


# Prompts


@pytest.mark.parametrize(
    "prompts",
    [[PROMPT] * 5, [{"title": "a"}], [{"message": "a"}], ["a"], {"title": "a", "message": "b"}],
    ids=["five", "no message", "no title", "text", "object"],
)
async def test_prompts_are_up_to_four_with_title_and_message(
    slack: SlackEmulator, web: AsyncWebClient, asked: SlackChatMessage, prompts: Any
) -> None:
    call = web.assistant_threads_setSuggestedPrompts(channel_id=asked.channel, prompts=prompts)
    assert await refused(call) == "invalid_arguments"
    await web.assistant_threads_setSuggestedPrompts(
        channel_id=asked.channel, prompts=[PROMPT] * 4, title="Hi"
    )
    assert slack.view(asked.channel)["prompts"] == {"": {"title": "Hi", "prompts": [PROMPT] * 4}}


async def test_prompts_of_an_agent_are_of_no_thread(
    slack: SlackEmulator, web: AsyncWebClient, asked: SlackChatMessage
) -> None:
    suggest = web.assistant_threads_setSuggestedPrompts
    assert (await suggest(**thread(asked), prompts=[PROMPT]))["ok"]
    assert slack.view(asked.channel)["prompts"] == {}
    slack.world.view = AppView.ASSISTANT
    assert await refused(suggest(channel_id=asked.channel, thread_ts="1.1", prompts=[PROMPT])) == (
        "invalid_thread_ts"
    )
    await suggest(**thread(asked), prompts=[PROMPT])
    assert list(slack.view(asked.channel)["prompts"]) == [asked.ts]
    assert await refused(suggest(channel_id="C0NOWHERE", prompts=[PROMPT])) == "channel_not_found"
    slack.world.view = AppView.NONE
    assert await refused(suggest(channel_id=asked.channel, prompts=[PROMPT])) == "not_agent_app"


# Events


async def test_opening_an_agent_tells_what_is_looked_at(slack: SlackEmulator) -> None:
    team = slack.people.make_channel("team")
    chat = slack.people.opens(viewing=team)
    [opened] = events(slack)
    context = {"entities": [{"type": "slack#/types/channel_id", "value": team, "team_id": slack.world.team}]}
    assert (opened["type"], opened["tab"], opened["channel"]) == ("app_home_opened", "messages", chat)
    assert opened["context"] == context
    slack.people.says("hi")
    assert slack.outbox._waiting[-1].payload["event"]["app_context"] == context
    slack.people.looks_at("")
    [changed] = events(slack)
    assert (changed["type"], changed["context"]) == ("app_context_changed", {})
    slack.world.events = frozenset({"app_home_opened"})
    slack.people.opens(viewing=team)
    slack.people.looks_at(team)
    [opened] = events(slack)
    assert "context" not in opened
    slack.people.says("hi")
    assert "app_context" not in slack.outbox._waiting[-1].payload["event"]


async def test_opening_an_older_assistant_begins_a_thread(slack: SlackEmulator) -> None:
    slack.world.view = AppView.ASSISTANT
    team = slack.people.make_channel("team")
    chat = slack.people.opens(viewing=team)
    slack.people.looks_at("")
    [root] = slack.view(chat)["messages"]
    started, changed = events(slack)
    assert (started["type"], changed["type"]) == (
        "assistant_thread_started",
        "assistant_thread_context_changed",
    )
    assert started["assistant_thread"]["thread_ts"] == root["ts"]
    assert started["assistant_thread"]["context"]["channel_id"] == team
    assert changed["assistant_thread"]["context"] == {}
    slack.world.view = AppView.NONE
    slack.people.opens()
    slack.people.looks_at(team)
    assert events(slack) == []


async def test_a_person_changes_a_title(
    slack: SlackEmulator, web: AsyncWebClient, asked: SlackChatMessage
) -> None:
    await web.agents_sessions_setStatus(**thread(asked), status="active", title="Lunch")
    slack.people.retitles(asked.channel, asked.ts, "Dinner")
    [event] = events(slack)
    assert (event["type"], event["title"], event["previous_title"]) == (
        "agent_session_title_changed",
        "Dinner",
        "Lunch",
    )
    with pytest.raises(KeyError):
        slack.people.retitles(asked.channel, "1.1", "x")


async def test_feedback_needs_its_buttons(
    slack: SlackEmulator, web: AsyncWebClient, asked: SlackChatMessage
) -> None:
    """docs.slack.dev/tools/bolt-js/reference/interfaces/FeedbackButtonsAction."""
    posted = await web.chat_postMessage(channel=asked.channel, text="x")
    with pytest.raises(ValueError, match="no feedback buttons"):
        slack.people.rates(asked.channel, posted["ts"])
    words = {"type": "plain_text", "text": "Good"}
    buttons = {
        "type": "feedback_buttons",
        "action_id": "rate",
        "positive_button": {"text": words, "value": "good"},
        "negative_button": {"text": words, "value": "bad"},
    }
    block = {"type": "context_actions", "elements": [buttons]}
    posted = await web.chat_postMessage(channel=asked.channel, text="x", blocks=[block])
    slack.people.rates(asked.channel, posted["ts"], good=False)
    [action] = slack.outbox._waiting[-1].payload["actions"]
    assert (action["type"], action["action_id"], action["value"]) == ("feedback_buttons", "rate", "bad")
