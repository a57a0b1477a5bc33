"""Feishu: by the long connection and by callbacks."""

from __future__ import annotations

import os
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import orjson

from bot.domain import ProgressState
from bot.platforms.base import Adapter, WebhookRequest
from bot.platforms.feishu.adapter import create
from roebot_testing.clock import QuickClock
from roebot_testing.conformance import ANN, Ability, Seen, Where
from roebot_testing.conformance.viewer import read_markdown
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.crypto import encrypt, signature
from roebot_testing.emulators.feishu.state import FeishuMessage, elements, list_panels
from tests.conformance.drivers.emulated import Emulated, pick, pressable
from tests.harness.platforms import Port, dead_address, feishu_account

ANN_ID, BEN_ID = "ou_ada0000000000000001", "ou_ben0000000000000001"
KEY, TOKEN = "an-encrypt-key", "a-verification-token"
SCALE = 0.05
STATES = dict(zip("○▸✓✗", ProgressState, strict=True))
encrypt(b"", KEY, bytes(16))  # its library reads a file when it is used first
COMMON = {
    Ability.MENU: "the bot's menu is made in the console",
    Ability.TYPING: "Feishu has no such sign",
}
SOCKET = {**COMMON, Ability.REQUESTS: "the long connection: nobody calls us"}
CALLBACK = {
    **COMMON,
    Ability.CONNECTION: "Feishu calls us: no connection stands",
    Ability.SILENCE: "Feishu calls us: no connection stands",
    Ability.ORDERED: "requests are made side by side",
}

_MENTION = re.compile(r"<at [a-z_]*id=\"?([^\s<>\"]+)\"?>", re.IGNORECASE)


class FeishuDriver(Emulated):
    account = "fs"
    emulator: FeishuEmulator
    methods: ClassVar[Mapping[str, Sequence[str]]] = {
        "post": ["message.create"],
        "edit": ["card.update"],
        "frame": ["element.content"],
        "final": ["card.update"],
        "file": ["message.create"],
    }

    def __init__(self, emulator: FeishuEmulator, port: Port | None = None) -> None:
        # Pings are not made so quick that a busy machine would miss their answers.
        super().__init__(emulator, port, QuickClock(lambda wait: 0.4 if wait >= 20 else min(wait, 0.01)))
        self.cannot = CALLBACK if port else SOCKET
        self.secrets = [emulator.app_secret, KEY, TOKEN]
        self._team = emulator.people.make_group("Team")
        for person, name in ((ANN_ID, "Ann"), (BEN_ID, "Ben")):
            emulator.world.person(person, name)

    def make(self, **changes: Any) -> Adapter:
        if self.port is not None:
            changes = {"mode": "webhook", "encrypt_key": KEY, "verification_token": TOKEN, **changes}
        return create("fs", feishu_account(self.emulator, **{"reaction": "OnIt", **changes}))

    def refused_adapter(self) -> Adapter:
        return self.make(app_secret="another-secret-that-is-wrong")

    def lost_adapter(self) -> Adapter:
        return self.make(base_url=dead_address())

    async def writes(self, text: str, at: Where = ANN, *, addressed: bool = True) -> str:
        named = f"@{self.emulator.world.bot.name} {text}" if at.team and addressed else text
        return self.emulator.people.says(named, user=_id(at), chat=self._team if at.team else "").id

    async def replies(self, text: str, message_id: str, at: Where = ANN) -> str:
        chat = self._team if at.team else ""
        return self.emulator.people.says(text, reply_to=message_id, user=_id(at), chat=chat).id

    async def app_writes(self, text: str, at: Where) -> str:
        return self.emulator.people.other_bot_says(text, chat=self._team).id

    async def forwards(self, text: str, at: Where = ANN) -> str:
        people = self.emulator.people
        return people.forwards([text], user=_id(at), chat=self._team if at.team else "").id

    async def sends_file(self, data: bytes, filename: str, mime: str, at: Where = ANN) -> str:
        chat = self._team if at.team else ""
        said = self.emulator.people.says(user=_id(at), chat=chat, kind="file", data=data, filename=filename)
        return said.id

    async def clicks(self, message_id: str, choice: str, at: Where = ANN) -> None:
        button = _buttons(self.emulator.world.messages[message_id])[self.button(message_id, choice)]
        self.emulator.people.clicks(message_id, button["behaviors"][0]["value"], user=_id(at))

    async def removes(self, message_id: str, at: Where = ANN) -> None:
        self.emulator.people.recalls(message_id)

    async def expels(self) -> None:
        self.emulator.people.removes_bot(self._team)

    def repeats(self) -> None:
        self.emulator.duplicate()

    def unconfirmed(self) -> int:
        pushes = self.emulator.pushes
        return len(pushes.waiting) + sum(not push.done for push in pushes.sent)

    async def breaks(self) -> None:
        self.emulator.close_sockets()

    async def falls_silent(self) -> None:
        self.emulator.socket.answer_pings = False

    async def speaks(self) -> None:
        self.emulator.socket.answer_pings = True

    async def revokes(self) -> None:
        self.emulator.revoke_token()

    def limits(self, at: Where, seconds: float) -> None:
        self.emulator.penalize(self._chat(at), seconds)

    def expires(self) -> None:
        self.emulator.expire_streams()

    async def forged(self) -> Sequence[WebhookRequest]:
        genuine = await self.genuine("forged")
        plain = orjson.dumps({"schema": "2.0", "header": {"token": TOKEN}, "event": {}})
        stale = _signed(genuine.body, str(int(time.time()) - 301))
        return [
            WebhookRequest({**genuine.headers, "x-lark-signature": "0" * 64}, genuine.body),
            WebhookRequest(genuine.headers, genuine.body + b" "),
            WebhookRequest(stale, genuine.body),
            WebhookRequest(_signed(plain), plain),
        ]

    async def genuine(self, text: str) -> WebhookRequest:
        world = self.emulator.world
        ann = world.person(ANN_ID)
        message = world.add(world.private(ann), ann, "text", {"text": text})
        event = orjson.dumps(self.emulator.envelopes.message(message))
        body = orjson.dumps({"encrypt": encrypt(event, KEY, os.urandom(16))})
        return WebhookRequest(_signed(body), body)

    def seen(self, at: Where = ANN) -> Sequence[Seen]:
        chat = self.emulator.world.chats.get(self._chat(at))
        found = chat.messages.values() if chat else ()
        return [self._seen(one) for one in found if one.sender.is_bot and not one.deleted]

    def _seen(self, one: FeishuMessage) -> Seen:
        key = str(one.content.get("file_key") or one.content.get("image_key") or "")
        file = self.emulator.world.files.get(key)
        return self.message(
            one.id,
            read_markdown(one.text),
            choices=pressable([button["text"]["content"] for button in _buttons(one)]),
            mentions=tuple(_MENTION.findall(one.text)),
            tasks=_tasks(one),
            growing=one.card is not None and one.card.streaming_until > 0,
            filename=file.name if file and one.kind == "file" else "",
            data=file.data if file else b"",
        )

    def _chat(self, at: Where) -> str:
        return self._team if at.team else self.emulator.people.private_chat(_id(at))


