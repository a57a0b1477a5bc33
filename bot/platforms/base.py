"""The adapter contract: one life cycle, small optional capabilities, and the manifest of a platform.

An adapter turns a platform's events into `InboundMessage`s for its `Inbox` and does what it is told with
`OutboundMessage`s. It decides nothing: who may talk, what a message belongs to and when a call may be made is
settled elsewhere. Every method that talks to a platform raises `bot.errors.DeliveryError` with a category.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from bot.clock import Clock
from bot.domain import (
    AccountState,
    Attachment,
    ChatKind,
    Earlier,
    InboundEvent,
    InboundMessage,
    OutboundFile,
    OutboundMessage,
    ReplyAddress,
)
from bot.render.renderer import Renderer


class Inbox(Protocol):
    """Where an adapter puts what it received; a call returns when it is on disk."""

    async def accept(self, events: Sequence[InboundEvent], cursor: str = "") -> Mapping[str, str]:
        """Store `events` in order (duplicates are dropped) and the receive `cursor`, in one transaction.

        Returns, by event id, the clicks among them that count for nothing: not their author's to make, or on
        a question that is not open any more. What they say is never shown as chosen, the buttons stay, and
        where the platform has a way to tell somebody alone, they are told this text ("": nothing).

        The adapter tells the platform "received" after this returns, never before. Raises StoreError where it
        cannot be stored now: the account goes on, and brings it again or lets the platform send it again. A
        change is one that a person made: what the platform does to a message by itself (previews of links),
        and what happens to the bot's own messages, is none.
        """
        ...

    async def cursor(self) -> str:
        """The cursor stored last ("" if none)."""
        ...

    async def migrate_chat(self, old: str, new: str) -> None:
        """The platform gave a chat another id: its conversations go with it."""
        ...

    def records(self, chat: str) -> bool:
        """Whether messages to others are kept there too, so that their senders' names are worth a call."""
        ...

    def alone(self, message: InboundMessage) -> bool:
        """Whether what answers this command is for who gave it alone, where the platform can do that."""
        ...


@dataclass(frozen=True, slots=True)
class AdapterContext:
    """What a running adapter is given by its supervisor."""

    inbox: Inbox
    report: Callable[[AccountState], None]
    clock: Clock


@runtime_checkable
class Adapter(Protocol):
    """One account of one platform."""

    @property
    def renderer(self) -> Renderer:
        """Splits and frames Markdown for this platform; asked anew for each reply."""
        ...

    async def start(self, context: AdapterContext) -> None:
        """Connect, then receive until `stop` is called or the caller cancels.

        Reports its state through the context, from real signals. Raises AccountRefused where only a person
        can help and AccountLost where trying again helps.
        """
        ...

    async def stop(self) -> None:
        """End `start` within two seconds and close every connection; calling it twice is harmless."""
        ...

    async def send(self, message: OutboundMessage) -> str:
        """Post a new message and return the platform's id of it."""
        ...


@runtime_checkable
class EditsMessages(Protocol):
    """Can replace the whole text of a message of its own (idempotent)."""

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        """Replace the text. Raises NotModified where it shows already."""
        ...


@runtime_checkable
class DeletesMessages(Protocol):
    """Can take back a message of its own."""

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        """Delete it; one that is gone already is not an error."""
        ...


@runtime_checkable
class RepeatsSafely(Protocol):
    """Sends with the same `OutboundMessage.key` are one message, so an unknown outcome is just repeated."""

    @property
    def repeats_safely(self) -> bool:
        """True where this account's server keeps that promise."""
        ...


@runtime_checkable
class ShowsAlone(Protocol):
    """Posts for one person's eyes in a group (`OutboundMessage.alone`). It can't be edited, nor found
    again: where its outcome is unknown it is repeated once, marked.
    """

    @property
    def shows_alone(self) -> bool:
        """True where this account does."""
        ...


@runtime_checkable
class ShowsTyping(Protocol):
    """Can show that an answer is on its way."""

    async def typing(self, address: ReplyAddress) -> None:
        """Show it for the few seconds that the platform gives it."""
        ...


@runtime_checkable
class StreamsDrafts(Protocol):
    """Can show a passing preview that is replaced by the final post."""

    def drafts_in(self, address: ReplyAddress) -> bool:
        """Whether previews are wanted and possible there."""
        ...

    async def draft(self, message: OutboundMessage, draft_id: int) -> None:
        """Show the preview `draft_id` (not 0) with this text."""
        ...


@runtime_checkable
class ChoosesFrames(Protocol):
    """Can be configured to show nothing before the final."""

    def frames_in(self, address: ReplyAddress) -> bool:
        """Whether a growing reply is shown there."""
        ...


