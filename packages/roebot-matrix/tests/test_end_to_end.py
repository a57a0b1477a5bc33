"""People on a real homeserver and the whole service: invited, asked, answered, killed and back again."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from synapse import Synapse, User

from bot.texts import texts_for
from tests.harness.service import MODEL, ServiceProcess

pytestmark = pytest.mark.timeout(400)
PATIENCE = 90.0
LOOK_EVERY = 0.3
"""Seconds between two looks at a room: each keeps the homeserver from serving the service."""


@dataclass
class Chat:
    """A room as one of its people sees it."""

    server: Synapse
    person: User
    bot: User
    room: str

    def messages(self) -> list[dict[str, Any]]:
        """Return the bot's messages in their last version, each with its id, relation and number of edits."""
        shown: dict[str, dict[str, Any]] = {}
        for event in self.server.events(self.person, self.room):
            content = event["content"]
            if event["type"] != "m.room.message" or event["sender"] != self.bot.id or not content:
                continue
            relation = content.get("m.relates_to", {})
            if relation.get("rel_type") == "m.replace":
                old = shown[relation["event_id"]]
                shown[relation["event_id"]] = {**old, **content["m.new_content"], "edits": old["edits"] + 1}
            else:
                shown[event["event_id"]] = {**content, "id": event["event_id"], "edits": 0}
        return list(shown.values())

    def texts(self) -> list[str]:
        """Return the texts of the bot's messages."""
        return [message["body"] for message in self.messages()]

    def membership(self) -> str:
        """Return whether the bot has joined."""
        path = f"/_matrix/client/v3/rooms/{self.room}/state/m.room.member/{self.bot.id}"
        found: str = self.server.call("GET", path, self.person)["membership"]
        return found

    async def sees(self, condition: Callable[[list[str]], object]) -> list[str]:
        """Wait until the bot's messages are as wanted, then check that nothing follows."""
        await until(lambda: condition(self.texts()), PATIENCE, lambda: f"{self.texts()}")
        await asyncio.sleep(2.0)
        assert condition(self.texts()), self.texts()
        return self.texts()


async def until(condition: Callable[[], object], seconds: float, describe: Callable[[], str]) -> None:
    """Wait for something that the homeserver is asked for."""
    end = time.monotonic() + seconds
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < end, describe()
        await asyncio.sleep(LOOK_EVERY)


@dataclass
class People:
    """The bot's user and the people of a test."""

    server: Synapse
    bot: User
    ann: User
    ben: User

    def private(self, by: User, **more: Any) -> Chat:
        """Start a private chat with the bot."""
        return Chat(self.server, by, self.bot, self.server.create_room(by, self.bot, is_direct=True, **more))

    def team(self) -> Chat:
        """Create a room for all of them."""
        room = self.server.create_room(self.ann, self.ben, self.bot, name="The team")
        self.server.join(self.ben, room)
        return Chat(self.server, self.ann, self.bot, room)


@pytest.fixture
def people(homeserver: Synapse) -> People:
    return People(homeserver, *(homeserver.register(name) for name in ("roebot", "ann", "ben")))


def config(people: People, access: str = "") -> str:
    """A configuration in which Ann is the owner."""
    return f"""
config_version: 1
{MODEL}
server: {{port: 0}}
channels:
  matrix: {{base_url: "{people.server.url}", access_token: "{people.bot.token}", rate_scale: 0.005}}
access: {{owners: ["matrix:{people.ann.id}"], {access}}}
"""


@asynccontextmanager
async def started(folder: Path, text: str) -> AsyncIterator[ServiceProcess]:
    service = ServiceProcess(folder / "home", text)
    service.start()
    try:
        await service.ready(PATIENCE)
        yield service
    finally:
        if service.process is not None:
            service.process.terminate()
            await asyncio.to_thread(service.process.wait, 30.0)


async def test_messages_replies_edits_and_threads(tmp_path: Path, people: People) -> None:
    async with started(tmp_path, config(people)):
        chat = people.private(people.ann)
        people.server.says(people.ann, chat.room, "[tokens=60] [every=0.1] go")
        [text] = await chat.sees(lambda texts: bool(texts) and "word60" in texts[0])
        [streamed] = chat.messages()
        assert text.split() == [f"word{number}" for number in range(1, 61)]
        assert streamed["edits"] >= 2

        team = people.team()
        await until(lambda: team.membership() == "join", PATIENCE, lambda: team.membership())
        called = {"m.mentions": {"user_ids": [people.bot.id]}}
        people.server.says(people.ben, team.room, "among us")
        asked = people.server.says(people.ann, team.room, f"{people.bot.name}: one", **called)
        await team.sees(lambda texts: len(texts) == 1)
        [answer] = team.messages()
        assert answer["m.relates_to"] == {"m.in_reply_to": {"event_id": asked}}
        assert "among us" not in answer["body"]

        replied = {"m.relates_to": {"m.in_reply_to": {"event_id": answer["id"]}}}
        people.server.says(people.ann, team.room, "two", **replied)
        await team.sees(lambda texts: len(texts) == 2)

        thread = {"rel_type": "m.thread", "event_id": asked, "is_falling_back": True}
        inside = {"m.relates_to": {**thread, "m.in_reply_to": {"event_id": asked}}, **called}
        people.server.says(people.ann, team.room, f"{people.bot.name}: three", **inside)
        await team.sees(lambda texts: len(texts) == 3)
        relation = team.messages()[2]["m.relates_to"]
        assert (relation["rel_type"], relation["event_id"]) == ("m.thread", asked)


