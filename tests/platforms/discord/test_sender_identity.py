"""The roles of who writes, changes, presses and uses commands, for rules about them."""

from __future__ import annotations

from .conftest import PERSON, Running, Shelf, eventually
from .test_message_edits import me

ROLES = ("role:501", "role:502")


async def test_roles_come_with_whatever_somebody_does(running: Running, shelf: Shelf) -> None:
    people, world = running.emulator.people, running.emulator.world
    world.user(PERSON).roles = [501, 502]
    chat = people.make_group()
    said = people.says(f"{me(running)} hello", chat=chat)
    people.uses("status", "", chat=chat)
    messages = await shelf.until(2)
    people.edits(chat, said.id, f"{me(running)} hello again")
    await eventually(lambda: shelf.changes)
    senders = [one.origin.sender for one in (*messages, *shelf.changes)]
    assert [sender.belongs for sender in senders] == [ROLES] * 3
    assert not any(sender.guest for sender in senders)


async def test_in_private_there_are_none(running: Running, shelf: Shelf) -> None:
    running.emulator.world.user(PERSON).roles = [501]
    running.emulator.people.says("hello")
    [message] = await shelf.until(1)
    assert message.origin.sender.belongs == ()
