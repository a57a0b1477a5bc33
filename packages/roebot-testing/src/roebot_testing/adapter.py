"""An adapter with an in-memory platform, and faults on demand."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bot.account_state import AccountState, Live
from bot.domain import (
    Attachment,
    ChatKind,
    InboundMessage,
    Mention,
    MentionKind,
    Origin,
    OutboundFile,
    OutboundMessage,
    ReplyAddress,
    Sender,
)
from bot.errors import DeliveryCategory, DeliveryError, NotModified, RateLimited
from bot.platforms.base import AdapterContext, CommandHint
from bot.platforms.manifest import Budget, Manifest, Scope
from bot.render.mentions import write_mentions
from bot.render.progress import checklist
from bot.render.renderer import WEB, Renderer
from bot.texts import CommandForms

EVERYBODY = frozenset({"all", "everyone", "here"})
"""Ids that no person has."""
MANIFEST = Manifest(
    platform="recording",
    title="Recording",
    adapter="roebot_testing.adapter:RecordingAdapter",
    extra="",
    budgets=(
        Budget(Scope.CHAT, 1, 1.0, "as Telegram's"),
        Budget(Scope.CHAT, 20, 60.0, "as Telegram's", kinds=frozenset({ChatKind.GROUP}), reserve=1),
        Budget(Scope.ACCOUNT, 30, 1.0, "as Telegram's", reserve=5),
    ),
    commands=CommandForms(group="/{name}{rest}"),
)


@dataclass(slots=True)
class Shown:
    """A message as a person sees it; `edits` counts how often it changed, `mentions` are ids of people, and
    `choices` its buttons.
    """

    id: str
    address: ReplyAddress
    text: str
    key: str
    edits: int = 0
    filename: str = ""
    mentions: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


@dataclass(slots=True)
class AdapterFault:
    """A failure of the next call of an operation; with `commit` the call takes effect nonetheless."""

    operation: str
    error: DeliveryError
    commit: bool = False


@dataclass(slots=True)
class RecordingAdapter:
    """One account in memory. `calls` lists (operation, chat, text) in order; `shown` are the visible
    messages.

    It shows mentions as `<@id>`, `<#id>` and `<@&id>`. `penalties` maps chats whose calls are refused to
    the seconds they must wait. `marked` are the messages with a reaction. `told` lists the private notices
    as (person, text).
    """

    name: str = "rec"
    renderer: Renderer = WEB
    repeats_safely: bool = False
    drafts: bool = False
    reacts: bool = False
    mention_kinds: frozenset[MentionKind] = frozenset(MentionKind)
    mentionable_groups: Mapping[str, str] = field(default_factory=dict)
    shown: dict[str, Shown] = field(default_factory=dict)
    marked: set[str] = field(default_factory=set)
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    faults: deque[AdapterFault] = field(default_factory=deque)
    penalties: dict[str, float] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    commands: list[CommandHint] = field(default_factory=list)
    told: list[tuple[str, str]] = field(default_factory=list)
    context: AdapterContext | None = None
    last_message_id: str = ""
    """Id of the message received last."""
    _number: int = 0
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)

    async def start(self, context: AdapterContext) -> None:
        self._stopped.clear()
        self.context = context
        self._report(Live.LIVE)
        await self._stopped.wait()
        self._report(Live.STOPPED)

    async def stop(self) -> None:
        self._stopped.set()

    async def hears(self, text: str, *, chat: str = "c1", person: str = "7", **more: object) -> None:
        """Receive a message of a person, optionally as a reply `to` another or in a `topic`; wait until
        stored."""
        assert self.context is not None
        self._number += 1
        self._report(Live.LIVE, last_event=self.context.clock.now())
        kind, to = ChatKind(str(more.pop("kind", ChatKind.PRIVATE))), str(more.pop("to", ""))
        sender = Sender(person, f"P{person}", locale=str(more.pop("locale", "")))
        topic = str(more.pop("topic", ""))
        self.last_message_id = f"u{self._number}"
        origin = Origin(self.name, "recording", chat, kind, self.last_message_id, sender, topic, to)
        message = InboundMessage(f"e{self._number}", origin, text, self.context.clock.now())
        await self.context.inbox.accept([replace(message, **more)])  # type: ignore[arg-type]

    async def presses(
        self,
        choice: str,
        message_id: str,
        *,
        chat: str = "c1",
        person: str = "7",
        kind: ChatKind = ChatKind.PRIVATE,
    ) -> None:
        """Receive a click on a button below a question; wait until it is stored."""
        assert self.context is not None
        self._number += 1
        sender = Sender(person, f"P{person}")
        origin = Origin(self.name, "recording", chat, kind, message_id, sender, "", message_id)
        now = self.context.clock.now()
        click = InboundMessage(f"e{self._number}", origin, choice, now, clicked=True)
        refused = await self.context.inbox.accept([click])
        self.told += [(person, text) for text in refused.values()]

    def fail(self, operation: str, error: DeliveryError, *, commit: bool = False) -> None:
        """Let the next call of an operation raise `error`."""
        self.faults.append(AdapterFault(operation, error, commit))

    def texts(self, chat: str = "c1") -> list[str]:
        """Return the visible texts of a chat, in order."""
        return [message.text for message in self.shown.values() if message.address.chat == chat]

    async def send(self, message: OutboundMessage) -> str:
        message, people = _with_mentions(message)
        fault = self._call("post", message.address, message.text)
        if self.repeats_safely and (known := self._by_key(message.key)):
            known.text, known.mentions = message.text, people
            return known.id
        self._number += 1
        identity = f"b{self._number}"
        if fault is None or fault.commit:
            shown = Shown(identity, message.address, message.text, message.key, mentions=people)
            shown.choices = message.choices
            self.shown[identity] = shown
        if fault is not None:
            raise fault.error
        return identity

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        message, people = _with_mentions(message)
        fault = self._call("edit", message.address, message.text)
        if fault is not None and not fault.commit:
            raise fault.error
        shown = self.shown.get(message_id)
        if shown is None:
            raise DeliveryError(DeliveryCategory.NOT_FOUND, "message to edit not found")
        if shown.text == message.text:
            raise NotModified
        shown.text, shown.edits, shown.mentions = message.text, shown.edits + 1, people
        shown.choices = message.choices
        if fault is not None:
            raise fault.error

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        if fault := self._call("delete", address, message_id):
            raise fault.error
        self.shown.pop(message_id, None)

    async def typing(self, address: ReplyAddress) -> None:
        if fault := self._call("typing", address, ""):
            raise fault.error

    def reacts_in(self, address: ReplyAddress) -> bool:
        return self.reacts

    async def react(self, address: ReplyAddress, message_id: str) -> None:
        fault = self._call("react", address, message_id)
        if fault is None or fault.commit:
            self.marked.add(message_id)
        if fault is not None:
            raise fault.error

    async def unreact(self, address: ReplyAddress, message_id: str) -> None:
        if fault := self._call("unreact", address, message_id):
            raise fault.error
        self.marked.discard(message_id)

    def drafts_in(self, address: ReplyAddress) -> bool:
        return self.drafts and address.chat_kind is ChatKind.PRIVATE

    async def draft(self, message: OutboundMessage, draft_id: int) -> None:
        shown = "\n\n".join(filter(None, [message.text, checklist(message.progress)]))
        if fault := self._call("draft", message.address, shown):
            raise fault.error

    async def send_file(self, file: OutboundFile) -> str:
        fault = self._call("file", file.address, file.filename)
        if self.repeats_safely and (known := self._by_key(file.key)):
            return known.id
        self._number += 1
        identity = f"b{self._number}"
        if fault is None or fault.commit:
            self.shown[identity] = Shown(identity, file.address, "", file.key, filename=file.filename)
            self.files[file.filename] = file.data
        if fault is not None:
            raise fault.error
        return identity

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        if fault := self._fault("fetch"):
            raise fault.error
        if attachment.ref not in self.files:
            raise DeliveryError(DeliveryCategory.NOT_FOUND, "no such file")
        yield self.files[attachment.ref]

    async def register_commands(self, commands: Sequence[CommandHint]) -> None:
        self.commands = list(commands)

    def _call(self, operation: str, address: ReplyAddress, text: str) -> AdapterFault | None:
        self.calls.append((operation, address.chat, text))
        if (seconds := self.penalties.get(address.chat)) is not None:
            self._report(Live.LIMITED)
            return AdapterFault(operation, RateLimited(seconds))
        return self._fault(operation)

    def _fault(self, operation: str) -> AdapterFault | None:
        for fault in self.faults:
            if fault.operation == operation:
                self.faults.remove(fault)
                return fault
        return None

    def _report(self, live: Live, *, last_event: float = 0.0) -> None:
        if self.context is not None:
            self.context.report(AccountState(live, identity="@recorder", last_event=last_event))

    def _by_key(self, key: str) -> Shown | None:
        return next((message for message in self.shown.values() if message.key == key), None)


def _with_mentions(message: OutboundMessage) -> tuple[OutboundMessage, tuple[str, ...]]:
    if not message.mentions:
        return message, ()
    text, written = write_mentions(message.text, message.mentions, _write_mention, limit=100_000)
    people = tuple(one.id for one in written if one.kind is MentionKind.PERSON)
    return replace(message, text=text), people


def _write_mention(mention: Mention) -> str:
    sign = {MentionKind.PERSON: "@", MentionKind.CHANNEL: "#", MentionKind.ROLE: "@&"}[mention.kind]
    return f"<{sign}{mention.id}>" if mention.id.isalnum() and mention.id not in EVERYBODY else ""
