"""Adapters of web console and terminal, whose chats are part of this service.

They are always connected, and every call is idempotent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bot.account_state import AccountState, Live
from bot.domain import (
    OWNER,
    Attachment,
    ChatKind,
    InboundMessage,
    Origin,
    OutboundFile,
    OutboundMessage,
    ReplyAddress,
    Sender,
)
from bot.errors import AccountLost, DeliveryCategory, DeliveryError
from bot.faults import Step, reach
from bot.platforms.base import AdapterContext
from bot.platforms.local.files import read_inbox
from bot.platforms.local.hub import ReplyFrame, ReplyHub
from bot.render.renderer import WEB, Renderer, Splitter


class LocalAdapter:
    """The adapter of the terminal, and base of the web console's.

    Message ids are `<account>:<turn>:<part>`, derived from the key, so a repeated send is the same message.
    """

    repeats_safely = True

    def __init__(self, account: str, platform: str, renderer: Renderer) -> None:
        self.account = account
        self.platform = platform
        self.hub = ReplyHub()
        self.renderer = renderer
        self._context: AdapterContext | None = None
        self._stopped = asyncio.Event()

    async def start(self, context: AdapterContext) -> None:
        self._stopped.clear()
        self._context = context
        context.report(AccountState(Live.LIVE))
        try:
            await self._stopped.wait()
        finally:
            self._context = None
            self.hub.close()
            context.report(AccountState(Live.STOPPED))

    async def stop(self) -> None:
        self._stopped.set()

    async def receive_message(
        self,
        chat: str,
        text: str,
        *,
        event_id: str,
        attachments: Sequence[Attachment] = (),
        sender: Sender = Sender(OWNER),  # noqa: B008 - frozen
    ) -> None:
        """Store a message, which is on disk on return. Repeating an `event_id` has no effect.

        Raises AccountLost while the account is stopped.
        """
        origin = self._origin(chat, event_id, sender)
        await self._store_message(event_id, origin, text, attachments)

    async def receive_click(
        self, chat: str, message_id: str, choice: str, *, event_id: str, sender: Sender
    ) -> str | None:
        """Store a click on a button of one of our messages.

        Returns None where it was stored; for a refused click, the text for the person who clicked ("":
        nothing).
        """
        origin = replace(self._origin(chat, message_id, sender), reply_to=message_id)
        refused = await self._store_message(event_id, origin, choice, clicked=True)
        return refused.get(event_id)

    def _origin(self, chat: str, message_id: str, sender: Sender) -> Origin:
        return Origin(
            account=self.account,
            platform=self.platform,
            chat=chat,
            chat_kind=ChatKind.PRIVATE,
            message_id=message_id,
            sender=sender,
        )

    async def _store_message(
        self,
        event_id: str,
        origin: Origin,
        text: str,
        attachments: Sequence[Attachment] = (),
        *,
        clicked: bool = False,
    ) -> Mapping[str, str]:
        """Store a message or click; return refused clicks like `Inbox.accept`."""
        context = self._context
        if context is None:
            raise AccountLost(f"{self.account} is not running")
        now = context.clock.now()
        context.report(AccountState(Live.LIVE, last_event=now))
        message = InboundMessage(event_id, origin, text, now, True, tuple(attachments), clicked=clicked)
        refused = await context.inbox.accept([message])
        reach(Step.ACKNOWLEDGED)
        return refused

    async def send(self, message: OutboundMessage) -> str:
        self._publish(message)
        return f"{self.account}:{message.key}"

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        self._publish(message)

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        """Delete a message, which only exists in the store."""
        turn, _ = part_of(message_id.removeprefix(f"{self.account}:"))
        self.hub.mark_stored(address.chat, turn)

    async def typing(self, address: ReplyAddress) -> None:
        self.hub.typing(address.chat)

    async def send_file(self, file: OutboundFile) -> str:
        """Announce a file; the client downloads the artifact itself."""
        turn, _ = part_of(file.key)
        self.hub.mark_stored(file.address.chat, turn)
        return f"{self.account}:{file.key}"

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        try:
            async for chunk in read_inbox(Path(attachment.ref)):
                yield chunk
        except OSError as error:
            raise DeliveryError(
                DeliveryCategory.NOT_FOUND, f"{attachment.filename} is no longer stored"
            ) from error

    def _publish(self, message: OutboundMessage) -> None:
        turn, index = part_of(message.key)
        if message.final:
            self.hub.mark_stored(message.address.chat, turn)
        else:
            self.hub.publish_frame(message.address.chat, ReplyFrame(turn, index, message.text))


class WebAdapter(LocalAdapter):
    """The web console, which has buttons in addition to the terminal's capabilities."""

    most_choices = 20
    """Buttons of one question; nobody reads more in a column."""


@dataclass(frozen=True, slots=True)
class TerminalRenderer:
    """Renders Markdown literally; printed text can't be changed, so frames close nothing."""

    name: str = "terminal"
    limits: str = "The terminal shows Markdown as it is written."

    def split(self, markdown: str) -> list[str]:
        return WEB.split(markdown)

    def growing(self) -> Splitter:
        return WEB.growing()

    def frame(self, markdown: str) -> str:
        return markdown.rstrip()

    def framing(self) -> Callable[[str], str]:
        return self.frame


def create_web(name: str, _config: Any) -> LocalAdapter:
    """Create the web console's adapter, whose chats are used through the API."""
    return WebAdapter(name, "web", WEB)


def create_terminal(name: str, _config: Any) -> LocalAdapter:
    """Create the terminal's adapter, which `roebot chat` uses through the API."""
    return LocalAdapter(name, "terminal", TerminalRenderer())


def part_of(key: str) -> tuple[int, int]:
    """Return turn and part from the key of an outbound message (`<turn>:<part>`). Raises DeliveryError."""
    turn, _, index = key.partition(":")
    if not (turn.isdecimal() and index.isdecimal()):
        raise DeliveryError(DeliveryCategory.INVALID_PAYLOAD, f"not a part of a turn: {key}")
    return int(turn), int(index)
