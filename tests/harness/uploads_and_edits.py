"""What else people do with messages on each platform: they hand files over, and change what they wrote."""

from __future__ import annotations

from tests.harness.wires import Wire


def hands_over(wire: Wire, filename: str, data: bytes, *, person: int) -> str:
    """A person sends the bot a file in private, without a word; the place."""
    who = wire.person(person)
    people = wire.emulator.people
    match wire.platform:
        case "telegram":
            people.says(user=int(who), media="document", data=data, filename=filename, mime="text/plain")
            return who
        case "slack":
            return str(people.says(user=who, data=data, filename=filename).channel)
        case "feishu":
            return str(people.says(user=who, kind="file", data=data, filename=filename).chat.id)
        case _:
            said = people.says(user=int(who), data=data, filename=filename, mime="text/plain")
            return str(said.channel.id)


def last_written(wire: Wire, place: str) -> str:
    """The id of the newest message of a person in a place."""
    chat = int(place) if wire.platform in ("telegram", "discord") else place
    found = [one for one in wire.emulator.view(chat)["messages"] if not one["from_bot"]]
    return str(found[-1]["ts" if wire.platform == "slack" else "message_id"])


def edits(wire: Wire, place: str, message_id: str, text: str) -> None:
    """A person changes what they wrote."""
    people = wire.emulator.people
    match wire.platform:
        case "slack":
            people.edits(place, message_id, text)
        case "feishu":
            people.edits(message_id, text)
        case _:
            people.edits(int(place), int(message_id), text)