async def test_files_both_ways(tmp_path: Path, people: People) -> None:
    async with started(tmp_path, config(people)):
        chat = people.private(people.ann)
        address = people.server.upload(people.ann, b"seven dwarfs", "text/plain")
        file = {"msgtype": "m.file", "filename": "报告.txt", "body": "what is in it?", "url": address}
        people.server.send(people.ann, chat.room, {**file, "info": {"size": 12, "mimetype": "text/plain"}})
        await chat.sees(lambda texts: bool(texts) and "报告.txt" in texts[0])
        people.server.says(people.ann, chat.room, "/data export")
        await until(lambda: any("url" in one for one in chat.messages()), PATIENCE, lambda: f"{chat.texts()}")
        [export] = [one for one in chat.messages() if "url" in one]
        assert export["filename"].endswith(".json")
        assert "what is in it?" in people.server.download(people.ann, export["url"]).decode()


async def test_a_killed_service_answers_each_message_once(tmp_path: Path, people: People) -> None:
    async with started(tmp_path, config(people)) as service:
        chat = people.private(people.ann)
        people.server.says(people.ann, chat.room, "before")
        await chat.sees(lambda texts: len(texts) == 1)
        people.server.says(people.ann, chat.room, "[tokens=40] [every=0.1] cut off")
        await until(lambda: len(chat.texts()) == 2, PATIENCE, lambda: f"{chat.texts()}")
        assert service.process is not None
        service.process.send_signal(signal.SIGKILL)
        await service.died()
        for number in range(3):
            people.server.says(people.ann, chat.room, f"while it was down {number}")
        service.start()
        await service.ready(PATIENCE)
        texts = await chat.sees(lambda texts: sum("down 2" in text for text in texts) == 1)
        assert sum("word40" in text for text in texts) == 1, texts
        assert sum("before" in text for text in texts) == 1, texts
        assert len({message["id"] for message in chat.messages()}) == len(texts)


async def test_encrypted_rooms_are_refused_in_words(tmp_path: Path, people: People) -> None:
    encryption = {
        "type": "m.room.encryption",
        "state_key": "",
        "content": {"algorithm": "m.megolm.v1.aes-sha2"},
    }
    before = people.private(people.ann, initial_state=[encryption])
    people.server.join(people.bot, before.room)
    async with started(tmp_path, config(people)):
        unreadable = {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AwgA", "session_id": "s"}
        people.server.send(people.ann, before.room, unreadable, "m.room.encrypted")
        [notice] = await before.sees(lambda texts: len(texts) == 1)
        assert "I can't read encrypted messages" in notice
        assert before.membership() == "leave"

        chat = people.private(people.ann, initial_state=[encryption])
        [notice] = await chat.sees(lambda texts: len(texts) == 1)
        assert "I can't read encrypted messages" in notice
        assert chat.membership() == "leave"

        later = people.private(people.ann)
        people.server.says(people.ann, later.room, "hello")
        await later.sees(lambda texts: len(texts) == 1)
        people.server.set_state(people.ann, later.room, "m.room.encryption", encryption["content"])
        await until(lambda: later.membership() == "leave", PATIENCE, lambda: later.membership())
        assert "I can't read encrypted messages" in later.texts()[-1]


async def test_invitations_follow_the_access_rules(tmp_path: Path, people: People) -> None:
    mallory = people.server.register("mallory")
    access = f'blocked: ["matrix:{mallory.id}"]'
    async with started(tmp_path, config(people, access=access)):
        stranger = people.private(people.ben)
        people.server.says(people.ben, stranger.room, "你好，帮我看一下 CPU")
        [code] = await stranger.sees(lambda texts: len(texts) == 1)
        assert "`@roebot /pair " in code
        # The language of the message; Matrix reports none.
        assert code.startswith(texts_for("zh")("pair_code", code="", minutes=0)[:9])

        blocked = people.private(mallory)
        await until(lambda: blocked.membership() == "leave", PATIENCE, lambda: blocked.membership())

        room = people.server.create_room(people.ben, people.bot, name="A stranger's room")
        declined = Chat(people.server, people.ben, people.bot, room)
        await until(lambda: declined.membership() == "leave", PATIENCE, lambda: declined.membership())
