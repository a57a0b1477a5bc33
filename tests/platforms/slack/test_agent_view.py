"""The app as an agent: what is suggested when it is opened, and what people look at beside it."""

from __future__ import annotations

from typing import Any

import pytest

from bot.domain import QuotationKind
from bot.platforms.slack.agent_view import describe_view, read_viewing
from bot.platforms.slack.names import Lookup, LookupKind, SlackNames
from bot.texts import Texts, texts_for
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.state import AppView

from .conftest import PERSON, Running, eventually

METHOD = "assistant.threads.setSuggestedPrompts"
PROMPTS = [{"title": "Stand-up", "message": "Prepare my stand-up."}]


def prompts(running: Running) -> dict[str, Any]:
    found: dict[str, Any] = running.emulator.view(PERSON)["prompts"]
    return found


async def test_opening_it_suggests_prompts(running: Running) -> None:
    running.emulator.people.opens()
    await eventually(lambda: prompts(running))
    texts = Texts("en")
    shown = prompts(running)[""]
    assert shown["title"] == texts("prompts_title")
    assert shown["prompts"][0] == {"title": "What can you do?", "message": "What can you help me with?"}
    assert len(shown["prompts"]) == 3


async def test_prompts_are_in_the_language_of_the_person(running: Running) -> None:
    running.emulator.world.user(PERSON).locale = "zh-CN"
    running.emulator.people.opens()
    await eventually(lambda: prompts(running))
    assert prompts(running)[""]["title"] == texts_for("zh")("prompts_title")


async def test_an_account_has_its_own_prompts(emulator: SlackEmulator) -> None:
    running = await Running(emulator, suggested_prompts=PROMPTS).start()
    running.emulator.people.opens()
    await eventually(lambda: prompts(running))
    assert prompts(running)[""]["prompts"] == PROMPTS
    await running.stop()


async def test_an_account_can_suggest_nothing(emulator: SlackEmulator) -> None:
    running = await Running(emulator, suggested_prompts=[]).start()
    running.emulator.people.opens()
    await eventually(lambda: emulator.outbox.acked == 1)
    await running.asked()
    assert prompts(running) == {} and emulator.transcript.calls[METHOD] == 0
    await running.stop()


async def test_the_home_tab_suggests_nothing(running: Running) -> None:
    running.emulator.people.opens(tab="home")
    await running.asked()
    assert running.emulator.transcript.calls[METHOD] == 0
    assert running.adapter.counts.ignored == 1


async def test_an_older_assistant_gets_them_in_its_thread_and_is_told(running: Running) -> None:
    running.emulator.world.view = AppView.ASSISTANT
    chat = running.emulator.people.opens()
    await eventually(lambda: prompts(running))
    [root] = running.emulator.view(chat)["messages"]
    assert list(prompts(running)) == [root["ts"]]
    await running.asked("hello", thread=root["ts"])
    await eventually(lambda: "older assistant view" in running.states[-1].reason)


async def test_an_app_that_is_no_agent_is_told(running: Running) -> None:
    running.emulator.fault("error", method=METHOD, status=200, description="not_agent_app")
    running.emulator.people.opens()
    await eventually(lambda: running.emulator.transcript.calls[METHOD] == 1)
    await running.asked()
    await eventually(lambda: "agent_view" in running.states[-1].reason)


async def test_a_message_tells_what_its_author_looks_at(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    running.emulator.people.opens(viewing=team)
    await running.asked("sum this up")
    [seen] = running.shelf.messages[-1].quotations
    assert (seen.kind, seen.text) == (QuotationKind.NOTICE, "The author is looking at #team.")
    running.emulator.people.looks_at("")
    await running.asked("and now?")
    assert running.shelf.messages[-1].quotations == ()


@pytest.mark.parametrize("view", [AppView.AGENT, AppView.ASSISTANT])
async def test_events_tell_it_where_messages_do_not(running: Running, view: AppView) -> None:
    running.emulator.world.view = view
    team = running.emulator.people.make_channel("team")
    chat = running.emulator.people.opens()
    running.emulator.people.looks_at(team)
    await eventually(lambda: running.emulator.outbox.acked == 2)
    running.emulator.world.viewing.clear()
    messages = running.emulator.view(chat)["messages"]
    await running.asked("sum this up", thread=messages[0]["ts"] if messages else "")
    assert running.shelf.messages[-1].quotations[0].text == "The author is looking at #team."


async def test_in_a_channel_and_beside_a_file_alone_nothing_is_told(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    running.emulator.people.opens(viewing=team)
    await running.asked("@roebot hi", channel=team)
    assert running.shelf.messages[-1].quotations == ()
    await running.asked("", data=b"x", filename="a.txt")
    assert running.shelf.messages[-1].quotations == ()


def test_what_is_looked_at_is_described() -> None:
    names = SlackNames("U1", names={Lookup(LookupKind.CHANNEL, "C1"): "general"})
    entities = [
        {"type": "slack#/types/message_context", "value": {"channel_id": "C1", "message_ts": "1.2"}},
        {"type": "slack#/types/channel_id", "value": "C1"},
        {"type": "slack#/types/canvas_id", "value": "F1"},
        {"type": "slack#/types/list_id", "value": "F2"},
        {"type": "slack#/types/new", "value": {}},
        {"type": "slack#/types/message_context", "value": "odd"},
    ]
    [seen] = describe_view({"entities": entities}, names, lambda chat, ts, _: f"https://x/{chat}/{ts}")
    assert seen.text == "The author is looking at a message in #general https://x/C1/1.2, #general, a canvas."
    assert describe_view({}, names, lambda *_: "") == ()
    assert describe_view({"entities": entities[4:]}, names, lambda *_: "") == ()


def test_the_documented_event_has_no_chat() -> None:
    """docs.slack.dev, app_context_changed: its example names neither channel nor user."""
    assert read_viewing({"type": "app_context_changed", "context": {}}) is None
