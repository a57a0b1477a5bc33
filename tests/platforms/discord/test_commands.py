"""Application commands in use: stored, deferred in time, answered once, and never left thinking."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from bot.domain import ChatKind, Mention, MentionKind
from bot.errors import DeliveryError
from bot.platforms.discord import interactions
from bot.platforms.discord.adapter import DiscordAdapter
from bot.platforms.discord.cursor import read_cursor
from bot.platforms.discord.interactions import TOKEN_SECONDS
from roebot_testing.clock import ManualClock
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.transcript import FrameKind

from .conftest import QuickClock, Running, Shelf, account, eventually, group, private, says
from .test_earlier_posts import Times


def messages(running: Running, chat: int) -> list[dict[str, object]]:
    return list(running.emulator.view(chat)["messages"])


async def deferred(running: Running, chat: int) -> None:
    await eventually(lambda: any(m["thinking"] for m in messages(running, chat)))


async def test_a_command_arrives_as_if_it_had_been_written(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    used = running.emulator.people.uses("model", "gpt fast", chat=chat, name="Ada")
    [message] = await shelf.until(1)
    assert (message.text, message.addressed, message.event_id) == ("/model gpt fast", True, str(used))
    assert message.origin.chat_kind is ChatKind.GROUP and message.origin.sender.name == "Ada"
    await deferred(running, chat)


async def test_people_in_a_command_are_mentions(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    running.emulator.people.says(
        f"hi <@{running.emulator.world.bot.id}>", chat=chat, user=55, name="Lena Okoro"
    )
    await shelf.until(1)
    running.emulator.people.uses("role", "<@!55> member <@77>", chat=chat)
    message = (await shelf.until(2))[-1]
    assert message.text == "/role @Lena Okoro member @77"
    assert message.mentions == (
        Mention(MentionKind.PERSON, "Lena Okoro", "55"),
        Mention(MentionKind.PERSON, "77", "77"),
    )


async def test_it_is_stored_before_discord_hears_of_it(emulator: DiscordEmulator) -> None:
    order: list[str] = []

    class Watching(Shelf):
        async def accept(self, messages, cursor=""):  # type: ignore[no-untyped-def]
            if messages:
                order.append(f"stored, {emulator.transcript.calls['callback']} callbacks")
            return await super().accept(messages, cursor)

    started = Running(DiscordAdapter("dc", account(emulator)), emulator, Watching(), QuickClock())
    await started.start()
    emulator.people.uses("status")
    await eventually(lambda: emulator.transcript.calls["callback"] == 1)
    assert order == ["stored, 0 callbacks"]
    await started.stop()


async def test_the_first_message_of_the_reply_is_the_answer(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    used = running.emulator.people.uses("status", chat=chat)
    await shelf.until(1)
    here = group(chat, reply_to=used)
    answer = await running.adapter.send(says("all", here, "3:0"))
    await running.adapter.edit(says("all well", here, "3:0"), answer)
    await running.adapter.send(says("and more", here, "3:1"))
    first, second = messages(running, chat)
    assert (first["text"], first["thinking"], second["text"]) == ("all well", False, "and more")
    assert str(first["message_id"]) == answer


async def test_answering_twice_is_one_answer(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    used = running.emulator.people.uses("status", chat=chat)
    await shelf.until(1)
    here = group(chat, reply_to=used)
    running.emulator.fault("drop", method="editAnswer")
    with pytest.raises(DeliveryError):
        await running.adapter.send(says("all", here, "3:0"))
    await running.adapter.send(says("all well", here, "3:0"))
    assert [message["text"] for message in messages(running, chat)] == ["all well"]


async def test_another_turn_there_is_no_answer_to_it(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    asked = running.emulator.people.says("something else", chat=chat)
    running.emulator.people.uses("status", chat=chat)
    await shelf.until(2)
    await deferred(running, chat)
    await running.adapter.send(says("else", group(chat, reply_to=asked.id), "2:0"))
    assert [m["thinking"] for m in messages(running, chat)] == [False, True, False]


async def test_in_private_the_oldest_use_is_answered_first(running: Running, shelf: Shelf) -> None:
    here = private(running.emulator)
    running.emulator.people.uses("help")
    await shelf.until(1)
    # Callbacks run side by side, and messages stand in the order in which they were deferred.
    await deferred(running, int(here.chat))
    running.emulator.people.uses("status")
    await shelf.until(2)
    await running.adapter.send(says("help text", here, "1:0"))
    await running.adapter.send(says("status text", here, "2:0"))
    await running.adapter.send(says("an ordinary one", here, "3:0"))
    found = messages(running, int(here.chat))
    assert [message["text"] for message in found] == ["help text", "status text", "an ordinary one"]
    assert len(running.emulator.transcript.of(FrameKind.POST)) == 1


async def test_an_answer_waits_until_the_use_is_deferred(running: Running, shelf: Shelf) -> None:
    running.emulator.fault("slow", method="callback", seconds=0.2)
    chat = running.emulator.people.make_group()
    used = running.emulator.people.uses("status", chat=chat)
    await shelf.until(1)
    await running.adapter.send(says("quick", group(chat, reply_to=used)))
    [message] = messages(running, chat)
    assert (message["text"], message["thinking"]) == ("quick", False)


def callbacks() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if ":callback:" in task.get_name()]


async def test_a_slow_callback_keeps_nobody_waiting(running: Running, shelf: Shelf) -> None:
    running.emulator.fault("slow", method="callback", seconds=2)
    chat = running.emulator.people.make_group()
    first = running.emulator.people.uses("status", chat=chat)
    await eventually(lambda: running.emulator.transcript.calls["callback"] == 1)
    running.emulator.people.uses("help", chat=chat)
    running.emulator.people.says("stop", chat=chat)
    await shelf.until(3)
    await eventually(lambda: running.emulator.transcript.calls["callback"] == 2)
    assert [name for name in callbacks() if name.endswith(str(first))], "the first is still under way"


async def test_what_waits_for_a_callback_that_hangs_goes_on_after_three_seconds(
    running: Running, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interactions, "CALLBACK_SECONDS", 0.1)
    running.emulator.fault("slow", method="callback", seconds=1)
    chat = running.emulator.people.make_group()
    used = running.emulator.people.uses("status", chat=chat)
    await shelf.until(1)
    await running.adapter.send(says("all well", group(chat, reply_to=used)))
    [message] = messages(running, chat)
    assert (message["text"], message["thinking"]) == ("all well", False), "it had reached Discord"
    assert callbacks() == []


async def test_more_callbacks_than_may_be_under_way(
    running: Running, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.platforms.discord.callbacks.MAX_CALLBACKS", 1)
    running.emulator.fault("slow", method="callback", seconds=1)
    chat = running.emulator.people.make_group()
    running.emulator.people.uses("status", chat=chat)
    await eventually(lambda: running.emulator.transcript.calls["callback"] == 1)
    late = running.emulator.people.uses("help", chat=chat)
    await shelf.until(2)
    await running.adapter.send(says("help text", group(chat, reply_to=late)))
    assert [message["text"] for message in messages(running, chat)] == ["", "help text"]
    assert running.emulator.transcript.calls["callback"] == 1


async def test_a_reply_does_not_wait_for_a_use_that_cannot_be_stored(
    running: Running, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In private, a reply takes the oldest use; the use is still deferred for its own reply."""
    monkeypatch.setattr(interactions, "CALLBACK_SECONDS", 0.02)
    here = private(running.emulator)
    shelf.hold()
    running.emulator.people.uses("status", chat=int(here.chat))
    await eventually(lambda: shelf.held == 1)
    try:
        async with asyncio.timeout(10):
            await running.adapter.send(says("the answer to something else", here, "1:0"))
    finally:
        monkeypatch.setattr(interactions, "CALLBACK_SECONDS", 3.0)
        shelf.release()
    await eventually(lambda: running.emulator.transcript.calls["callback"] == 1)
    await running.adapter.send(says("all well", here, "2:0"))
    shown = [one["text"] for one in messages(running, int(here.chat)) if one["from_bot"]]
    assert shown == ["the answer to something else", "all well"]


