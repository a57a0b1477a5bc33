"""Buttons on each platform, as a person's client knows them: pressed now or when they are long gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bot.platforms.discord.buttons import STOP_LABEL
from bot.testing.emulators.feishu.state import elements
from tests.harness.wires import Wire

Press = Callable[[int], None]
"""Somebody (a person's number) presses it."""


def button(wire: Wire, place: str, message_id: str, number: int) -> Press:
    """A button of a message, by its number from 0 on, as it is now."""
    return _BUTTONS[wire.platform](wire, place, message_id, number)


def buttons(wire: Wire, place: str, message_id: str) -> int:
    """How many buttons a message has that are still an offer."""
    return len(_LISTS[wire.platform](wire, place, message_id))


def _telegram_list(wire: Wire, place: str, message_id: str) -> list[Any]:
    markup = wire.emulator.world.chats[int(place)].messages[int(message_id)].markup or {}
    return [one for row in markup.get("inline_keyboard", ()) for one in row]


def _slack_list(wire: Wire, place: str, message_id: str) -> list[Any]:
    blocks = wire.emulator.world.known(place).messages[message_id].blocks
    return [one for block in blocks if block["type"] == "actions" for one in block["elements"]]


def _feishu_list(wire: Wire, place: str, message_id: str) -> list[Any]:
    message = wire.emulator.world.messages[message_id]
    data = message.card.data if message.card is not None else message.content
    found = [one for one in elements(data) if one.get("tag") == "button" and one.get("element_id") != "stop"]
    return [one for one in found if not one["text"]["content"].startswith("✓")]


def _discord_list(wire: Wire, place: str, message_id: str) -> list[Any]:
    rows = wire.emulator.world.channels[int(place)].messages[int(message_id)].components
    found = [one for row in rows for one in row["components"] if not one.get("disabled")]
    return [one for one in found if one.get("label") != STOP_LABEL]


def _telegram(wire: Wire, place: str, message_id: str, number: int) -> Press:
    data = _telegram_list(wire, place, message_id)[number]["callback_data"]

    def press(person: int) -> None:
        wire.emulator.people.presses(int(place), int(message_id), data, user=int(wire.person(person)))

    return press


def _slack(wire: Wire, place: str, message_id: str, number: int) -> Press:
    found = _slack_list(wire, place, message_id)[number]

    def press(person: int) -> None:
        wire.emulator.people.clicks(
            place, message_id, found["value"], user=wire.person(person), action_id=found["action_id"]
        )

    return press


def _feishu(wire: Wire, place: str, message_id: str, number: int) -> Press:
    value = _feishu_list(wire, place, message_id)[number]["behaviors"][0]["value"]

    def press(person: int) -> None:
        wire.emulator.people.clicks(message_id, value, user=wire.person(person))

    return press


def _discord(wire: Wire, place: str, message_id: str, number: int) -> Press:
    name = _discord_list(wire, place, message_id)[number]["custom_id"]

    def press(person: int) -> None:
        user = int(wire.person(person))
        wire.emulator.people.presses(int(place), int(message_id), name, user=user)

    return press


_LISTS = {
    "telegram": _telegram_list,
    "slack": _slack_list,
    "feishu": _feishu_list,
    "discord": _discord_list,
}
_BUTTONS = {"telegram": _telegram, "slack": _slack, "feishu": _feishu, "discord": _discord}
