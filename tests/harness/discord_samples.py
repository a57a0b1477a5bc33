"""The corpus of Discord within an emulated server, where the channels, people, roles, threads, messages and
files that its samples name exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import orjson

from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.discord.state import (
    DM,
    EPHEMERAL,
    THREADS,
    DiscordChatChannel,
    DiscordFile,
    DiscordMessage,
    DiscordUser,
    Guild,
    Interaction,
)
from roebot_testing.emulators.discord.wire import channel_wire, timestamp
from tests.corpus import Sample, load_samples

BOT, ADMIN = 1249150972723200001, 1104195826483200001
"""Roebot and a person of the corpus."""
SERVER = 1212912186163200001
EARLIER = "before the change"
"""What a message has that a sample edits or deletes, and has no longer afterwards."""
PRIVATE_THREAD = 12
_NO_PREVIEWS = 1 << 2
_IN_EVENTS_ONLY = ("guild_id", "member", "channel_type")
"""Fields that the gateway adds (docs.discord.com/developers/events/gateway-events#message-create)."""
_FILE = re.compile(rb"https://cdn\.discordapp\.com/attachments/\d+/(\d+)/")
_MESSAGE_OF = re.compile(r"GET /channels/\d+/messages/(\d+)")


class DiscordSamples:
    """Delivers samples of the corpus to the bot of an emulated server, each with ids of its own, which are of
    now: several have the same ones, and Discord's ids tell the time.
    """

    def __init__(self, emulator: DiscordEmulator) -> None:
        self._emulator, self._world = emulator, emulator.world
        self._world.bot = DiscordUser(BOT, "Roebot", is_bot=True)
        self._server = self._world.guilds.setdefault(SERVER, Guild(SERVER, "Larkspur"))
        self.all = load_samples("discord")
        for sample in self.all:
            for key, answer in sample.lookups.items():
                self._add_lookup(key, answer)
        for sample in self.all:
            self._add_place(sample)

    def deliver(self, sample: Sample) -> None:
        """Deliver a sample that `renew` returned. Its channel, and what it refers to, exist from then on."""
        name, event = sample.event["t"], sample.event["d"]
        self._open_threads(sample)
        place = self._world.channels[int(event["channel_id"])]
        for key, answer in sample.lookups.items():
            if _MESSAGE_OF.fullmatch(key):
                self._add_message(place, answer)
        if name == "INTERACTION_CREATE":
            self._add_use(place, event)
        elif name in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):
            self._add_message(place, event)
        else:
            for number in event.get("ids") or [event["id"]]:
                place.messages[int(number)].deleted = True
        self._emulator.inject(name, event)

    def deliver_earlier(self, sample: Sample) -> None:
        """Deliver the messages that a renewed edit or deletion is about, as they were before it."""
        for earlier in _build_earlier(sample):
            self._add_message(self._world.channels[int(earlier["channel_id"])], earlier)
            self._emulator.inject("MESSAGE_CREATE", earlier)

    def renew(self, sample: Sample, question: int = 0) -> Sample:
        """Return a sample with new ids, times and addresses of files. A choice in a menu is one below the
        message `question` of the bot unless that is 0.
        """
        data = orjson.dumps([sample.event, sample.lookups])
        for number in sorted(_list_own_numbers(sample)):
            data = data.replace(number.encode(), str(self._world.snowflake()).encode())
        token = sample.event["d"].get("token")
        if token is not None:
            data = data.replace(token.encode(), f"{token}-{self._world.snowflake()}".encode())
        for number in _FILE.findall(data):
            at = f"/attachments/1/{number.decode()}"
            self._world.files[at] = DiscordFile(int(number), "file", "text/plain", b"stored")
        data = _FILE.sub(self._world.base.encode() + rb"/attachments/1/\1/", data)
        event, lookups = orjson.loads(data)
        told = event["d"]
        if question:
            told["message"]["id"] = str(question)
        if "timestamp" in told:
            told["timestamp"] = timestamp(int(told["id"]))
        if told.get("edited_timestamp"):
            told["edited_timestamp"] = timestamp(self._world.snowflake())
        return replace(sample, event=event, lookups=lookups)

    def _add_lookup(self, key: str, answer: Any) -> None:
        """Add what the answer of a call describes; messages and threads are added when they are delivered."""
        path = key.removeprefix("GET /").split("/")
        if path[2:] == ["roles"]:
            self._server.roles = [one for one in answer if int(one["id"]) != SERVER]
        elif path[2:3] == ["members"]:
            self._add_person(answer["user"], answer)
        elif path[0] == "channels" and len(path) == 2 and "code" in answer:
            elsewhere = Guild(self._world.snowflake(), "elsewhere", present=False)
            self._world.channels[int(path[1])] = DiscordChatChannel(int(path[1]), 0, "elsewhere", elsewhere)
        elif path[0] == "channels" and len(path) == 2 and answer["type"] not in THREADS:
            self._add_channel(answer)

    def _add_place(self, sample: Sample) -> None:
        """Add the channel of a sample, if no answer describes it."""
        event = sample.event["d"]
        if int(event["channel_id"]) in self._world.channels or own_thread(sample) is not None:
            return
        told = {"id": event["channel_id"], "type": event.get("channel_type", 0)}
        made = self._add_channel({**event, **told, "name": "place"})
        if made.type == DM:
            made.person = self._add_person(event["author"], {})

    def _add_channel(self, described: Mapping[str, Any]) -> DiscordChatChannel:
        """Add the channel or thread that a channel object describes."""
        server = self._server if "guild_id" in described else None
        made = DiscordChatChannel(int(described["id"]), described["type"], described["name"], server)
        made.tags = {int(tag["id"]): tag["name"] for tag in described.get("available_tags", ())}
        made.applied = [int(tag) for tag in described.get("applied_tags", ())]
        made.owner = int(described.get("owner_id", 0))
        if described.get("parent_id"):
            made.parent = self._world.channels[int(described["parent_id"])]
        self._world.channels[made.id] = made
        return made

    def _open_threads(self, sample: Sample) -> None:
        """Add the threads that a sample names, and tell the bot of them."""
        for key, answer in sample.lookups.items():
            is_thread = key.count("/") == 2 and answer.get("type") in THREADS
            if is_thread and int(answer["id"]) not in self._world.channels:
                thread = self._add_channel(answer)
                self._emulator.inject("THREAD_CREATE", {**channel_wire(thread), "newly_created": True})

    def _add_person(self, user: Mapping[str, Any], member: Mapping[str, Any]) -> DiscordUser:
        name = user.get("global_name") or user["username"]
        person = self._world.user(int(user["id"]), name, is_bot=bool(user.get("bot")))
        person.nick = member.get("nick") or person.nick
        return person

    def _add_message(self, place: DiscordChatChannel, wire: Mapping[str, Any]) -> DiscordMessage:
        author = self._add_person(wire["author"], wire.get("member", {}))
        extra = {key: value for key, value in wire.items() if key not in _IN_EVENTS_ONLY}
        message = DiscordMessage(
            int(wire["id"]),
            place,
            author,
            wire["content"],
            kind=wire["type"],
            flags=wire.get("flags", 0) & EPHEMERAL,
            components=wire.get("components", []),
            extra=extra,
        )
        place.messages[message.id] = message
        return message

    def _add_use(self, place: DiscordChatChannel, event: Mapping[str, Any]) -> None:
        """Add what an interaction is about, so that the bot can answer it."""
        for target in event["data"].get("resolved", {}).get("messages", {}).values():
            self._add_message(place, target)
        number = int(event.get("message", {}).get("id", 0))
        person = self._add_person(event["member"]["user"], event["member"])
        command = event["data"].get("name", "")
        use = (int(event["id"]), event["token"], place, person, command, self._world.wall())
        self._world.interactions[event["token"]] = Interaction(*use, pressed=place.messages.get(number))