async def test_a_use_that_comes_twice_is_answered_once(running: Running, shelf: Shelf) -> None:
    running.emulator.duplicate()
    chat = running.emulator.people.make_group()
    used = running.emulator.people.uses("status", chat=chat)
    await eventually(lambda: running.emulator.transcript.calls["callback"] == 2)
    await running.adapter.send(says("all well", group(chat, reply_to=used)))
    assert [message["text"] for message in messages(running, chat)] == ["all well"]


async def test_stopping_finishes_the_callbacks_under_way(running: Running, shelf: Shelf) -> None:
    running.emulator.fault("slow", method="callback", seconds=0.2)
    chat = running.emulator.people.make_group()
    running.emulator.people.uses("status", chat=chat)
    await eventually(lambda: len(callbacks()) == 1)
    await running.stop()
    assert messages(running, chat)[0]["thinking"]


async def test_a_use_that_cannot_be_deferred_is_answered_by_a_message(running: Running, shelf: Shelf) -> None:
    running.emulator.fault("error", method="callback", status=404)
    chat = running.emulator.people.make_group()
    used = running.emulator.people.uses("status", chat=chat)
    await shelf.until(1)
    await running.adapter.send(says("late", group(chat, reply_to=used)))
    [message] = messages(running, chat)
    assert message["text"] == "late"
    assert len(running.emulator.transcript.of(FrameKind.POST)) == 1


