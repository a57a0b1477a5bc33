"""Buttons on each platform, as a person's client knows them: pressed now or when they are long gone; and what
who pressed sees of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bot.platforms.discord.components import STOP_LABEL
from roebot_testing.emulators.discord.components import labels
from roebot_testing.emulators.discord.state import EPHEMERAL
from roebot_testing.emulators.feishu.state import elements
from tests.harness.wires import Wire

Told = Callable[[], str]
"""What the platform tells who pressed, and nobody else, by now."""
Press = Callable[[int], Told]
"""Somebody (a person's number) presses it."""


def button(wire: Wire, place: str, message_id: str, number: int) -> Press:
    """A button of a message, by its number from 0 on, as it is now."""
    return _BUTTONS[wire.platform](wire, place, message_id, number)


def buttons(wire: Wire, place: str, message_id: str) -> int:
    """How many buttons a message has that are still an offer."""
    return len(_LISTS[wire.platform](wire, place, message_id))


def button_labels(wire: Wire, place: str, message_id: str) -> list[str]:
    """The words on the buttons of a message that are still an offer."""
    found = (
        one if isinstance(one, str) else one["text"] for one in _LISTS[wire.platform](wire, place, message_id)
    )
    return [one if isinstance(one, str) else one.get("content") or one["text"] for one in found]


def shown(wire: Wire, place: str, message_id: str) -> str:
    """All that everybody can read of a message: its text, and what stands in the place of its buttons."""
    return _SHOWN[wire.platform](wire, place, message_id).replace("`", "")


def says_who(wire: Wire, place: str, message_id: str, word: str, person: int) -> bool:
    """Whether a question shows that this person has decided it so."""
    name = _name(wire, wire.person(person))
    line = f"✗ Rejected by {name}" if word == "reject" else f"✓ {word} (answered by {name})"
    return line in shown(wire, place, message_id)


def _name(wire: Wire, who: str) -> str:
    world = wire.emulator.world
    if wire.platform == "feishu":
        return str(world.person(who).name)
    return str(world.user(who if wire.platform == "slack" else int(who)).name)


def _keyboard(wire: Wire, place: str, message_id: str) -> list[Any]:
    markup = wire.emulator.world.chats[int(place)].messages[int(message_id)].markup or {}
    return [one for row in markup.get("inline_keyboard", ()) for one in row]


def _telegram_list(wire: Wire, place: str, message_id: str) -> list[Any]:
    return [one for one in _keyboard(wire, place, message_id) if not one["text"].startswith("✓")]


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
    return [label for label in labels(rows) if label != STOP_LABEL]


def _telegram(wire: Wire, place: str, message_id: str, number: int) -> Press:
    data = _telegram_list(wire, place, message_id)[number]["callback_data"]

    def press(person: int) -> Told:
        user = int(wire.person(person))
        query = wire.emulator.people.presses(int(place), int(message_id), data, user=user)
        return lambda: str(wire.emulator.world.answered.get(query, ""))

    return press


def _slack(wire: Wire, place: str, message_id: str, number: int) -> Press:
    found = _slack_list(wire, place, message_id)[number]

    def press(person: int) -> Told:
        user = wire.person(person)
        before = len(_alone(wire, place, user))
        wire.emulator.people.clicks(
            place, message_id, found["value"], user=user, action_id=found["action_id"]
        )
        return lambda: "\n".join(_alone(wire, place, user)[before:])

    return press


def _feishu(wire: Wire, place: str, message_id: str, number: int) -> Press:
    value = _feishu_list(wire, place, message_id)[number]["behaviors"][0]["value"]

    def press(person: int) -> Told:
        push = wire.emulator.people.clicks(message_id, value, user=wire.person(person))
        return lambda: _toast(push.answer)

    return press


def _discord(wire: Wire, place: str, message_id: str, number: int) -> Press:
    label = _discord_list(wire, place, message_id)[number]

    def press(person: int) -> Told:
        user = int(wire.person(person))
        used = wire.emulator.people.presses(int(place), int(message_id), label, user=user)
        return lambda: _ephemeral(wire, used)

    return press


def _alone(wire: Wire, place: str, user: str) -> list[str]:
    """What Slack shows to one person alone."""
    return [str(one["text"]) for one in wire.emulator.view(place)["messages"] if one["visible_to"] == user]


def _toast(answer: dict[str, Any]) -> str:
    """The toast in the answer to a card's event."""
    toast = (answer.get("data") or {}).get("toast") or {}
    return str(toast.get("content", ""))


def _ephemeral(wire: Wire, used: int) -> str:
    """The answer to an interaction, where only one person sees it."""
    [found] = [one for one in wire.emulator.world.interactions.values() if one.id == used]
    answer = found.answer
    return str(answer.text) if answer is not None and answer.flags & EPHEMERAL else ""


def _telegram_shown(wire: Wire, place: str, message_id: str) -> str:
    message = wire.emulator.world.chats[int(place)].messages[int(message_id)]
    return "\n".join([message.text, *(one["text"] for one in _keyboard(wire, place, message_id))])


def _slack_shown(wire: Wire, place: str, message_id: str) -> str:
    message = wire.emulator.world.known(place).messages[message_id]
    signs = [block for block in message.blocks if block["type"] == "context"]
    return "\n".join([message.text, *(one["text"] for block in signs for one in block["elements"])])


def _feishu_shown(wire: Wire, place: str, message_id: str) -> str:
    return str(wire.emulator.world.messages[message_id].text)


def _discord_shown(wire: Wire, place: str, message_id: str) -> str:
    message = wire.emulator.world.channels[int(place)].messages[int(message_id)]
    buttons = [one.get("label", "") for row in message.components for one in row["components"]]
    return "\n".join([message.text, *labels(message.components), *buttons])


_SHOWN = {
    "telegram": _telegram_shown,
    "slack": _slack_shown,
    "feishu": _feishu_shown,
    "discord": _discord_shown,
}
_LISTS = {
    "telegram": _telegram_list,
    "slack": _slack_list,
    "feishu": _feishu_list,
    "discord": _discord_list,
}
_BUTTONS = {"telegram": _telegram, "slack": _slack, "feishu": _feishu, "discord": _discord}
