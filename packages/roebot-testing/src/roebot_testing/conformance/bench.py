"""A running adapter on a driven platform, with a stand-in for the dispatcher."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from bot.dispatch.reply.diff import EditPart, PostPart, RemovePart, Reply
from bot.domain import (
    ChatKind,
    InboundMessage,
    OutboundFile,
    OutboundMessage,
    Part,
    PartKind,
    PartState,
    ProgressItem,
    ReplyAddress,
)
from bot.errors import DeliveryCategory, DeliveryError, NotModified, RateLimited
from bot.platforms.base import Adapter, DeletesMessages, EditsMessages, SendsFiles
from roebot_testing.clock import QuickClock
from roebot_testing.conformance.driver import ANN, PlatformDriver, Seen, Where
from roebot_testing.inbox import RecordingInbox
from roebot_testing.running import RunningAdapter

MOMENT, MOMENTS = 0.005, 12
SKIPPED = 2.0
"""Seconds after which a frame that the adapter skipped is shown."""
STOP_SECONDS = 4.0
"""Twice the limit of `Adapter.stop`, as the suite runs on busy machines."""
_KINDS = {"png": "image/png", "txt": "text/plain", "bin": "application/octet-stream"}


class Stage:
    """One account. Each reply gets the number of a new turn."""

    def __init__(self, platform: PlatformDriver, adapter: Adapter | None = None) -> None:
        self.platform = platform
        self.inbox = RecordingInbox()
        self.running = RunningAdapter(adapter or platform.adapter(), self.inbox, platform.clock)
        self._turn = 100

    @property
    def adapter(self) -> Adapter:
        """The adapter that runs now."""
        return self.running.adapter

    async def restart(self, *, crash: bool = False) -> None:
        """Stop or crash the adapter and start another one on the same inbox."""
        await (self.running.crash() if crash else self.running.stop())
        await self.begin()

    async def begin(self) -> None:
        """Start another adapter after the last one ended."""
        self.running = RunningAdapter(self.platform.adapter(), self.inbox, self.platform.clock)
        await self.running.start()

    async def stop(self) -> None:
        """Stop the adapter within its time limit."""
        self.inbox.release()
        async with asyncio.timeout(STOP_SECONDS):
            await self.running.stop()

    async def moments(self) -> None:
        """Wait long enough for an unwanted event to show."""
        for _ in range(MOMENTS):
            await asyncio.sleep(MOMENT)

    async def receive(self, text: str = "go", at: Where = ANN, *, addressed: bool = True) -> InboundMessage:
        """Let a person write and return the stored message."""
        count = len(self.inbox.messages)
        await self.platform.writes(text, at, addressed=addressed)
        return (await self.inbox.until(count + 1))[-1]

    async def reply_address(self, text: str = "go", at: Where = ANN) -> ReplyAddress:
        """Let a person write and return the address of the answer."""
        return address_of(await self.receive(text, at))

    heard, asked = receive, reply_address
    """Former names of `receive` and `reply_address`."""

    def turn(self) -> int:
        """Return the number of a new turn."""
        self._turn += 1
        return self._turn

    def message(
        self,
        text: str,
        address: ReplyAddress,
        *,
        turn: int = 0,
        final: bool = True,
        choices: Sequence[str] = (),
        progress: Sequence[ProgressItem] = (),
    ) -> OutboundMessage:
        """Build the first part of a reply."""
        key = f"{turn or self.turn()}:0"
        return OutboundMessage(key, address, text, final, tuple(choices), progress=tuple(progress))

    def file(self, data: bytes, filename: str, address: ReplyAddress) -> OutboundFile:
        """Build a file of a reply; its media type follows from its suffix."""
        mime = _KINDS[filename.rpartition(".")[2]]
        return OutboundFile(f"{self.turn()}:0", address, filename, mime, data)

    async def post(self, message: OutboundMessage) -> str:
        """Send a message and record its delivery."""
        message_id = await self.adapter.send(message)
        self.platform.recorded(message, message_id)
        return message_id

    async def says(self, text: str, address: ReplyAddress) -> str:
        """Post a whole text."""
        return await self.post(self.message(text, address))

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        """Replace a text; an unchanged one is accepted, and a skipped frame is repeated later."""
        assert isinstance(self.adapter, EditsMessages)
        try:
            await self._edit(message, message_id)
        except DeliveryError as error:
            # An adapter may limit frames itself; RateLimited is the refusal of the platform.
            if message.final or error.category is not DeliveryCategory.RATE_LIMIT:
                raise
            if isinstance(error, RateLimited):
                raise
            await self._later(SKIPPED)
            await self._edit(message, message_id)
        self.platform.recorded(message, message_id)

    async def _later(self, seconds: float) -> None:
        clock = self.platform.clock
        if isinstance(clock, QuickClock):
            clock.ahead += seconds
        else:
            await clock.sleep(seconds)

    async def _edit(self, message: OutboundMessage, message_id: str) -> None:
        assert isinstance(self.adapter, EditsMessages)
        with suppress(NotModified):
            await self.adapter.edit(message, message_id)

    async def send_file(self, file: OutboundFile) -> str:
        """Send a file and record its delivery."""
        assert isinstance(self.adapter, SendsFiles)
        message_id = await self.adapter.send_file(file)
        self.platform.recorded(OutboundMessage(file.key, file.address, ""), message_id)
        return message_id

    def seen(self, at: Where = ANN) -> list[Seen]:
        """Return the bot's messages in a chat as people see them."""
        return list(self.platform.seen(at))

    def one(self, at: Where = ANN) -> Seen:
        """Return the only message of the bot in a chat."""
        found = self.seen(at)
        assert len(found) == 1, f"one message was expected: {[seen.text for seen in found]}"
        return found[0]

    def reply(self, address: ReplyAddress) -> ReplyFrames:
        """Begin a reply."""
        return ReplyFrames(self, address)


