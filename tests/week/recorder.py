"""The adapter of one life of the bot on a platform of the simulated week. What is on its way when the bot
dies may have happened or not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Set
from typing import cast

from agent.shared.aio import wait_first
from bot.bus.message_bus import AccountInbox
from bot.domain import ChatKind, OutboundFile, OutboundMessage, ReplyAddress
from bot.errors import AccountLost, DeliveryCategory, DeliveryError, NotModified, RateLimited
from bot.platforms.base import AdapterContext
from bot.platforms.manifest import Operation
from roebot_testing.adapter import AdapterFault, RecordingAdapter
from tests.week.platforms import Platform, Question

TRAVEL = (0.02, 0.25)
"""Seconds that a call takes in each direction."""
SLOW, SLOWLY = 0.01, 3.0
"""How often it takes so long instead."""


class Recorder(RecordingAdapter):
    """See the module. `over` is set when the bot dies."""

    most_choices = 10

    def __init__(self, platform: Platform, over: asyncio.Event) -> None:
        super().__init__(
            name=platform.name,
            renderer=platform.renderer,
            repeats_safely=platform.repeats_safely,
            shown=platform.shown,
            files=platform.files,
        )
        self._platform = platform
        self._over = over
        self._broken = False
        self._doing = (Operation.POST, "", "")
        self._answered: dict[str, str] = {}
        self._address = ReplyAddress(platform.name, "", ChatKind.PRIVATE)

    # The connection

    async def start(self, context: AdapterContext) -> None:
        """See Adapter."""
        self._broken = False
        self._platform.line = line = cast("AccountInbox", context.inbox)
        try:
            await super().start(context)
        finally:
            if self._platform.line is line:
                self._platform.line = None
        if self._broken:
            raise AccountLost("the connection broke")

    def breaks(self) -> None:
        """The connection is lost."""
        self._broken = True
        self._stopped.set()

    # The calls

    async def send(self, message: OutboundMessage) -> str:
        """See Adapter."""
        await self._travel()
        self._doing = (Operation.POST, message.key, message.text)
        self._number = self._platform.numbers
        try:
            identity = await super().send(message)
        except DeliveryError as error:
            self._failed(error, message.key, self._shown(message.key))
            raise
        self._posted(identity, message.address, message.key)
        self._ask(identity, message)
        await self._answers(message.key, identity)
        return identity

    async def send_file(self, file: OutboundFile) -> str:
        """See SendsFiles."""
        await self._travel()
        self._doing = (Operation.POST, file.key, file.filename)
        self._number = self._platform.numbers
        try:
            identity = await super().send_file(file)
        except DeliveryError as error:
            self._failed(error, file.key, self._shown(file.key))
            raise
        self._posted(identity, file.address, file.key)
        await self._answers(file.key, identity)
        return identity

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        """See EditsMessages."""
        await self._travel()
        operation = Operation.FINAL if message.final else Operation.EDIT
        self._doing = (operation, message.key, message.text)
        try:
            await super().edit(message, message_id)
        except NotModified:
            self._note("done")
            self._ask(message_id, message)
            raise
        except DeliveryError as error:
            if error.category is DeliveryCategory.NOT_FOUND and self.shown.pop(message_id, None):
                self._platform.removed.add(message_id)
            self._failed(error, "", "")
            raise
        self._note("done")
        self._ask(message_id, message)

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        """See DeletesMessages."""
        await self._travel()
        self._doing = (Operation.FINAL, "", message_id)
        try:
            await super().delete(address, message_id)
        except DeliveryError as error:
            self._failed(error, "", "")
            raise
        self._platform.removed.add(message_id)
        self._note("done")

    async def typing(self, address: ReplyAddress) -> None:
        """See ShowsTyping."""
        await self._travel()
        self._doing = (Operation.TYPING, "", "")
        try:
            await super().typing(address)
        except DeliveryError as error:
            self._failed(error, "", "")
            raise
        self._note("done")

    # How they go

    async def _travel(self) -> None:
        """A call on its way there, or its answer on the way back."""
        if self._over.is_set():
            raise asyncio.CancelledError
        chance = self._platform.chance
        seconds = SLOWLY if chance.random() < SLOW else chance.uniform(*TRAVEL)
        if await wait_first(self._over, self._platform.clock.sleep, seconds):
            raise asyncio.CancelledError

    def forgets(self, recorded: Set[tuple[str, str]]) -> None:
        """The bot died: the outcome of posts that it did not record (by turn and id) is unknown to it."""
        for identity, key in self._answered.items():
            self._platform.unknown[key] += (key.partition(":")[0], identity) not in recorded

    async def _answers(self, key: str, identity: str) -> None:
        try:
            await self._travel()
        except asyncio.CancelledError:
            self._platform.unknown[key] += 1
            raise
        self._answered[identity] = key

    def _call(self, operation: str, address: ReplyAddress, text: str) -> AdapterFault | None:
        del operation, text
        self._address = address
        return self._platform.fault(self._doing[0], address)

    def _fault(self, operation: str) -> AdapterFault | None:
        """Of what the base class asks by itself: files to be fetched."""
        if self._platform.calm or self._platform.chance.random() > 0.1:
            return None
        return AdapterFault(operation, DeliveryError(DeliveryCategory.TRANSIENT, "busy"))

    def _note(self, outcome: str) -> None:
        operation, key, text = self._doing
        self._platform.note(operation, self._address, key, text, outcome)

    def _failed(self, error: DeliveryError, key: str, identity: str) -> None:
        """Write it down; a post of unknown outcome may stand."""
        outcome = "refused"
        if isinstance(error, RateLimited):
            outcome = error.detail if error.detail == "earned" else "limited"
        elif error.unknown_outcome:
            outcome = "lost"
            if key:
                self._platform.unknown[key] += 1
                self._posted(identity, self._address, "")
        self._note(outcome)

    def _posted(self, identity: str, address: ReplyAddress, key: str) -> None:
        self._platform.numbers = max(self._platform.numbers, self._number)
        if identity:
            self._platform.latest[address.chat] = identity
        if key:
            self._note("done")

    def _shown(self, key: str) -> str:
        """The newest message of this key, "" for none."""
        return next((one.id for one in reversed(self.shown.values()) if one.key == key), "")

    def _ask(self, identity: str, message: OutboundMessage) -> None:
        if message.choices:
            platform = self._platform
            asked = Question(platform.name, identity, message.address, message.text, message.choices)
            platform.on_question(asked)
