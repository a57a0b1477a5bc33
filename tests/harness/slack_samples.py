"""The corpus of Slack within an emulated workspace, where the people, channels, apps, files and threads that
its samples name exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.state import SlackChannel, SlackChatMessage, SlackFile, SlackUser
from roebot_testing.emulators.slack.workspace import APP_ID, BOT_ID, BOT_USER
from tests.corpus import Sample, load_samples
from tests.harness.mcp_contents import png

TEAM, ADMIN = "T0EXAMPLE", "U0MIRA000"
"""The workspace of the corpus, and a person in it."""
_OWN_IDS = ((b"U0ROEBOT0", BOT_USER), (b"B0ROEBOT0", BOT_ID), (b"A0ROEBOT0", APP_ID))


class SlackSamples:
    """Delivers samples of the corpus to the bot of an emulated workspace."""

    def __init__(self, emulator: SlackEmulator) -> None:
        self._emulator, self._world = emulator, emulator.world
        self.all = load_received_samples()
        self._world.scopes += ",usergroups:read"
        for sample in self.all:
            self._add_files(sample)
        for sample in self.all:
            for key, answer in sample.lookups.items():
                self._add_lookup(*key.split(), answer=answer)
        for sample in self.all:
            self._add_place(sample)

    def deliver(self, sample: Sample, ts: str = "") -> str:
        """Deliver a sample, with another time stamp unless `ts` is ""; return that of its message, "" for a
        command. An edit or deletion comes after the message that it changes.
        """
        if "command" in sample.event:
            path = self._world.response_url(sample.event["channel_id"], sample.event["user_id"])
            url = f"{self._emulator.origin}{path}"
            self._emulator.inject({**sample.event, "response_url": url}, "slash_commands")
            return ""
        event = sample.event["event"]
        if not is_change(sample):
            return self._deliver_message(sample, event, ts or event["ts"])
        before = event["previous_message"]
        ts = ts or before["ts"]
        place = {"channel": event["channel"], "channel_type": event["channel_type"]}
        self._deliver_message(sample, {**before, **place}, ts)
        change = {**event, "previous_message": _at(before, ts), "ts": self._world.ts()}
        change |= {"message": _at(event["message"], ts)} if "message" in event else {"deleted_ts": ts}
        self._emulator.inject({**sample.event, "event": {**change, "event_ts": change["ts"]}})
        return ts

    def _deliver_message(self, sample: Sample, event: Mapping[str, Any], ts: str) -> str:
        wire = {**_at(event, ts), "event_ts": ts}
        self._add_message(self._world.channels[event["channel"]], wire)
        self._emulator.inject({**sample.event, "event": wire})
        return ts

    def _add_lookup(self, method: str, *arguments: str, answer: Mapping[str, Any]) -> None:
        """Add what the answer of a call describes."""
        if method == "users.info":
            self._add_person(answer["user"])
        elif method == "conversations.info":
            self._add_channel(answer["channel"])
        elif method == "bots.info":
            self._add_app(answer["bot"]["id"], answer["bot"]["name"])
        elif method == "usergroups.list":
            for group in answer["usergroups"]:
                self._world.usergroups[group["id"]] = group.get("users", [])
                self._world.handles[group["id"]] = group["handle"]
        elif method == "conversations.replies":
            place = self._find_place(arguments[0])
            for message in answer["messages"]:
                self._add_message(place, message)

    def _add_person(self, described: Mapping[str, Any]) -> None:
        profile = described["profile"]
        name = profile.get("display_name") or profile["real_name"]
        person = self._world.user(described["id"], name, described["team_id"])
        person.is_guest = bool(described.get("is_restricted") or described.get("is_ultra_restricted"))

    def _add_channel(self, described: Mapping[str, Any]) -> None:
        place = self._find_place(described["id"], "group" if described.get("is_private") else "channel")
        place.name = described.get("name", "")

    def _add_app(self, bot_id: str, name: str, user: str = "") -> SlackUser:
        app = self._world.users.setdefault(user or bot_id, SlackUser(user or bot_id, name, TEAM, is_bot=True))
        app.bot_id, app.app_id = bot_id, bot_id.replace("B", "A", 1)
        return app

    def _add_place(self, sample: Sample) -> None:
        """Add the chat of a sample, and the start of its thread."""
        event = sample.event.get("event", {})
        place = self._find_place(
            event.get("channel") or sample.event["channel_id"], event.get("channel_type")
        )
        root = event.get("thread_ts", event.get("ts"))
        if root != event.get("ts") and root not in place.messages:
            start = event.get("root") or {"user": event["parent_user_id"], "ts": root}
            self._add_message(place, start)

    def _find_place(self, number: str, kind: str | None = None) -> SlackChannel:
        kinds = {"C": "channel", "D": "im", "G": "mpim"}
        place = self._world.channels.get(number) or SlackChannel(number, kind or kinds[number[0]])
        if place.kind == "im":
            place.members.add(ADMIN)
        self._world.channels[number] = place
        return place

    def _add_message(self, place: SlackChannel, wire: Mapping[str, Any]) -> None:
        known = self._world.files
        files = [known[one["id"]] for one in wire.get("files", ()) if one["id"] in known]
        content = {key: wire.get(key, []) for key in ("blocks", "attachments")}
        thread = wire.get("thread_ts", "")
        place.messages[wire["ts"]] = SlackChatMessage(
            wire["ts"],
            place.id,
            self._find_author(wire),
            wire.get("text", ""),
            thread_ts="" if thread == wire["ts"] else thread,
            subtype=wire.get("subtype", ""),
            username=wire.get("username", ""),
            files=files,
            **content,
        )

    def _find_author(self, wire: Mapping[str, Any]) -> SlackUser:
        app, user = wire.get("bot_id", ""), wire.get("user", "")
        if not app:
            return self._world.user(user)
        found = [one for one in self._world.users.values() if one.bot_id == app]
        return found[0] if found else self._add_app(app, wire.get("bot_profile", {}).get("name", app))

    def _add_files(self, sample: Sample) -> None:
        """Add the files that a sample or its lookups describe; their content can be downloaded."""
        for one in _find_files([sample.event, *sample.lookups.values()]):
            mime = one.get("mimetype", "text/plain")
            data = png(4, 4) if mime.startswith("image/") else b"stored"
            kept = {key: value for key, value in one.items() if not key.startswith("url_") and key != "size"}
            name = one.get("name", one["id"])
            self._world.files[one["id"]] = SlackFile(one["id"], name, mime, data, complete=True, details=kept)


def load_received_samples() -> list[Sample]:
    """Return the samples as the bot of the emulator receives them: with its own ids."""
    return [_as_received(sample) for sample in load_samples("slack")]


def _as_received(sample: Sample) -> Sample:
    event, lookups = orjson.dumps(sample.event), orjson.dumps(sample.lookups)
    for theirs, ours in _OWN_IDS:
        event, lookups = event.replace(theirs, ours.encode()), lookups.replace(theirs, ours.encode())
    texts = (sample.name, sample.title, sample.source)
    return Sample(*texts, orjson.loads(event), sample.reads, sample.omits, orjson.loads(lookups))


def is_change(sample: Sample) -> bool:
    """Return whether a sample is an edit or a deletion."""
    return sample.event.get("event", {}).get("subtype") in ("message_changed", "message_deleted")


def _at(message: Mapping[str, Any], ts: str) -> dict[str, Any]:
    """Return a message with another time stamp, by which the start of a thread is also known to it."""
    is_start = message.get("thread_ts") == message["ts"]
    return {**message, "ts": ts, **({"thread_ts": ts} if is_start else {})}


def _find_files(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the file objects within a payload (docs.slack.dev/reference/objects/file-object)."""
    if isinstance(value, dict):
        if str(value.get("id", "")).startswith("F0") and "mimetype" in value:
            yield value
        value = list(value.values())
    for one in value if isinstance(value, list) else ():
        yield from _find_files(one)
