"""Page and terminal: their chats live in the service itself, and a reader has the store beside the hub."""

from __future__ import annotations

import asyncio
import io
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from bot.domain import Attachment, AttachmentKind, OutboundMessage, Sender
from bot.platforms.base import Adapter
from bot.platforms.local.adapter import LocalAdapter, create_terminal, create_web, part_of
from bot.platforms.local.files import InboxFiles
from bot.render.html import render_html
from roebot_testing.conformance import ANN, Ability, Driver, Seen, Where
from roebot_testing.conformance.viewer import Read, read_html

HERE = {
    Ability.CREDENTIALS: "it is the service's own",
    Ability.NETWORK: "it is the service's own",
    Ability.CONNECTION: "it is the service's own",
    Ability.SILENCE: "it is the service's own",
    Ability.ORDERED: "whoever writes waits for the store",
    Ability.CONFIRMS: "whoever writes waits for the store, and writes again",
    Ability.KEEPS: "whoever writes waits for the store, and writes again",
    Ability.ENDS: "a message is as long as it has to be",
    Ability.GROUPS: "its chats are private",
    Ability.MODERATORS: "what stands is what the store has",
    Ability.EXPELS: "it is the service's own",
    Ability.LOSES_ANSWERS: "a call is made within the process",
    Ability.LIMITS: "a call costs nothing",
    Ability.EXPIRES: "a growing reply stays open for ever",
    Ability.REQUESTS: "its requests are those of the API",
    Ability.FORWARDS: "nothing can be forwarded there",
    Ability.REPLIES: "nobody replies to a single message there",
    Ability.APPS: "its chats are private",
    Ability.MENU: "it reads the commands from the API",
    Ability.FILES: "it reads artifacts from the API",
}


class LocalDriver(Driver):
    """See PlatformDriver. What was recorded is what the store would show."""

    def __init__(
        self, account: str, create: Callable[..., LocalAdapter], read: Callable[[str], Read], home: Path
    ) -> None:
        super().__init__()
        self.account = account
        self.cannot = HERE
        self._create = create
        self._read = read
        self._home = home
        self._local: LocalAdapter | None = None
        self._twice = False
        self._serial = itertools.count(1)
        self._kept: dict[str, list[OutboundMessage]] = {}
        self._typed: set[str] = set()
        self._answered: set[str] = set()
        self._presses: set[asyncio.Task[None]] = set()

    def adapter(self) -> Adapter:
        self._local = self._create(self.account, None)
        return self._local

    async def writes(self, text: str, at: Where = ANN, *, addressed: bool = True) -> str:
        return await self._write(text, at, [])

    def name_of(self, at: Where) -> str:
        return at.person.title()

    async def sends_file(self, data: bytes, filename: str, mime: str, at: Where = ANN) -> str:
        await asyncio.to_thread(self._home.mkdir, exist_ok=True)
        path, size = await InboxFiles(self._home).store_file(io.BytesIO(data), len(data))
        return await self._write("", at, [Attachment(AttachmentKind.FILE, filename, str(path), size, mime)])

    async def clicks(self, message_id: str, choice: str, at: Where = ANN) -> None:
        press = asyncio.create_task(self._press(message_id, choice, at.person.value))
        self._presses.add(press)
        press.add_done_callback(self._presses.discard)

    def repeats(self) -> None:
        self._twice = True

    def recorded(self, message: OutboundMessage, message_id: str) -> None:
        self._kept.setdefault(message_id, []).append(message)

    def seen(self, at: Where = ANN) -> Sequence[Seen]:
        chat = at.person.value
        return [self._seen(key, told) for key, told in self._kept.items() if told[-1].address.chat == chat]

    def typing(self, at: Where = ANN) -> bool:
        raise NotImplementedError

    def _seen(self, message_id: str, told: list[OutboundMessage]) -> Seen:
        """The final as it is stored; before it, what the hub says."""
        assert self._local is not None
        last = told[-1]
        turn, index = part_of(last.key)
        growing = self._local.hub.list_frames(last.address.chat, turn)
        text = last.text if last.final else growing[index].text
        read = self._read(text)
        versions = [self._read(one.text).text for one in told]
        return Seen(
            message_id,
            read.text,
            tuple(versions),
            tuple(read.code),
            tuple(read.links),
            choices=last.choices if last.final and message_id not in self._answered else (),
            growing=index in growing,
        )

    async def _press(self, message_id: str, choice: str, person: str) -> None:
        """The store has a question closed as soon as its answer is stored."""
        assert self._local is not None
        event, sender = f"e-{next(self._serial)}", Sender(person, person.title())
        for _ in range(2 if self._twice else 1):
            refused = await self._local.receive_click(
                person, message_id, choice, event_id=event, sender=sender
            )
            if refused is None:
                self._answered.add(message_id)

    async def _write(self, text: str, at: Where, attachments: list[Attachment]) -> str:
        assert self._local is not None
        event, person = f"e-{next(self._serial)}", at.person.value
        for _ in range(2 if self._twice else 1):
            await self._local.receive_message(
                person, text, event_id=event, attachments=attachments, sender=Sender(person, person.title())
            )
        return event


def _on_the_page(markdown: str) -> Read:
    return read_html(render_html(markdown))


def _printed(markdown: str) -> Read:
    return Read(markdown.strip())


@asynccontextmanager
async def page(home: Path) -> AsyncIterator[LocalDriver]:
    driver = LocalDriver("web", create_web, _on_the_page, home)
    driver.cannot = {**HERE, Ability.TYPING: "it is told to whoever watches, and not kept"}
    yield driver


@asynccontextmanager
async def terminal(home: Path) -> AsyncIterator[LocalDriver]:
    driver = LocalDriver("terminal", create_terminal, _printed, home)
    driver.cannot = {
        **HERE,
        Ability.TYPING: "it is told to whoever watches, and not kept",
        Ability.FORMATS: "it prints Markdown as it is written",
    }
    yield driver
