"""People on a real homeserver, for the conformance kit."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from faulty_proxy import FaultyProxy
from synapse import Synapse, User

from bot.platforms.base import Adapter
from roebot_matrix.account import MatrixAccount
from roebot_matrix.adapter import create
from roebot_matrix.session import SILENCE
from roebot_testing.clock import QuickClock
from roebot_testing.conformance import ANN, ANN_IN_TEAM, Ability, PlatformDriver, Seen, SuitePerson, Where
from roebot_testing.conformance.viewer import read_html

DEAF_AFTER = 3.0
"""Real seconds of silence here; a sync takes less than one."""
CANNOT: Mapping[Ability, str] = {
    Ability.CONFIRMS: "the homeserver is told nothing; a sync goes on from a stored token",
    Ability.REPEATS: "the homeserver sends an event once",
    Ability.EXPIRES: "an edited message stays open for ever",
    Ability.REQUESTS: "the homeserver never calls a bot's user",
    Ability.MENU: "Matrix has no menu of commands",
    Ability.FORWARDS: "a forwarded message is not marked as one",
    Ability.CHAT_LIMITS: "the homeserver counts what a user sends, in whichever room",
}


def _shorten(seconds: float) -> float:
    return DEAF_AFTER if seconds >= SILENCE else min(seconds, 0.01)


class MatrixDriver(PlatformDriver):
    """A bot's user of its own for each case, in rooms of its own with Ann and Ben, who stay.

    Creating a room takes longer than most cases, so each is created when it is first used.
    """

    account = "mx"
    cannot = CANNOT

    def __init__(self, server: Synapse, proxy: FaultyProxy, ann: User, ben: User) -> None:
        super().__init__()
        self.clock = QuickClock(_shorten)
        self.server, self.proxy = server, proxy
        self.bot, self._ann, self._ben = server.register("roebot"), ann, ben
        self.secrets = [self.bot.token]
        self._rooms: dict[str, str] = {}
        self.room(ANN)

    def adapter(self) -> Adapter:
        return self._make(base_url=self.proxy.url)

    def refused_adapter(self) -> Adapter:
        return self._make(base_url=self.proxy.url, access_token="syt_wrong_token")

    def lost_adapter(self) -> Adapter:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return self._make(base_url=f"http://127.0.0.1:{free.getsockname()[1]}")

    async def writes(self, text: str, at: Where = ANN, *, addressed: bool = True) -> str:
        room = await self._open(at)
        if not (at.team and addressed):
            return self.server.says(self._who(at), room, text)
        named = {"m.mentions": {"user_ids": [self.bot.id]}}
        return self.server.says(self._who(at), room, f"{self.bot.name}: {text}", **named)

    async def replies(self, text: str, message_id: str, at: Where = ANN) -> str:
        relation = {"m.relates_to": {"m.in_reply_to": {"event_id": message_id}}}
        return self.server.says(self._who(at), await self._open(at), text, **relation)

    def name_of(self, at: Where) -> str:
        return self._who(at).name

    async def app_writes(self, text: str, at: Where) -> str:
        return self.server.send(self._ben, await self._open(at), {"msgtype": "m.notice", "body": text})

    async def sends_file(self, data: bytes, filename: str, mime: str, at: Where = ANN) -> str:
        content = {
            "msgtype": "m.file",
            "body": filename,
            "url": self.server.upload(self._who(at), data, mime),
            "info": {"size": len(data), "mimetype": mime},
            "m.mentions": {},
        }
        return self.server.send(self._who(at), await self._open(at), content)

    async def removes(self, message_id: str, at: Where = ANN) -> None:
        self.server.redact(self._who(at), self.room(at), message_id)
        await self.proxy.synced()  # only a sync tells the adapter of it

    async def expels(self) -> None:
        self.server.act(self._ann, await self._open(ANN_IN_TEAM), "kick", user_id=self.bot.id)

    async def breaks(self) -> None:
        self.proxy.cuts()

    async def falls_silent(self) -> None:
        self.proxy.silent = True

    async def speaks(self) -> None:
        self.proxy.silent = False

    async def revokes(self) -> None:
        self.server.logout(self.bot)

    def limits(self, at: Where, seconds: float) -> None:
        self.proxy.limits(self.room(at), seconds)

    def lifts(self, at: Where) -> None:
        self.proxy.limits(self.room(at), 0.0)

    def loses_answer(self, operation: str) -> None:
        self.proxy.loses_answer(operation)

    def fails(self, operation: str) -> None:
        self.proxy.fails(operation)

    def connections(self) -> int:
        return self.proxy.connections

    def typing(self, at: Where = ANN) -> bool:
        return self.proxy.wire.typing[self.room(at)] > 0

    def seen(self, at: Where = ANN) -> Sequence[Seen]:
        who, room = self._who(at), self.room(at)
        shown: dict[str, dict[str, Any]] = {}
        for event in self.server.events(who, room):
            content = event["content"]
            if event["type"] != "m.room.message" or event["sender"] != self.bot.id or not content:
                continue
            relation = content.get("m.relates_to", {})
            if relation.get("rel_type") != "m.replace":
                shown[event["event_id"]] = content
            elif relation["event_id"] in shown:
                shown[relation["event_id"]] = content["m.new_content"]
        return [self._seen(message_id, content, who) for message_id, content in shown.items()]

    def room(self, at: Where) -> str:
        """Return the room where a person and the bot are, created on first use."""
        name = "team" if at.team else at.person.value
        if name not in self._rooms:
            self._rooms[name] = self._make_team() if at.team else self._room(self._who(at), is_direct=True)
        return self._rooms[name]

    async def _open(self, at: Where) -> str:
        """Return the room like `room`, without keeping the adapter from working while it is created."""
        return await asyncio.to_thread(self.room, at)

    def _make_team(self) -> str:
        room = self._room(self._ann, self._ben, name="The team")
        self.server.join(self._ben, room)
        return room

    def _seen(self, message_id: str, content: dict[str, Any], who: User) -> Seen:
        read = read_html(content.get("formatted_body", ""))
        file = self.server.download(who, content["url"]) if "url" in content else b""
        return Seen(
            message_id,
            read.text,
            tuple(self.proxy.wire.texts.get(message_id, ())),
            tuple(read.code),
            tuple(read.links),
            filename=content.get("filename", ""),
            data=file,
            reply_to=content.get("m.relates_to", {}).get("m.in_reply_to", {}).get("event_id", ""),
            mentions=tuple(content["m.mentions"].get("user_ids", ())),
        )

    def _make(self, **changes: Any) -> Adapter:
        given = {"name": self.account, "access_token": self.bot.token, **changes}
        return create(self.account, MatrixAccount.model_validate(given))

    def _room(self, by: User, *others: User, **more: Any) -> str:
        room = self.server.create_room(by, self.bot, *others, **more)
        self.server.join(self.bot, room)
        return room

    def _who(self, at: Where) -> User:
        return self._ann if at.person is SuitePerson.ANN else self._ben


@contextmanager
def matrix(server: Synapse, ann: User, ben: User) -> Iterator[MatrixDriver]:
    """Provide a driver with its proxy."""
    with FaultyProxy(server.url) as proxy:
        yield MatrixDriver(server, proxy, ann, ben)
