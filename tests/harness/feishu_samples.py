"""Feishu's samples of content, each with ids of its own, and an emulator that gives the answers they need."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson

from roebot_testing.emulators.base import Handler
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.state import GROUP, FeishuChat, FeishuMessage, FeishuResource
from roebot_testing.emulators.http import Exchange
from tests.corpus import Sample, load_samples

MESSAGE, EDITED, RECALLED = "im.message.receive_v1", "im.message.updated_v1", "im.message.recalled_v1"
BOT = "ou_bot0000000000000001"
_OTHER_BOT, _OTHER_NAME = "ou_helper", "Helper"
_ROOT = "/open-apis/"
_ASKED = ("contact/v3/", "im/v1/messages", "im/v1/chats/")
"""The paths that messages are read with."""
_OWN_IDS = re.compile(r"\b(ou|om|omt|oc)_(?!bot0)(?=\w)")
"""Beginnings of ids that differ from sample to sample; the bot is the same in all."""


class SampleAnswers(FeishuEmulator):
    """The emulator with the answers of samples (`lookups`), and its own for everything else."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.lookups: dict[str, Any] = {}

    def find_handler(self, path: str) -> Handler | None:
        return self._look_up if path.removeprefix(_ROOT).startswith(_ASKED) else super().find_handler(path)

    async def _look_up(self, http: Exchange) -> None:
        """Answer with the key that has the most parameters among those that fit."""
        best, found = -1, None
        for key, answer in self.lookups.items():
            wanted = urlsplit(key.removeprefix("GET "))
            query = dict(parse_qsl(wanted.query))
            fits = wanted.path == http.path.removeprefix(_ROOT) and query.items() <= http.query.items()
            if http.method == "GET" and fits and len(query) > best:
                best, found = len(query), answer
        if found is None:
            await self.api.call(http)
        else:
            await http.answer(200 if found["code"] == 0 else 400, found)


def load_distinct_samples() -> list[Sample]:
    """Return the samples with distinct messages, chats, topics and people, all of today. The person who acts
    in the n-th is called "Person n".
    """
    return [_make_distinct(sample, number) for number, sample in enumerate(load_samples("feishu"))]


def is_for_the_bot(sample: Sample) -> bool:
    """Return whether a person writes to the bot: in private, or by mentioning it."""
    event = sample.event["event"]
    message = event.get("message", {})
    if event.get("sender", {}).get("sender_type") != "user" or message["message_type"] == "system":
        return False
    return message["chat_type"] == "p2p" or any(
        one["id"].get("open_id") == BOT for one in message.get("mentions", ())
    )


def to_others(sample: Sample, chat: str) -> Sample:
    """Move a sample to a group, where a person mentions another bot instead of this one. Of other apps, only
    messages that mention this one are pushed.

    The history of a topic is read only for a message to this bot, so the first of `reads`, the message's own
    words, is left of them.
    """
    event = deepcopy(dict(sample.event))
    inner = event["event"]
    where = inner.get("message", inner)
    where["chat_id"] = chat
    if "message" in inner:
        where["chat_type"] = GROUP
        if inner["sender"]["sender_type"] == "user":
            wire = orjson.dumps(event).decode().replace(BOT, _OTHER_BOT)
            event = orjson.loads(wire.replace('"name":"Roebot"', f'"name":"{_OTHER_NAME}"'))
    reads = sample.reads[:1] if any("container_id" in key for key in sample.lookups) else sample.reads
    return replace(sample, event=event, reads=reads)


def deliver_sample(emulator: SampleAnswers, sample: Sample) -> None:
    """Push a sample, whose message and files exist in the emulator; before a change, the message without
    words for the bot.
    """
    emulator.lookups.update(sample.lookups)
    kind, event = sample.event["header"]["event_type"], sample.event["event"]
    if kind == RECALLED:
        emulator.world.person(author := f"ou_author{event['message_id']}", "Author")
        _push_draft(
            emulator, sample, {"message_id": event["message_id"], "chat_id": event["chat_id"]}, author
        )
    elif "message" in event:
        _add_message(emulator, event["message"], find_actor(sample))
        if kind == EDITED:
            _push_draft(emulator, sample, event["message"], find_actor(sample))
    emulator.inject(dict(sample.event))


def _push_draft(emulator: SampleAnswers, sample: Sample, message: Mapping[str, Any], sender: str) -> None:
    """Push the message that a sample changes, as it was written."""
    now = str(int(time.time() * 1000))
    draft = {
        **{key: value for key, value in message.items() if key != "mentions"},
        "create_time": now,
        "update_time": now,
        "chat_type": GROUP,
        "message_type": "text",
        "content": orjson.dumps({"text": f"draft of {sample.name}"}).decode(),
    }
    described = {"sender_id": {"open_id": sender}, "sender_type": "user"}
    described["tenant_key"] = sample.event["header"]["tenant_key"]
    _add_message(emulator, draft, sender)
    emulator.inject(emulator.envelopes.wrap(MESSAGE, {"sender": described, "message": draft}))


def _add_message(emulator: SampleAnswers, wire: Mapping[str, Any], sender: str) -> None:
    world, number = emulator.world, wire["chat_id"]
    chat = world.chats.setdefault(number, FeishuChat(number, wire["chat_type"], "Operations"))
    is_json = wire["content"].startswith("{")
    message = FeishuMessage(
        wire["message_id"],
        chat,
        world.person(sender),
        wire["message_type"],
        orjson.loads(wire["content"]) if is_json else {},
        int(wire["create_time"]),
        root_id=wire.get("root_id", ""),
        parent_id=wire.get("parent_id", ""),
        thread_id=wire.get("thread_id", ""),
    )
    chat.messages[message.id] = world.messages[message.id] = message
    for key in re.findall(r"(?:file|img)_v\w+", wire["content"]):
        world.files[key] = FeishuResource(key, "stored.txt", b"stored")


def find_chat(sample: Sample) -> str:
    """Return the chat of a sample."""
    event = sample.event["event"]
    return str(event.get("message", event)["chat_id"])


def sender_name(sample: Sample) -> str:
    """Return the name of the person or app whose act a sample is, "" where the event names nobody."""
    actor = find_actor(sample)
    for person in _find_people(sample.lookups):
        if actor in (person.get("open_id"), person.get("open_bot_id")):
            return str(person.get("name") or person["sender_name"])
    return ""


def find_actor(sample: Sample) -> str:
    """Return the open id of the person or app whose act a sample is, "" where the event names nobody."""
    event = sample.event["event"]
    found = event.get("sender", {}).get("sender_id") or event.get("operator_id") or {}
    return str(found.get("open_id", ""))


def _find_people(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield people of the directory, and senders that are apps."""
    if isinstance(value, Mapping):
        if {"open_id", "name"} <= value.keys() or {"open_bot_id", "sender_name"} <= value.keys():
            yield value
        for one in value.values():
            yield from _find_people(one)
    elif isinstance(value, list):
        for one in value:
            yield from _find_people(one)


def _make_distinct(sample: Sample, number: int) -> Sample:
    whole = [sample.event, sample.lookups, sample.reads, sample.omits]
    wire = orjson.loads(_OWN_IDS.sub(rf"\g<1>_{number}x", orjson.dumps(whole).decode()))
    event, lookups, reads, omits = wire
    if message := event["event"].get("message"):
        message["create_time"] = message["update_time"] = str(int(time.time() * 1000))
    found = replace(sample, event=event, lookups=lookups, reads=reads, omits=omits)
    for person in _find_people(lookups):
        if isinstance(person, dict) and person.get("open_id") == find_actor(found):
            person["name"] = f"Person {number}"
    return found