class ReplyFrames:
    """One reply as the dispatcher sends it: frames of a growing text, then the final."""

    def __init__(self, stage: Stage, address: ReplyAddress) -> None:
        self.address = address
        self.turn = stage.turn()
        self._stage = stage
        self._reply = Reply()

    @property
    def ids(self) -> list[str]:
        """Ids of the messages of the reply."""
        return [part.platform_id for part in self._reply.parts if part.platform_id]

    async def frame(self, markdown: str) -> None:
        """Show the text so far."""
        renderer = self._stage.adapter.renderer
        texts = list(renderer.growing().split(markdown))
        if texts:
            texts[-1] = renderer.frame(texts[-1])
        texts = [text for text in texts if text.strip()]
        while isinstance(self._stage.adapter, EditsMessages) and (action := self._reply.next_frame(texts)):
            await self._do(action, final=False)

    async def finish(self, markdown: str, choices: Sequence[str] = ()) -> None:
        """Show the final text."""
        texts = self._stage.adapter.renderer.split(markdown)
        parts = [Part(index, PartKind.TEXT, text) for index, text in enumerate(texts)]
        parts[-1] = replace(parts[-1], choices=tuple(choices))
        while (action := self._reply.next_final(parts)) is not None:
            await self._do(action, final=True)

    async def send(self, markdown: str, *, frames: int = 6) -> None:
        """Show a text in a number of frames, then the final."""
        for number in range(1, frames + 1):
            await self.frame(markdown[: len(markdown) * number // (frames + 1)])
        await self.finish(markdown)

    tell = send
    """Former name of `send`."""

    async def _do(self, action: PostPart | EditPart | RemovePart, *, final: bool) -> None:
        part = action.part
        key = f"{self.turn}:{part.index}"
        message = OutboundMessage(key, self.address, part.content, final, part.choices)
        if isinstance(action, RemovePart):
            assert isinstance(self._stage.adapter, DeletesMessages)
            await self._stage.adapter.delete(self.address, part.platform_id)
            self._reply.update_part(replace(part, state=PartState.UNDELIVERED))
            return
        if isinstance(action, PostPart):
            part = replace(part, platform_id=await self._stage.post(message))
        else:
            await self._stage.edit(message, part.platform_id)
        state = PartState.FINAL if final else PartState.POSTED
        self._reply.update_part(replace(part, state=state), shown=part.content)


def address_of(message: InboundMessage) -> ReplyAddress:
    """Return the address of the answer to a message, as the store derives it."""
    origin = message.origin
    reply_to = origin.message_id if origin.chat_kind is ChatKind.GROUP else ""
    return ReplyAddress(origin.account, origin.chat, origin.chat_kind, origin.topic, reply_to)
