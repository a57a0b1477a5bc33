"""Slack: by Socket Mode and by signed requests."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import orjson

from bot.domain import ProgressState
from bot.platforms.base import Adapter, WebhookRequest
from bot.platforms.slack.adapter import create
from roebot_testing.clock import QuickClock
from roebot_testing.conformance import ANN, Ability, Seen, Where
from roebot_testing.conformance.viewer import read_markdown
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.envelopes import signature
from roebot_testing.emulators.slack.state import SlackChatMessage
from tests.conformance.drivers.emulated import Emulated, pick, pressable, signs
from tests.harness.platforms import Port, dead_address, slack_account

ANN_ID, BEN_ID = "U0000001", "U0000002"
SCALE = 0.02
"""Events that were not acknowledged come again so much sooner, and streams live so much shorter."""
STATES = dict(zip(("pending", "in_progress", "complete", "error"), ProgressState, strict=True))
MENU = {
    Ability.MENU: "commands are part of the app's manifest",
    Ability.SILENCE: "the emulated socket answers pings by itself",
}
SOCKET = {**MENU, Ability.REQUESTS: "Socket Mode: nobody calls us"}
HTTP = {
    **MENU,
    Ability.CONNECTION: "Slack calls us: no connection stands",
    Ability.ORDERED: "requests are made side by side",
}

_MENTION = re.compile(
    r"<(?:[@#]|!(?=channel|here|everyone|group|subteam))([A-Za-z][A-Za-z0-9]*)(?:[|^][^<>]*)?>"
)


class SlackDriver(Emulated):
    account = "sl"
    emulator: SlackEmulator
    methods: ClassVar[Mapping[str, Sequence[str]]] = {
        "post": ["chat.postMessage"],
        "edit": ["chat.update"],
        "frame": ["chat.appendStream"],
        "final": ["chat.stopStream"],
        "file": ["files.completeUploadExternal"],
    }

    def __init__(self, emulator: SlackEmulator, port: Port | None = None) -> None:
        # A long sleep is a stream's timer, which no case waits for.
        super().__init__(emulator, port, QuickClock(lambda wait: wait if wait >= 100 else min(wait, 0.01)))
        self.cannot = HTTP if port else SOCKET
        self.secrets = [emulator.bot_token, emulator.app_token, emulator.signing_secret]
        self._team = emulator.people.make_channel("team")
        for user, name in ((ANN_ID, "Ann"), (BEN_ID, "Ben")):
            emulator.world.user(user, name)

    def make(self, **changes: Any) -> Adapter:
        if self.port is not None:
            hook = {"mode": "http", "app_token": None, "signing_secret": self.emulator.signing_secret}
            changes = {**hook, **changes}
        return create("sl", slack_account(self.emulator, **{"reaction": "eyes", **changes}))

    def refused_adapter(self) -> Adapter:
        return self.make(bot_token="xoxb-another-token-that-is-wrong")

    def lost_adapter(self) -> Adapter:
        return self.make(base_url=f"{dead_address()}/api/")

    async def writes(self, text: str, at: Where = ANN, *, addressed: bool = True) -> str:
        named = f"@roebot {text}" if at.team and addressed else text
        said = self.emulator.people.says(_escaped(named), user=_id(at), channel=self._channel(at))
        return said.ts

    async def replies(self, text: str, message_id: str, at: Where = ANN) -> str:
        people = self.emulator.people
        return people.says(_escaped(text), thread=message_id, user=_id(at), channel=self._channel(at)).ts

    async def app_writes(self, text: str, at: Where) -> str:
        return self.emulator.people.app_posts(_escaped(text), channel=self._team).ts

    async def forwards(self, text: str, at: Where = ANN) -> str:
        people = self.emulator.people
        return people.shares(_escaped(text), user=_id(at), channel=self._channel(at)).ts

    async def sends_file(self, data: bytes, filename: str, mime: str, at: Where = ANN) -> str:
        said = self.emulator.people.says(
            user=_id(at), channel=self._channel(at), data=data, filename=filename, mime=mime
        )
        return said.ts

    async def clicks(self, message_id: str, choice: str, at: Where = ANN) -> None:
        channel = self.emulator.world.known(self._channel(at) or _id(at))
        [actions] = [block for block in channel.messages[message_id].blocks if block["type"] == "actions"]
        button = actions["elements"][self.button(message_id, choice)]
        self.emulator.people.clicks(
            channel.id, message_id, button["value"], user=_id(at), action_id=button["action_id"]
        )

    async def removes(self, message_id: str, at: Where = ANN) -> None:
        del self.emulator.world.known(self._channel(at) or _id(at)).messages[message_id]

    async def expels(self) -> None:
        self.emulator.people.removes_bot(self._team)

    def repeats(self) -> None:
        self.emulator.duplicate()

    def unconfirmed(self) -> int:
        return self.emulator.outbox.unacked

    async def breaks(self) -> None:
        self.emulator.close_sockets()

    async def revokes(self) -> None:
        self.emulator.revoke_token()
        self.emulator.close_sockets()

    def limits(self, at: Where, seconds: float) -> None:
        self.emulator.penalize(self.emulator.world.known(self._channel(at) or _id(at)).id, seconds)

    def expires(self) -> None:
        self.emulator.expire_streams()

    async def forged(self) -> Sequence[WebhookRequest]:
        genuine = await self.genuine("forged")
        old = str(int(time.time()) - 301)
        stale = _signed(self.emulator.signing_secret, genuine.body, old)
        wrong = {**genuine.headers, "x-slack-signature": "v0=" + "0" * 64}
        strange = {**genuine.headers, "x-slack-request-timestamp": "²"}
        return [
            WebhookRequest(wrong, genuine.body),
            WebhookRequest(strange, genuine.body),
            WebhookRequest(genuine.headers, genuine.body + b" "),
            WebhookRequest(stale, genuine.body),
            WebhookRequest(_signed("another secret", genuine.body), genuine.body),
        ]

    async def genuine(self, text: str) -> WebhookRequest:
        world = self.emulator.world
        ann = world.user(ANN_ID)
        place = world.private(ann)
        said = world.add(place, ann, text)
        event = {
            "type": "message",
            "user": ANN_ID,
            "text": text,
            "channel": place.id,
            "channel_type": "im",
            "ts": said.ts,
        }
        body = orjson.dumps(
            {"type": "event_callback", "event_id": "Ev0genuine", "team_id": world.team, "event": event}
        )
        return WebhookRequest(_signed(self.emulator.signing_secret, body), body)

    def seen(self, at: Where = ANN) -> Sequence[Seen]:
        channel = self.emulator.world.known(self._channel(at) or _id(at))
        return [self._seen(one) for one in channel.messages.values() if one.user.is_bot]

    def typing(self, at: Where = ANN) -> bool:
        channel = self.emulator.world.known(self._channel(at) or _id(at))
        works = any(session.status == "processing" for session in channel.sessions.values())
        return works or any(channel.statuses.values())

    def _seen(self, one: SlackChatMessage) -> Seen:
        actions = [block for block in one.blocks if block["type"] == "actions"]
        labels = [element["text"]["text"] for block in actions for element in block["elements"]]
        said = [block for block in one.blocks if block["type"] == "context"]
        return self.message(
            one.ts,
            read_markdown(one.text),
            choices=pressable(labels),
            mentions=tuple(_MENTION.findall(one.text)),
            chosen=signs([text["text"] for block in said for text in block["elements"]]),
            growing=bool(one.stream and not one.stream.ended),
            tasks=tuple((task["title"], STATES[task["status"]]) for task in one.tasks.values()),
            filename=one.files[0].name if one.files else "",
            data=one.files[0].data if one.files else b"",
        )

    def _channel(self, at: Where) -> str:
        return self._team if at.team else ""


def _id(at: Where) -> str:
    return str(pick(at, ANN_ID, BEN_ID))


def _escaped(text: str) -> str:
    """As Slack writes what people type (docs.slack.dev/messaging/formatting-message-text)."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _signed(secret: str, body: bytes, stamp: str = "") -> dict[str, str]:
    stamp = stamp or str(int(time.time()))
    return {
        "content-type": "application/json",
        "x-slack-request-timestamp": stamp,
        "x-slack-signature": signature(secret, stamp, body),
    }


@asynccontextmanager
async def slack_by_socket() -> AsyncIterator[SlackDriver]:
    async with SlackEmulator.serve(limits=False, scale=SCALE) as emulator:
        yield SlackDriver(emulator)


@asynccontextmanager
async def slack_by_http() -> AsyncIterator[SlackDriver]:
    async with SlackEmulator.serve(limits=False, scale=SCALE) as emulator, Port.open() as port:
        emulator.subscribe(f"{port.url}/webhooks/sl")
        yield SlackDriver(emulator, port)
