"""What one person alone may see is never shown to others, whatever becomes of their slash command."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.domain import OutboundFile, OutboundMessage
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.discord.adapter import DiscordAdapter
from roebot_testing.emulators.discord.people import PERSON

from .conftest import QuickClock, Running, Shelf, account, eventually, group, says


class Command:
    """A private command that a person used in a channel."""

    def __init__(self, running: Running, chat: int, used: int) -> None:
        self.running, self.emulator = running, running.emulator
        self.chat, self.used = chat, used
        self.address = group(chat, reply_to=used)

    def part(self, text: str, key: str = "3:0") -> OutboundMessage:
        return replace(says(text, self.address, key), alone=str(PERSON))

    def file(self, key: str = "3:1") -> OutboundFile:
        return OutboundFile(key, self.address, "a.txt", "text/plain", b"a", alone=str(PERSON))

    def original(self) -> dict[str, Any]:
        return next(one for one in self.emulator.view(self.chat)["messages"] if one["from_bot"])

    @property
    def public(self) -> list[str]:
        """What everybody in the channel sees of the bot."""
        return [self._shown(one) for one in self._posted(self.chat) if not one["ephemeral"]]

    @property
    def hidden(self) -> list[str]:
        """What the person alone sees in the channel."""
        return [self._shown(one) for one in self._posted(self.chat) if one["ephemeral"]]

    @property
    def direct(self) -> list[str]:
        """What the person sees in their direct messages."""
        return [self._shown(one) for one in self._posted(self.emulator.people.dm())]

    def _posted(self, chat: int) -> list[dict[str, Any]]:
        return [one for one in self.emulator.view(chat)["messages"] if one["from_bot"]]

    def _shown(self, one: dict[str, Any]) -> str:
        return str(one["filename"] or one["text"])


async def used(running: Running, shelf: Shelf, *, thinks: bool = True) -> Command:
    shelf.private = {"/whoami"}
    chat = running.emulator.people.make_group()
    command = Command(running, chat, running.emulator.people.uses("whoami", chat=chat))
    await shelf.until(1)
    if thinks:
        await eventually(lambda: command.hidden == [""])
    return command


async def restarted(running: Running) -> Running:
    await running.stop()
    again = Running(
        DiscordAdapter("dc", account(running.emulator)), running.emulator, running.shelf, QuickClock()
    )
    await again.start()
    return again


@pytest.mark.parametrize("fault", ["error", "close"])
async def test_a_deferral_that_fails(running: Running, shelf: Shelf, fault: str) -> None:
    running.emulator.fault(fault, method="callback", status=404)
    command = await used(running, shelf, thinks=False)
    await running.adapter.send(command.part("you"))
    await running.adapter.send(command.part("and you", "3:1"))
    await running.adapter.send_file(command.file("3:2"))
    assert (command.public, command.hidden) == ([], [])
    assert command.direct == ["you", "and you", "a.txt"]


async def test_a_deferral_whose_response_is_lost(running: Running, shelf: Shelf) -> None:
    running.emulator.fault("drop", method="callback")
    command = await used(running, shelf)
    await running.adapter.send(command.part("you"))
    assert (command.public, command.hidden, command.direct) == ([], ["you"], [])


async def test_an_original_response_that_is_gone(running: Running, shelf: Shelf) -> None:
    command = await used(running, shelf)
    running.emulator.people.deletes(command.chat, command.original()["message_id"])
    number = await running.adapter.send(command.part("wait"))
    await running.adapter.edit(command.part("you"), number)
    assert (command.public, command.hidden, command.direct) == ([], ["you"], [])
    assert running.adapter.is_untraceable(command.part("you"))


async def test_files_are_as_private_as_the_text(running: Running, shelf: Shelf) -> None:
    command = await used(running, shelf)
    await running.adapter.send(command.part("you"))
    number = await running.adapter.send_file(command.file())
    assert (command.public, command.hidden, command.direct) == ([], ["you", "a.txt"], [])
    await running.adapter.delete(command.address, number)
    assert command.hidden == ["you"]


@pytest.mark.parametrize("status", [500, 403, 404])
async def test_the_first_call_after_a_restart_fails(running: Running, shelf: Shelf, status: int) -> None:
    command = await used(running, shelf)
    running.emulator.fault("error", method="getAnswer", status=status)
    again = await restarted(running)
    await again.adapter.send(command.part("you"))
    assert (command.public, command.hidden, command.direct) == ([], ["you"], [])
    await again.stop()


async def test_a_token_that_is_over(running: Running, shelf: Shelf) -> None:
    command = await used(running, shelf)
    running.emulator.interactions.scale = 0.0
    await running.adapter.send(command.part("late"))
    assert (command.public, command.hidden, command.direct) == ([], [""], ["late"])


@pytest.mark.parametrize("history", [True, False])
async def test_a_use_that_is_no_longer_known(running: Running, shelf: Shelf, history: bool) -> None:
    command = await used(running, shelf)
    await running.stop()
    shelf.cursors.clear()
    again = Running(DiscordAdapter("dc", account(running.emulator)), running.emulator, shelf, QuickClock())
    await again.start()
    if not history:
        running.emulator.people.denies(command.chat, ["READ_MESSAGE_HISTORY"])
    await again.adapter.send(command.part("late"))
    await again.adapter.send_file(command.file())
    assert (command.public, command.direct) == ([], ["late", "a.txt"])
    await again.stop()


async def test_a_person_who_takes_no_direct_messages_is_told_nothing(running: Running, shelf: Shelf) -> None:
    running.emulator.fault("error", method="callback", status=404)
    command = await used(running, shelf, thinks=False)
    running.emulator.people.bars(running.emulator.people.dm(), 50007, "Cannot send messages to this user")
    for send in (running.adapter.send(command.part("you")), running.adapter.send_file(command.file())):
        with pytest.raises(DeliveryError) as refused:
            await send
        assert refused.value.category is DeliveryCategory.PERMISSION
    assert (command.public, command.hidden, command.direct) == ([], [], [])


async def test_a_direct_message_is_edited_and_deleted(running: Running, shelf: Shelf) -> None:
    running.emulator.fault("error", method="callback", status=404)
    command = await used(running, shelf, thinks=False)
    number = await running.adapter.send(replace(command.part("wait"), final=False))
    assert running.adapter.streaming(command.address, number)
    again = await restarted(running)
    await again.adapter.edit(command.part("you"), number)
    assert (command.public, command.direct) == ([], ["you"])
    await again.adapter.delete(command.address, number)
    assert command.direct == []
    await again.stop()


async def test_a_direct_message_has_no_buttons(running: Running, shelf: Shelf) -> None:
    running.emulator.fault("error", method="callback", status=404)
    command = await used(running, shelf, thinks=False)
    choices = replace(command.part("Which model?"), choices=("big", "small"))
    number = await running.adapter.send(choices)
    await running.adapter.edit(replace(choices, text="Which one?"), number)
    [shown] = [
        one for one in running.emulator.view(running.emulator.people.dm())["messages"] if one["from_bot"]
    ]
    assert (shown["text"], shown["buttons"]) == ("Which one?", [])


async def test_a_direct_message_is_posted_once(running: Running, shelf: Shelf) -> None:
    running.emulator.fault("error", method="callback", status=404)
    command = await used(running, shelf, thinks=False)
    running.emulator.fault("drop", method="createMessage")
    with pytest.raises(DeliveryError) as lost:
        await running.adapter.send(command.part("you"))
    assert lost.value.unknown_outcome
    await running.adapter.send(command.part("you"))
    assert (command.public, command.direct) == ([], ["you"])


async def test_an_answer_that_has_become_private_since_it_was_deferred(
    running: Running, shelf: Shelf
) -> None:
    chat = running.emulator.people.make_group()
    command = Command(running, chat, running.emulator.people.uses("whoami", chat=chat))
    await shelf.until(1)
    await eventually(lambda: command.public == [""])
    await running.adapter.send(command.part("you"))
    assert (command.public, command.hidden, command.direct) == ([], [], ["you"])


async def test_a_written_command_is_answered_where_it_stands(running: Running) -> None:
    chat = running.emulator.people.make_group()
    asked = running.emulator.people.says("/whoami", chat=chat)
    command = Command(running, chat, asked.id)
    await running.adapter.send(command.part("you"))
    assert (command.public, command.direct) == (["you"], [])


async def test_nobody_elses_message_fills_an_answer(running: Running, shelf: Shelf) -> None:
    command = await used(running, shelf)
    await running.adapter.send(says("digest", group(command.chat), "9:0"))
    assert (command.public, command.hidden) == (["digest"], [""])
