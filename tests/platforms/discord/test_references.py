"""Answers where Discord takes no reference to the message that they answer."""

from __future__ import annotations

import pytest

from bot.domain import OutboundFile
from bot.errors import DeliveryError
from bot.platforms.discord.adapter import DiscordAdapter
from bot.platforms.discord.outbound import NO_HISTORY_SECONDS
from bot.platforms.discord.rest import Route
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.transcript import FrameKind

from .conftest import Running, Shelf, account, group, says
from .test_earlier_posts import Times
from .test_outbound import shown


async def test_an_answer_without_history_is_a_plain_message(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group()
    asked = people.says("go", chat=chat)
    people.denies(chat, ["READ_MESSAGE_HISTORY"])
    here = group(chat, reply_to=asked.id)
    await running.adapter.send(says("answer", here))
    await running.adapter.send_file(OutboundFile("2:0", here, "a.txt", "", b"a"))
    found = [one for one in running.emulator.view(chat)["messages"] if one["from_bot"]]
    assert [(one["text"], one["files"], one["reply_to"]) for one in found] == [
        ("answer", [], 0),
        ("", ["a.txt"], 0),
    ]


async def test_a_channel_without_history_is_asked_again_after_a_while(
    emulator: DiscordEmulator, shelf: Shelf
) -> None:
    """Discord bans for ten thousand refused requests within ten minutes."""
    times = Times()
    running = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, times)
    await running.start()
    people = emulator.people
    chat, other = people.make_group(), people.make_group()
    asked, elsewhere = people.says("go", chat=chat), people.says("go", chat=other)
    people.denies(chat, ["READ_MESSAGE_HISTORY"])
    for number in range(3):
        await running.adapter.send(says("answer", group(chat, reply_to=asked.id), f"{number}:0"))
    assert [frame.status for frame in emulator.transcript.of(FrameKind.POST)] == [403, 200, 200, 200]
    await running.adapter.send(says("answer", group(other, reply_to=elsewhere.id), "8:0"))
    assert emulator.view(other)["messages"][-1]["reply_to"] == elsewhere.id
    people.permits(chat, ["READ_MESSAGE_HISTORY"])
    times.shift += NO_HISTORY_SECONDS
    await running.adapter.send(says("answer", group(chat, reply_to=asked.id), "9:0"))
    assert [m["reply_to"] for m in emulator.view(chat)["messages"][1:]] == [0, 0, 0, asked.id]
    await running.stop()


async def test_a_deleted_answer_without_history_is_posted_anew(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group()
    asked = people.says("go", chat=chat)
    here = group(chat, reply_to=asked.id)
    people.denies(chat, ["READ_MESSAGE_HISTORY"])
    message_id = await running.adapter.send(says("one", here))
    people.deletes(chat, int(message_id))
    await running.adapter.send(says("two", here))
    assert shown(running, chat) == ["two"]


async def test_a_refused_field_of_the_reference_gives_a_plain_message(running: Running) -> None:
    chat = running.emulator.people.make_group()
    route = Route("POST", "/channels/{channel_id}/messages", channel_id=chat)
    body = {"content": "answer", "message_reference": {"message_id": "x"}}
    await running.adapter.session.outbound.post_reply(route, body, "1:0")
    assert shown(running, chat) == ["answer"]
    assert [frame.status for frame in running.emulator.transcript.of(FrameKind.POST)] == [400, 200]


async def test_a_notice_is_answered_with_a_plain_message(running: Running) -> None:
    chat = running.emulator.people.make_group()
    notice = running.emulator.people.joins(chat)
    await running.adapter.send(says("welcome", group(chat, reply_to=notice.id)))
    assert shown(running, chat) == ["welcome"]


async def test_a_form_that_is_wrong_elsewhere_is_posted_once(running: Running) -> None:
    chat = running.emulator.people.make_group()
    asked = running.emulator.people.says("go", chat=chat)
    with pytest.raises(DeliveryError, match="2000 or fewer"):
        await running.adapter.send(says("x" * 2001, group(chat, reply_to=asked.id)))
    assert len(running.emulator.transcript.of(kind=FrameKind.POST)) == 1
