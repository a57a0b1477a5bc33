"""Telegram: by long polling and by webhook."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import orjson

from bot.platforms.base import Adapter, WebhookRequest
from bot.platforms.telegram.adapter import create
from bot.platforms.telegram.webhook import SECRET_HEADER
from roebot_testing.conformance import ANN, Ability, Seen, Where
from roebot_testing.conformance.viewer import Read, read_markdown
from roebot_testing.emulators.telegram import TelegramEmulator
from roebot_testing.emulators.telegram.wire import message_wire
from tests.conformance.drivers.emulated import Emulated, pick, pressable, signs
from tests.harness.platforms import Port, dead_address, telegram_account

ANN_ID, BEN_ID = 7, 8
PERSON_LINK = "tg://user?id="
SECRET = "s3cret_of-the-hook"
STREAMS = {
    Ability.EXPIRES: "an edited message stays open for ever",
    Ability.SILENCE: "no connection stands that could be silent",
}
POLLING = {
    **STREAMS,
    Ability.CONNECTION: "it polls: there is no connection that stands",
    Ability.REQUESTS: "it polls: nobody calls us",
}
WEBHOOK = {**STREAMS, Ability.CONNECTION: "Telegram calls us: no connection stands"}


class TelegramDriver(Emulated):
    account = "tg"
    emulator: TelegramEmulator
    methods: ClassVar[Mapping[str, Sequence[str]]] = {
        "post": ["sendMessage"],
        "edit": ["editMessageText"],
        "frame": ["editMessageText"],
        "final": ["editMessageText"],
        "file": ["sendDocument"],
    }

    def __init__(self, emulator: TelegramEmulator, port: Port | None = None) -> None:
        super().__init__(emulator, port)
        self.cannot = WEBHOOK if port else POLLING
        self.secrets = [emulator.token, SECRET]
        self._team = emulator.people.make_group("Team")
        for user, name in ((ANN_ID, "Ann"), (BEN_ID, "Ben")):
            emulator.world.user(user, name)

    def make(self, **changes: Any) -> Adapter:
        if self.port is not None:
            hook = {"mode": "webhook", "webhook_url": self.port.url, "webhook_secret": SECRET}
            changes = {**hook, "streaming": "draft", **changes}
        return create("tg", telegram_account(self.emulator, **{"reaction": "👀", **changes}))

    def refused_adapter(self) -> Adapter:
        return self.make(bot_token="123456:another-token-that-is-wrong")

    def lost_adapter(self) -> Adapter:
        return self.make(base_url=dead_address())

    async def writes(self, text: str, at: Where = ANN, *, addressed: bool = True) -> str:
        named = f"@roebot_bot {text}" if at.team and addressed else text
        said = self.emulator.people.says(named, user=_id(at), chat=self._chat(at))
        return str(said.id)

    async def replies(self, text: str, message_id: str, at: Where = ANN) -> str:
        said = self.emulator.people.says(text, reply_to=int(message_id), user=_id(at), chat=self._chat(at))
        return str(said.id)

    async def app_writes(self, text: str, at: Where) -> str:
        return str(self.emulator.people.posts(text, chat=self._team).id)

    async def forwards(self, text: str, at: Where = ANN) -> str:
        said = self.emulator.people.forwards(text, author_id=666, user=_id(at), chat=self._chat(at))
        return str(said.id)

    async def sends_file(self, data: bytes, filename: str, mime: str, at: Where = ANN) -> str:
        said = self.emulator.people.says(
            media="document", data=data, filename=filename, mime=mime, user=_id(at), chat=self._chat(at)
        )
        return str(said.id)

    async def clicks(self, message_id: str, choice: str, at: Where = ANN) -> None:
        message = self.emulator.world.chats[self._chat(at)].messages[int(message_id)]
        assert message.markup is not None
        buttons = [button for row in message.markup["inline_keyboard"] for button in row]
        data = buttons[self.button(message_id, choice)]["callback_data"]
        self.emulator.people.presses(self._chat(at), int(message_id), data, user=_id(at))

    async def removes(self, message_id: str, at: Where = ANN) -> None:
        self.emulator.world.chats[self._chat(at)].messages[int(message_id)].deleted = True

    async def expels(self) -> None:
        self.emulator.people.blocks(self._team)

    def repeats(self) -> None:
        self.emulator.redeliver(4)

    def unconfirmed(self) -> int:
        return self.emulator.queue.pending

    async def revokes(self) -> None:
        self.emulator.revoke_token()

    def limits(self, at: Where, seconds: float) -> None:
        self.emulator.penalize(self._chat(at), seconds)

    async def forged(self) -> Sequence[WebhookRequest]:
        genuine = await self.genuine("forged")
        wrong = ("", SECRET[:-1], SECRET + "x", "ß")
        return [WebhookRequest({SECRET_HEADER: secret}, genuine.body) for secret in wrong]

    async def genuine(self, text: str) -> WebhookRequest:
        world = self.emulator.world
        ann = world.user(ANN_ID)
        message = world.add(world.private(ann), ann, text=text)
        update = {"update_id": 990_000_001, "message": message_wire(message)}
        return WebhookRequest({SECRET_HEADER: SECRET}, orjson.dumps(update))

    def seen(self, at: Where = ANN) -> Sequence[Seen]:
        chat = self.emulator.world.chats.get(self._chat(at))
        found = chat.messages.values() if chat else ()
        return [self._seen(one) for one in found if one.sender.is_bot and not one.deleted]

    def menu(self) -> Sequence[str]:
        return [command["command"] for command in self.emulator.world.commands]

    def _seen(self, one: Any) -> Seen:
        rows = (one.markup or {}).get("inline_keyboard", [])
        labels = [button["text"] for row in rows for button in row]
        file = one.media.file if one.media else None
        read = read_markdown(one.text) if one.rich else _read(one.text, one.entities)
        named = [link.removeprefix(PERSON_LINK) for link in read.links if link.startswith(PERSON_LINK)]
        read.links = [link for link in read.links if not link.startswith(PERSON_LINK)]
        return self.message(
            str(one.id),
            read,
            choices=pressable(labels),
            mentions=(*_mentioned(one.entities), *named),
            chosen=signs(labels),
            filename=file.name if file else "",
            data=file.data if file else b"",
        )

    def _chat(self, at: Where) -> int:
        return self._team if at.team else _id(at)


def _id(at: Where) -> int:
    return int(pick(at, ANN_ID, BEN_ID))


def _mentioned(entities: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(str(entity["user"]["id"]) for entity in entities if entity["type"] == "text_mention")


def _read(text: str, entities: Sequence[dict[str, Any]]) -> Read:
    """A text with its entities, whose offsets count UTF-16 units."""
    units = text.encode("utf-16-le")
    read = Read(text)
    for entity in entities:
        part = units[2 * entity["offset"] : 2 * (entity["offset"] + entity["length"])].decode("utf-16-le")
        if entity["type"] == "pre":
            read.code.append(part)
        elif entity["type"] == "text_link":
            read.links.append(entity["url"])
    return read


@asynccontextmanager
async def telegram_by_polling() -> AsyncIterator[TelegramDriver]:
    async with TelegramEmulator.serve(limits=False) as emulator:
        yield TelegramDriver(emulator)


class RichTelegramDriver(TelegramDriver):
    """A server that knows rich messages (Bot API 10.1)."""

    methods: ClassVar[Mapping[str, Sequence[str]]] = {**TelegramDriver.methods, "post": ["sendRichMessage"]}


@asynccontextmanager
async def telegram_with_rich_messages() -> AsyncIterator[RichTelegramDriver]:
    async with TelegramEmulator.serve(limits=False, rich=True) as emulator:
        yield RichTelegramDriver(emulator)


@asynccontextmanager
async def telegram_by_webhook() -> AsyncIterator[TelegramDriver]:
    async with TelegramEmulator.serve(limits=False) as emulator, Port.open() as port:
        yield TelegramDriver(emulator, port)