async def test_a_token_that_is_over_gives_an_ordinary_message(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    used = running.emulator.people.uses("status", chat=chat)
    await shelf.until(1)
    await deferred(running, chat)
    running.emulator.interactions.scale = 0.0
    await running.adapter.send(says("late", group(chat, reply_to=used)))
    assert [message["text"] for message in messages(running, chat)] == ["", "late"]
    assert not running.ended


async def test_after_a_restart_the_use_is_still_answered(running: Running, shelf: Shelf) -> None:
    emulator = running.emulator
    chat = emulator.people.make_group()
    used = emulator.people.uses("status", chat=chat)
    await shelf.until(1)
    await deferred(running, chat)
    assert [ask.id for ask in read_cursor(await shelf.cursor())[2]] == [str(used)]
    await running.stop()
    again = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, QuickClock())
    await again.start()
    await again.adapter.send(says("all well", group(chat, reply_to=used), "3:0"))
    assert [(m["text"], m["thinking"]) for m in messages(again, chat)] == [("all well", False)]
    await again.stop()


async def test_after_a_restart_an_answer_that_stands_is_not_written_over(
    running: Running, shelf: Shelf
) -> None:
    emulator = running.emulator
    here = private(emulator)
    emulator.people.uses("status")
    await shelf.until(1)
    await running.adapter.send(says("answered", here, "3:0"))
    await running.stop()
    again = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, QuickClock())
    await again.start()
    await again.adapter.send(says("another", here, "4:0"))
    assert [message["text"] for message in messages(again, int(here.chat))] == ["answered", "another"]
    await again.stop()


async def test_a_private_answer_is_seen_by_who_asked_alone(running: Running, shelf: Shelf) -> None:
    shelf.private = {"/whoami"}
    chat = running.emulator.people.make_group()
    used = running.emulator.people.uses("whoami", chat=chat)
    loud = running.emulator.people.uses("status", chat=chat)
    await shelf.until(2)
    await running.adapter.send(says("you", group(chat, reply_to=used), "3:0"))
    await running.adapter.send(says("and you", group(chat, reply_to=used), "3:1"))
    await running.adapter.send(says("all", group(chat, reply_to=loud), "4:0"))
    await running.adapter.send(says("and all", group(chat, reply_to=loud), "4:1"))
    seen = {message["text"]: message["ephemeral"] for message in messages(running, chat)}
    assert seen == {"you": True, "and you": True, "all": False, "and all": False}


async def test_a_private_answer_is_edited_with_its_token(running: Running, shelf: Shelf) -> None:
    shelf.private = {"/whoami"}
    chat = running.emulator.people.make_group()
    used = running.emulator.people.uses("whoami", chat=chat)
    await shelf.until(1)
    here = group(chat, reply_to=used)
    for key in ("3:0", "3:1"):
        message_id = await running.adapter.send(says("wait", here, key))
        await running.adapter.edit(says(f"done {key}", here, key), message_id)
    seen = [(message["text"], message["ephemeral"]) for message in messages(running, chat)]
    assert seen == [("done 3:0", True), ("done 3:1", True)]


async def test_a_private_answer_goes_on_in_private_after_a_restart(running: Running, shelf: Shelf) -> None:
    shelf.private = {"/whoami"}
    emulator = running.emulator
    chat = emulator.people.make_group()
    used = emulator.people.uses("whoami", chat=chat)
    await shelf.until(1)
    await running.adapter.send(says("you", group(chat, reply_to=used), "3:0"))
    emulator.people.says("something else", chat=chat)
    await shelf.until(2)
    await running.stop()
    again = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, QuickClock())
    await again.start()
    await again.adapter.send(says("you", group(chat, reply_to=used), "3:0"))
    await again.adapter.send(says("and you", group(chat, reply_to=used), "3:1"))
    await again.stop()
    seen = [(message["text"], message["ephemeral"]) for message in messages(running, chat)]
    assert [one for one in seen if one[1]] == [("you", True), ("and you", True)]
    assert ("and you", False) not in seen