def _tasks(message: FeishuMessage) -> tuple[tuple[str, ProgressState], ...]:
    """The agent's steps in the panel of a card."""
    panels = list_panels(message.card.data) if message.card is not None else []
    lines = [line.partition(" ") for panel in panels for line in panel["text"].split("\n")]
    return tuple((title, STATES[sign]) for sign, _, title in lines)


def _buttons(message: FeishuMessage) -> list[dict[str, Any]]:
    """The buttons of a question, without the one that stops a stream."""
    data = message.card.data if message.card is not None else message.content
    found = [one for one in elements(data) if one.get("tag") == "button"]
    return [one for one in found if one.get("element_id") != "stop"]


def _id(at: Where) -> str:
    return str(pick(at, ANN_ID, BEN_ID))


def _signed(body: bytes, stamp: str = "") -> dict[str, str]:
    stamp = stamp or str(int(time.time()))
    return {
        "x-lark-request-timestamp": stamp,
        "x-lark-request-nonce": "nonce",
        "x-lark-signature": signature(stamp, "nonce", KEY, body),
    }


@asynccontextmanager
async def feishu_by_socket() -> AsyncIterator[FeishuDriver]:
    async with FeishuEmulator.serve(limits=False, scale=SCALE) as emulator:
        yield FeishuDriver(emulator)


@asynccontextmanager
async def feishu_by_callback() -> AsyncIterator[FeishuDriver]:
    served = FeishuEmulator.serve(limits=False, scale=SCALE, verification_token=TOKEN)
    async with served as emulator, Port.open() as port:
        emulator.callbacks(f"{port.url}/webhooks/fs", encrypt_key=KEY)
        yield FeishuDriver(emulator, port)
