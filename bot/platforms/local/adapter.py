"""The adapter of an account whose chats live in this service: always connected, every call idempotent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bot.domain import (
    AccountState,
    Attachment,
    ChatKind,
    InboundMessage,
    Live,
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
from bot.platforms.local.hub import Frame, Hub
from bot.render.renderer import Renderer

OWNER = "owner"


class LocalAdapter:
    """Page or terminal. Message ids are `<account>:<turn>:<part>`, made of the key of what is sent, so a
    repeated send is the same message.
    """

    def __init__(self, account: str, platform: str, renderer: Renderer) -> None:
        self.account = account
        self.platform = platform
        self.hub = Hub()
        self._renderer = renderer
        self._context: AdapterContext | None = None
        self._stopped = asyncio.Event()

    @property
    def renderer(self) -> Renderer:
        """See Adapter."""
        return self._renderer

    @property
    def repeats_safely(self) -> bool:
        """See RepeatsSafely."""
        return True

    async def start(self, context: AdapterContext) -> None:
        """See Adapter."""
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
        """See Adapter."""
        self._stopped.set()

    async def receive(
        self,
        chat: str,
        text: str,
        *,
        event_id: str,
        attachments: Sequence[Attachment] = (),
        sender: Sender = Sender(OWNER),  # noqa: B008 - frozen
    ) -> None:
        """Take a message in; it is on disk when this returns. The same `event_id` again changes nothing.

        Raises AccountLost while the account is stopped.
        """
        origin = self._origin(chat, event_id, sender)
        await self._take(event_id, origin, text, attachments)

    async def press(
        self, chat: str, message_id: str, choice: str, *, event_id: str, sender: Sender
    ) -> str | None:
        """Take a click on a button of a message of ours in, as `receive` does a message.

        None where it was stored; where it counts for nothing, what who clicked is told ("": nothing).
        """
        origin = replace(self._origin(chat, message_id, sender), reply_to=message_id)
        refused = await self._take(event_id, origin, choice, clicked=True)
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

    async def _take(
        self,
        event_id: str,
        origin: Origin,
        text: str,
        attachments: Sequence[Attachment] = (),
        *,
        clicked: bool = False,
    ) -> Mapping[str, str]:
        """Store what somebody wrote or pressed; see Inbox for what this returns."""
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
        """See Adapter."""
        self._publish(message)
        return f"{self.account}:{message.key}"

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        """See EditsMessages."""
        self._publish(message)

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        """See DeletesMessages. What stands is what the store has; there is nothing else to take back."""
        turn, _ = part_of(message_id.removeprefix(f"{self.account}:"))
        self.hub.settled(address.chat, turn)

    async def typing(self, address: ReplyAddress) -> None:
        """See ShowsTyping."""
        self.hub.typing(address.chat)

    async def send_file(self, file: OutboundFile) -> str:
        """See SendsFiles. The reader fetches the artifact itself; the watchers are told that it is there."""
        turn, _ = part_of(file.key)
        self.hub.settled(file.address.chat, turn)
        return f"{self.account}:{file.key}"

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """See FetchesFiles."""
        try:
            async for chunk in read_inbox(Path(attachment.ref)):
                yield chunk
        except OSError as error:
            raise DeliveryError(
                DeliveryCategory.NOT_FOUND, f"{attachment.filename} is no longer kept"
            ) from error

    def _publish(self, message: OutboundMessage) -> None:
        turn, index = part_of(message.key)
        if message.final:
            self.hub.settled(message.address.chat, turn)
        else:
            self.hub.frame(message.address.chat, Frame(turn, index, message.text))


def part_of(key: str) -> tuple[int, int]:
    """Turn and part that the key of an outbound message names (`<turn>:<part>`).

    Raises DeliveryError for anything else.
    """
    turn, _, index = key.partition(":")
    if not (turn.isdecimal() and index.isdecimal()):
        raise DeliveryError(DeliveryCategory.INVALID_PAYLOAD, f"not a part of a turn: {key}")
    return int(turn), int(index)