async def test_parts_of_a_private_answer_cannot_be_found_again(
    emulator: DiscordEmulator, shelf: Shelf
) -> None:
    shelf.private = {"/whoami"}
    times = Times()
    first = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, times)
    await first.start()
    chat = emulator.people.make_group()
    whoami = emulator.people.uses("whoami", chat=chat)
    status = emulator.people.uses("status", chat=chat)
    await shelf.until(2)

    def untraceable(adapter: DiscordAdapter) -> list[str]:
        """What can't be found again of both answers."""
        parts = [
            replace(says("x", group(chat, reply_to=use), key), alone=alone)
            for use, alone, keys in ((whoami, "5", ("3:0", "3:1")), (status, "", ("4:0", "4:1")))
            for key in keys
        ]
        return [part.key for part in parts if adapter.is_untraceable(part)]

    assert untraceable(first.adapter) == ["3:1"]
    await first.stop()
    again = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, times)
    assert untraceable(again.adapter) == ["3:0", "3:1"], "nothing is known before it connects"
    await again.start()
    assert untraceable(again.adapter) == ["3:1"]
    times.shift += TOKEN_SECONDS
    assert untraceable(again.adapter) == ["3:0", "3:1"]
    await again.stop()


async def test_a_written_command_is_answered_by_a_message_that_can_be_found(running: Running) -> None:
    chat = running.emulator.people.make_group()
    asked = running.emulator.people.says("/whoami", chat=chat)
    message = replace(says("x", group(chat, reply_to=asked.id), "3:1"), alone="5")
    assert not running.adapter.is_untraceable(message)


async def test_parts_of_a_private_answer_are_deleted_with_its_token(running: Running, shelf: Shelf) -> None:
    shelf.private = {"/whoami"}
    chat = running.emulator.people.make_group()
    used = running.emulator.people.uses("whoami", chat=chat)
    await shelf.until(1)
    here = group(chat, reply_to=used)
    for key in ("3:0", "3:1"):
        message_id = await running.adapter.send(says("wrong", here, key))
        await running.adapter.delete(here, message_id)
        await running.adapter.delete(here, message_id)
    assert messages(running, chat) == []


async def test_a_deletion_with_a_token_that_is_over_is_not_repeated(running: Running, shelf: Shelf) -> None:
    shelf.private = {"/whoami"}
    chat = running.emulator.people.make_group()
    used = running.emulator.people.uses("whoami", chat=chat)
    await shelf.until(1)
    here = group(chat, reply_to=used)
    message_id = await running.adapter.send(says("wrong", here, "3:0"))
    running.emulator.interactions.scale = 0.0
    await running.adapter.delete(here, message_id)
    assert [message["text"] for message in messages(running, chat)] == ["wrong"]


async def test_nothing_is_left_thinking_when_the_token_is_over(
    emulator: DiscordEmulator, shelf: Shelf
) -> None:
    clock = ManualClock(time.time())
    started = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, clock)
    await started.start()
    chat = emulator.people.make_group()
    emulator.people.uses("status", chat=chat)
    await deferred(started, chat)
    for _ in range(20):  # in steps, with signs of life, so that the account is not taken for lost
        await clock.advance(45)
        emulator.people.says("alive", chat=chat)
        await shelf.until(len(shelf.messages) + 1)
    await eventually(lambda: not any(message["thinking"] for message in messages(started, chat)))
    await started.stop()


async def test_buttons_and_completions_of_others_are_not_ours(running: Running, shelf: Shelf) -> None:
    base = {"id": "77", "channel_id": str(running.emulator.people.dm()), "token": "t", "user": {"id": "5"}}
    running.emulator.inject("INTERACTION_CREATE", {**base, "type": 3, "data": {"custom_id": "x"}})
    running.emulator.inject("INTERACTION_CREATE", {**base, "type": 4, "data": {"name": "x"}})
    running.emulator.inject("INTERACTION_CREATE", {**base, "type": 2, "data": {}})
    running.emulator.people.says("after")
    await shelf.until(1)
    assert shelf.texts == ["after"]
    assert running.adapter.counts.ignored == 3