def own_thread(sample: Sample) -> Mapping[str, Any] | None:
    """Return the thread that a sample is in, None if it is in none."""
    found = sample.lookups.get(f"GET /channels/{sample.event['d']['channel_id']}")
    return found if found is not None and found["type"] in THREADS else None


def count_earlier(sample: Sample) -> int:
    """Return how many of the messages that a sample changes have EARLIER before that."""
    return sum(EARLIER in str(one) for one in _build_earlier(sample))


def _list_own_numbers(sample: Sample) -> set[str]:
    """Return the ids of a sample's own message, thread or interaction, and of messages that it refers to."""
    event = sample.event["d"]
    numbers = set(event.get("ids") or [event["id"]])
    numbers |= {found[1] for key in sample.lookups if (found := _MESSAGE_OF.fullmatch(key))}
    numbers |= set(event.get("data", {}).get("resolved", {}).get("messages", ()))
    if "message" in event:
        numbers.add(event["message"]["id"])
    if own_thread(sample) is not None:
        numbers.add(event["channel_id"])
    return numbers


def _build_earlier(sample: Sample) -> Iterator[dict[str, Any]]:
    """Yield the messages that an edit or a deletion is about, as they were before it."""
    event = sample.event["d"]
    if "author" in event:
        was = {key: value for key, value in event.items() if key != "reactions"}
        was |= {"edited_timestamp": None, "mentions": [], "embeds": []}
        if event["edited_timestamp"]:
            was["content"] = EARLIER
        elif event["flags"] & _NO_PREVIEWS:
            was |= {"flags": 0, "embeds": [{"type": "link", "url": event["content"], "title": EARLIER}]}
        yield was
        return
    for number in event.get("ids") or [event["id"]]:
        yield {
            "id": number,
            "channel_id": event["channel_id"],
            "guild_id": event["guild_id"],
            "author": {"id": str(ADMIN), "username": "mara_l", "global_name": "Mara Lindqvist"},
            "content": EARLIER,
            "timestamp": timestamp(int(number)),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": [],
            "mention_roles": [],
            "attachments": [],
            "embeds": [],
            "components": [],
            "pinned": False,
            "type": 0,
            "flags": 0,
        }
