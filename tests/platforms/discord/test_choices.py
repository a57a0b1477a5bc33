"""Questions with buttons or a menu: shown natively, clicked once, stored before Discord hears of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.domain import ChatKind, OutboundMessage, ReplyAddress
from bot.errors import DeliveryError, StoreError
from bot.platforms.base import AsksChoice
from bot.platforms.discord import callbacks
from bot.platforms.discord.adapter import DiscordAdapter
from bot.platforms.discord.components import BUTTON_WIDTH, MAX_CHOICES, choice_rows, pressed_label
from bot.platforms.discord.rest import Route
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.discord.components import BUTTON, MENU
from roebot_testing.emulators.discord.people import PERSON
from roebot_testing.emulators.discord.wire import message_wire

from .conftest import QuickClock, Running, Shelf, account, eventually, group, private, says

CHOICES = ("Berlin", "北京", 'a "quoted" <@1> one')


def question(address: ReplyAddress, key: str = "1:0") -> OutboundMessage:
    return replace(says("Where to?", address, key), choices=CHOICES)


def seen(running: Running, chat: int | str) -> list[dict[str, Any]]:
    return [one for one in running.emulator.view(int(chat))["messages"] if one["from_bot"]]


async def test_a_question_shows_its_choices(running: Running) -> None:
    assert isinstance(running.adapter, AsksChoice)
    here = private(running.emulator)
    await running.adapter.send(question(here))
    [message] = seen(running, here.chat)
    assert (message["text"], message["buttons"]) == ("Where to?", list(CHOICES))


async def test_choices_come_with_the_end_of_a_stream(running: Running) -> None:
    here = private(running.emulator)
    posted = await running.adapter.send(replace(says("Where", here), final=False))
    await running.adapter.edit(question(here), posted)
    [message] = seen(running, here.chat)
    assert (message["text"], message["buttons"], message["edits"]) == ("Where to?", list(CHOICES), 1)


async def test_a_command_is_answered_by_a_question(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    used = running.emulator.people.uses("status", chat=chat)
    await shelf.until(1)
    await running.adapter.send(question(group(chat, reply_to=used)))
    [message] = seen(running, chat)
    assert (message["buttons"], message["thinking"]) == (list(CHOICES), False)


@pytest.mark.parametrize("choice", CHOICES)
async def test_a_click_is_the_answer_of_who_clicked(running: Running, shelf: Shelf, choice: str) -> None:
    chat = running.emulator.people.make_group()
    posted = await running.adapter.send(question(group(chat)))
    used = running.emulator.people.presses(chat, int(posted), choice, user=PERSON + 1, name="Ben")
    [message] = await shelf.until(1)
    assert (message.text, message.event_id, message.addressed) == (choice, str(used), True)
    assert message.clicked
    origin = message.origin
    assert (origin.chat, origin.reply_to, origin.chat_kind) == (str(chat), posted, ChatKind.GROUP)
    assert (origin.sender.id, origin.sender.name) == (str(PERSON + 1), "Ben")
    await eventually(lambda: seen(running, chat)[0]["buttons"] == [])
    [shown] = seen(running, chat)
    [row] = shown["components"]
    assert [button["label"] for button in row["components"]] == [f"✓ {choice}"]
    assert shown["text"] == "Where to?"


async def test_it_is_stored_before_discord_hears_of_it(emulator: DiscordEmulator) -> None:
    order: list[int] = []

    class Watching(Shelf):
        async def accept(self, events, cursor=""):  # type: ignore[no-untyped-def]
            order.extend([emulator.transcript.calls["callback"]] * len(events))
            return await super().accept(events, cursor)

    started = Running(DiscordAdapter("dc", account(emulator)), emulator, Watching(), QuickClock())
    await started.start()
    here = private(emulator)
    posted = await started.adapter.send(question(here))
    emulator.people.presses(int(here.chat), int(posted), "Berlin")
    await eventually(lambda: emulator.transcript.calls["callback"] == 1)
    assert order == [0]
    await started.stop()


async def test_while_nothing_can_be_stored_the_buttons_stay(emulator: DiscordEmulator) -> None:
    class Broken(Shelf):
        failures = 2

        async def accept(self, events, cursor=""):  # type: ignore[no-untyped-def]
            if events and self.failures:
                self.failures -= 1
                raise StoreError("the disk is full")
            return await super().accept(events, cursor)

    shelf = Broken()
    started = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, QuickClock())
    await started.start()
    here = private(emulator)
    posted = await started.adapter.send(question(here))
    emulator.people.presses(int(here.chat), int(posted), "Berlin")
    await shelf.until(1)
    await eventually(lambda: seen(started, here.chat)[0]["buttons"] == [])
    assert emulator.transcript.calls["callback"] == 1
    await started.stop()


async def test_a_click_after_a_restart_is_understood(emulator: DiscordEmulator, shelf: Shelf) -> None:
    first = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, QuickClock())
    await first.start()
    here = private(emulator)
    posted = await first.adapter.send(question(here))
    await first.stop()
    second = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, QuickClock())
    await second.start()
    emulator.people.presses(int(here.chat), int(posted), "北京")
    assert (await shelf.until(1))[0].text == "北京"
    await second.stop()


async def test_a_second_click_is_another_message(running: Running, shelf: Shelf) -> None:
    here = private(running.emulator)
    posted = await running.adapter.send(question(here))
    pressing = running.emulator.people.presses
    pressing(int(here.chat), int(posted), "Berlin")
    pressing(int(here.chat), int(posted), "北京")
    messages = await shelf.until(2)
    assert [message.text for message in messages] == ["Berlin", "北京"]
    assert len({message.event_id for message in messages}) == 2


@pytest.mark.parametrize("same", ["person", "question"])
async def test_slow_clicks_leave_room_for_others(
    running: Running, shelf: Shelf, monkeypatch: pytest.MonkeyPatch, same: str
) -> None:
    monkeypatch.setattr(callbacks, "MAX_CALLBACKS", 4)
    monkeypatch.setattr(callbacks, "MAX_CALLBACKS_EACH", 2)
    chat = running.emulator.people.make_group()
    posted = [await running.adapter.send(question(group(chat), f"{number}:0")) for number in range(5)]
    running.emulator.fault("slow", method="callback", times=4, seconds=2)
    for number in range(4):
        asked, user = (posted[number], PERSON) if same == "person" else (posted[0], PERSON + number)
        running.emulator.people.presses(chat, int(asked), "Berlin", user=user)
    await shelf.until(4)
    running.emulator.clear_faults()
    running.emulator.people.presses(chat, int(posted[4]), "Berlin", user=PERSON + 9)
    await eventually(lambda: seen(running, chat)[4]["buttons"] == [])


async def test_a_click_that_comes_twice_is_one(running: Running, shelf: Shelf) -> None:
    here = private(running.emulator)
    posted = await running.adapter.send(question(here))
    running.emulator.people.presses(int(here.chat), int(posted), "Berlin")
    await shelf.until(1)
    running.emulator.redeliver()
    await eventually(lambda: shelf.duplicates == 1)
    assert len(shelf.messages) == 1


@pytest.mark.parametrize("pressed", ["choice:7", "chosen", "something else", "choice:"])
async def test_a_button_that_is_not_there_is_answered_in_private(
    running: Running, shelf: Shelf, pressed: str
) -> None:
    here = private(running.emulator)
    posted = await running.adapter.send(question(here))
    running.emulator.people.presses(int(here.chat), int(posted), pressed)
    await eventually(lambda: len(seen(running, here.chat)) == 2)
    told = seen(running, here.chat)[1]
    assert told["ephemeral"] and "too old" in told["text"]
    assert shelf.messages == []
    assert seen(running, here.chat)[0]["buttons"] == list(CHOICES)


@pytest.mark.parametrize("reason", ["Not yours.", ""])
async def test_a_click_that_is_refused_is_told_in_private_and_leaves_the_buttons(
    running: Running, shelf: Shelf, reason: str
) -> None:
    here = private(running.emulator)
    posted = await running.adapter.send(question(here))
    shelf.forbids = reason
    running.emulator.people.presses(int(here.chat), int(posted), "Berlin")
    await eventually(lambda: running.emulator.transcript.calls["callback"] == 1)
    first, *told = seen(running, here.chat)
    assert first["buttons"] == list(CHOICES)
    assert [(one["ephemeral"], one["text"]) for one in told] == ([(True, reason)] if reason else [])
    shelf.forbids = None
    running.emulator.people.presses(int(here.chat), int(posted), "北京")
    assert [message.text for message in await shelf.until(1)] == ["北京"]
    await eventually(lambda: seen(running, here.chat)[0]["buttons"] == [])


async def test_a_click_that_comes_too_late_is_told_so_and_never_shown(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    posted = await running.adapter.send(question(group(chat)))
    shelf.closed = "Answered already."
    running.emulator.people.presses(chat, int(posted), "Berlin")
    running.emulator.people.presses(chat, int(posted), "北京", user=PERSON + 1, name="Ben")
    await eventually(lambda: running.emulator.transcript.calls["callback"] == 2)
    assert [message.text for message in await shelf.until(1)] == ["Berlin"]
    shown, told = seen(running, chat)
    assert [button["label"] for row in shown["components"] for button in row["components"]] == ["✓ Berlin"]
    assert (told["ephemeral"], told["text"]) == (True, "Answered already.")


async def test_a_refusal_that_fails_does_no_harm(running: Running, shelf: Shelf) -> None:
    here = private(running.emulator)
    posted = await running.adapter.send(question(here))
    shelf.forbids = "Not yours."
    running.emulator.fault("error", method="callback", status=404)
    running.emulator.people.presses(int(here.chat), int(posted), "Berlin")
    running.emulator.people.says("goes on")
    assert [message.text for message in await shelf.until(1)] == ["goes on"]
    assert seen(running, here.chat)[0]["buttons"] == list(CHOICES)


async def test_a_confirmation_that_fails_costs_no_answer(running: Running, shelf: Shelf) -> None:
    here = private(running.emulator)
    posted = await running.adapter.send(question(here))
    running.emulator.fault("error", method="callback", status=404)
    running.emulator.people.presses(int(here.chat), int(posted), "Berlin")
    await shelf.until(1)
    running.emulator.people.says("goes on")
    assert [message.text for message in await shelf.until(2)] == ["Berlin", "goes on"]


@pytest.mark.parametrize(
    "broken",
    [
        {"message": 7},
        {"message": {"id": "1", "components": "none"}},
        {"message": {"id": "1", "components": [{"components": [7]}]}},
        {"data": []},
        {"id": "x"},
    ],
)
async def test_malformed_clicks_are_counted(running: Running, shelf: Shelf, broken: dict[str, Any]) -> None:
    chat = running.emulator.people.dm()
    click = {"id": "9", "type": 3, "token": "t", "channel_id": str(chat), "user": {"id": "7"}}
    data = {"custom_id": "choice:0", "component_type": 2}
    running.emulator.inject("INTERACTION_CREATE", {**click, "data": data, **broken})
    await eventually(lambda: running.adapter.counts.malformed == 1)
    assert shelf.messages == []


async def test_a_row_of_buttons_has_room_for_five(running: Running) -> None:
    here = private(running.emulator)
    few = tuple(f"{number} " + "x" * (BUTTON_WIDTH - 2) for number in range(5))
    await running.adapter.send(replace(says("Which?", here), choices=few))
    [row] = seen(running, here.chat)[0]["components"]
    assert [one["type"] for one in row["components"]] == [BUTTON] * 5
    assert [one["label"] for one in row["components"]] == [*few]


@pytest.mark.parametrize(
    "choices",
    [
        tuple(f"choice {number}" for number in range(6)),
        tuple(f"choice {number}" for number in range(MAX_CHOICES)),
        ("short", "x" * (BUTTON_WIDTH + 1)),
        ("short", "北" * (BUTTON_WIDTH // 2 + 1)),
    ],
    ids=["six", "all", "long", "wide"],
)
async def test_more_or_longer_choices_become_a_menu(running: Running, choices: tuple[str, ...]) -> None:
    here = private(running.emulator)
    await running.adapter.send(replace(says("Which?", here), choices=choices))
    [shown] = seen(running, here.chat)
    [row] = shown["components"]
    assert [one["type"] for one in row["components"]] == [MENU]
    assert shown["buttons"] == [*choices]
    assert running.adapter.most_choices == MAX_CHOICES


async def test_a_choice_in_a_menu_is_the_answer_of_who_chose(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    cities = ("Berlin", "北京", 'a "quoted" <@1> one', "Rome", "Oslo", "Lima")
    posted = await running.adapter.send(replace(question(group(chat)), choices=cities))
    used = running.emulator.people.presses(chat, int(posted), cities[2], user=PERSON + 1, name="Ben")
    [message] = await shelf.until(1)
    assert (message.text, message.event_id, message.clicked) == (cities[2], str(used), True)
    assert (message.origin.reply_to, message.origin.sender.name) == (posted, "Ben")
    await eventually(lambda: seen(running, chat)[0]["buttons"] == [])
    [row] = seen(running, chat)[0]["components"]
    assert [(one["type"], one["label"]) for one in row["components"]] == [(BUTTON, f"✓ {cities[2]}")]


async def test_a_refused_choice_leaves_the_menu(running: Running, shelf: Shelf) -> None:
    here = private(running.emulator)
    many = tuple(f"choice {number}" for number in range(9))
    posted = await running.adapter.send(replace(question(here), choices=many))
    shelf.forbids = "Not yours."
    running.emulator.people.presses(int(here.chat), int(posted), "choice 8")
    await eventually(lambda: running.emulator.transcript.calls["callback"] == 1)
    first, told = seen(running, here.chat)
    assert (first["buttons"], told["ephemeral"], told["text"]) == ([*many], True, "Not yours.")


async def test_a_choice_that_is_not_in_the_menu_counts_for_nothing(running: Running, shelf: Shelf) -> None:
    here = private(running.emulator)
    posted = await running.adapter.send(replace(question(here), choices=tuple("abcdef")))
    message = running.emulator.world.channels[int(here.chat)].messages[int(posted)]
    data = {"custom_id": "choices", "component_type": MENU, "values": ["6"]}
    click = {"id": "9", "type": 3, "token": "t", "channel_id": here.chat, "user": {"id": str(PERSON)}}
    running.emulator.inject("INTERACTION_CREATE", {**click, "data": data, "message": message_wire(message)})
    await eventually(lambda: running.emulator.transcript.calls["callback"] == 1)
    assert shelf.messages == []


async def test_the_emulator_knows_discords_limits(running: Running) -> None:
    here = private(running.emulator)
    route = Route("POST", "/channels/{channel_id}/messages", channel_id=here.chat)
    row = choice_rows(["a"])
    for wrong in (row * 6, [{**row[0], "components": row[0]["components"] * 2}], [{"type": 1}]):
        with pytest.raises(DeliveryError, match="Invalid Form Body"):
            await running.adapter.session.outbound.call(
                route, posting=True, json={"content": "x", "components": wrong}
            )


def test_a_settled_question_has_no_button_to_press() -> None:
    button = {"custom_id": "choice:0", "label": "Berlin", "disabled": True}
    assert pressed_label({"components": [{"components": [button]}]}, "choice:0") == ""
    assert choice_rows(()) == []