@runtime_checkable
class StreamsNatively(Protocol):
    """Shows that a message grows (a native stream, a stop button), until its final edit."""

    def streaming(self, address: ReplyAddress, message_id: str) -> bool:
        """Whether this message is open, so that it needs a final edit even where its text stands already."""
        ...


@runtime_checkable
class AsksChoice(Protocol):
    """Shows the choices of a message as buttons.

    A click comes back as an InboundMessage of the person who clicked (`clicked`): its text is the choice, and
    it answers (`reply_to`) the message with the buttons. Once it is stored, the buttons show what was chosen
    or vanish; of one that the inbox refuses only its author hears, and the buttons stay. What the service has
    edited into the message by then stays as it is (`bot.platforms.choice_markers` sees to that).
    """

    @property
    def most_choices(self) -> int:
        """How many buttons a message may have; more are shown as a list in its text."""
        ...


@runtime_checkable
class ShowsProgress(Protocol):
    """Has a list of its own for what the agent works on.

    Frames bring it as `OutboundMessage.progress`; elsewhere it is part of their text. Where they did, the
    final brings it as it stays. It may be gone then, where the message was written anew; but what is left of
    it shows nothing that is still worked on.
    """

    def lists_in(self, address: ReplyAddress) -> bool:
        """Whether frames there are to bring the list."""
        ...


@runtime_checkable
class SendsFiles(Protocol):
    """Can send files and pictures natively."""

    async def send_file(self, file: OutboundFile) -> str:
        """Post it and return the platform's id of the message."""
        ...


@runtime_checkable
class FetchesFiles(Protocol):
    """Can fetch the attachments that it reported."""

    def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """The content, in chunks."""
        ...


@runtime_checkable
class ReadsThreads(Protocol):
    """Can read a thread in which it was not meant before."""

    async def earlier(self, address: ReplyAddress, before: str, limit: int) -> Sequence[Earlier]:
        """What people wrote in the thread of an address before the message of this id, oldest first, the
        newest `limit` of it. Raises DeliveryError.
        """
        ...


@runtime_checkable
class RegistersCommands(Protocol):
    """Shows the commands in the platform's own menu."""

    async def register_commands(self, commands: Sequence[CommandHint]) -> None:
        """Replace the native list."""
        ...


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """A request of a platform to `/webhooks/{account}`. Header names are lower case."""

    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """What the platform hears. 200 only when everything in the request is stored."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"


@runtime_checkable
class ReceivesWebhooks(Protocol):
    """Receives by requests of the platform to the service's port."""

    async def webhook(self, request: WebhookRequest) -> WebhookAnswer:
        """Check who sent it, store what it brings, then answer. A forged one gets 401 or 403."""
        ...


@dataclass(frozen=True, slots=True)
class CommandHint:
    """A command as a native menu shows it."""

    name: str
    summary: str


class Operation(StrEnum):
    """What a call does, for the budgets. FINAL is an edit (or removal) that leaves a part as it will stay."""

    POST = "post"
    EDIT = "edit"
    FINAL = "final"
    TYPING = "typing"
    DRAFT = "draft"


class Scope(StrEnum):
    """What a budget is counted for."""

    ACCOUNT = "account"
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class Budget:
    """At most `count` calls of these operations in any `period` (seconds), for each scope.

    `kinds` narrows a chat budget to chats of these kinds; `source` says where the number was published.
    Frames and typing leave `reserve` calls to those that have to be made: as many as a final needs that would
    otherwise wait long, 0 where it has a budget of its own or the period is short.
    """

    scope: Scope
    count: int
    period: float
    source: str
    operations: frozenset[Operation] = frozenset(Operation)
    kinds: frozenset[ChatKind] = frozenset(ChatKind)
    reserve: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """A platform as data; its SDK is loaded only when an account of it is enabled.

    `adapter` is the import string of the factory, called with the account's name and its configuration entry.
    `first_frame_after` and `frame_interval` are seconds; `max_file_in` and `max_file_out` are bytes. Frames
    follow the budgets; `frame_interval` is the least distance where no budget holds them. `setup_steps` are a
    person's on the platform's side; `later_steps` those that it takes only while the account is connected,
    `write_to_it` the last one. `confirms`: it waits to be told that a message is stored, and brings it again.
    """

    platform: str
    title: str
    adapter: str
    extra: str
    budgets: tuple[Budget, ...]
    first_frame_after: float = 0.7
    first_frame_characters: int = 30
    frame_interval: float = 0.0
    max_file_in: int = 20 * 1024 * 1024
    max_file_out: int = 50 * 1024 * 1024
    setup_steps: tuple[str, ...] = ()
    later_steps: tuple[str, ...] = ()
    confirms: bool = True
    write_to_it: str = "Write to the bot."


AdapterFactory = Callable[..., Adapter]
