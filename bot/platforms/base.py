"""The adapter contract: a single life cycle and small optional capabilities.

An adapter converts a platform's events into `InboundMessage`s for its `Inbox` and carries out
`OutboundMessage`s. It decides nothing: access, routing and pacing are settled elsewhere. Every method that
talks to a platform raises `bot.errors.DeliveryError` with a category.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from bot.account_state import AccountState
from bot.clock import Clock
from bot.domain import (
    UNKNOWN_SENDER,
    Attachment,
    ChatDescription,
    HistoryMessage,
    InboundEvent,
    InboundMessage,
    InboundRating,
    MentionKind,
    Origin,
    OutboundFile,
    OutboundMessage,
    ReplyAddress,
    Sender,
)
from bot.errors import DeliveryCategory, DeliveryError
from bot.render.renderer import Renderer


class TooLong(DeliveryError):
    """The platform refused a text's regular format, so it must become several messages although it fits the
    adapter's renderer. `renderer` splits it for the remaining format. Nothing was sent.
    """

    def __init__(self, renderer: Renderer) -> None:
        super().__init__(DeliveryCategory.INVALID_PAYLOAD, f"too long for one message ({renderer.name})")
        self.renderer = renderer


class Inbox(Protocol):
    """Stores events received by an adapter; calls return once they are on disk."""

    async def accept(self, events: Sequence[InboundEvent], cursor: str = "") -> Mapping[str, str]:
        """Store `events` in order (duplicates are dropped) and the receive `cursor`, in one transaction.

        Returns the refused clicks by event id: a click of somebody else, or on a question that is no longer
        open. Such a choice is never shown as taken, the buttons stay, and where the platform can address one
        person the text is shown to the person who clicked ("": nothing).

        The adapter acknowledges to the platform after this returns, never before. Raises StoreError if
        storing fails now: the account keeps running, and delivers the events again or lets the platform do
        so. A change is one of somebody else's message: an edit, a deletion, or previews that the platform
        adds later (the same text, other quotations).
        """
        ...

    async def cursor(self) -> str:
        """Return the last stored cursor ("" if none)."""
        ...

    async def migrate_chat(self, old: str, new: str) -> None:
        """Move the conversations of a chat to the new id assigned by the platform."""
        ...

    def records(self, chat: str) -> bool:
        """Return whether messages to others are processed too, which makes their senders' names useful."""
        ...

    async def has_thread_start(self, chat: str, topic: str) -> bool:
        """Return whether the chat's record contains the topic's first message, as a quotation of kind
        THREAD_START. Raises StoreError.
        """
        ...

    def reaches_agent(self, message: InboundMessage) -> bool:
        """Return whether the agent will read this message: its author may use the bot and it is not a
        command.
        """
        ...

    def answers(self, message: InboundMessage) -> bool:
        """Return whether the author gets any answer: from the agent, to a command, or a notice.

        Adapters that decide whether to join a chat ask about the message that invites them.
        """
        ...

    async def rate(self, rating: InboundRating) -> str:
        """Store a person's rating of an answer; return the text to show only to them ("": none).

        Raises StoreError.
        """
        ...

    async def retitle(self, origin: Origin, title: str) -> None:
        """Store a thread title set by a person. Raises StoreError."""
        ...

    def text(self, key: str, chat: str, sender: Sender = UNKNOWN_SENDER) -> str:
        """Return a text of the catalog in the language of a person, else of their private chat."""
        ...

    def alone(self, message: InboundMessage) -> bool:
        """Return whether the answer to this command should be visible only to its sender, if the platform
        supports that.
        """
        ...


@dataclass(frozen=True, slots=True)
class AdapterContext:
    """The interfaces that a supervisor passes to a running adapter."""

    inbox: Inbox
    report: Callable[[AccountState], None]
    clock: Clock


@runtime_checkable
class Adapter(Protocol):
    """One account of one platform."""

    @property
    def renderer(self) -> Renderer:
        """The renderer for this platform's Markdown, read again for each reply. A text that fits may still be
        refused with TooLong.
        """
        ...

    async def start(self, context: AdapterContext) -> None:
        """Connect, then receive until `stop` is called or the caller cancels.

        Reports its state through the context, from real signals. Raises AccountRefused if only a person can
        help, and AccountLost if another attempt may help.
        """
        ...

    async def stop(self) -> None:
        """Stop `start` within two seconds and close every connection; repeated calls are harmless."""
        ...

    async def send(self, message: OutboundMessage) -> str:
        """Post a new message and return its id on the platform."""
        ...


@runtime_checkable
class EditsMessages(Protocol):
    """Replaces the whole text of one of the bot's own messages (idempotent)."""

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        """Replace the text. Raises NotModified if it is already displayed."""
        ...


@runtime_checkable
class DeletesMessages(Protocol):
    """Deletes the bot's own messages."""

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        """Delete a message; ignored if it is already gone."""
        ...


@runtime_checkable
class RepeatsSafely(Protocol):
    """Posts a single message per `OutboundMessage.key`, so that an unknown outcome can safely be retried."""

    @property
    def repeats_safely(self) -> bool:
        """True if this account's server guarantees that."""
        ...


@runtime_checkable
class ShowsAlone(Protocol):
    """Posts messages in a group that only one person can see. If they can't be found again, an unknown
    outcome is retried once and marked as a possible duplicate.
    """

    def is_untraceable(self, message: OutboundMessage) -> bool:
        """Return whether this message, once posted, can't be found again. Works without a connection."""
        ...


@runtime_checkable
class RemembersPeople(Protocol):
    """Holds people's messages in memory, as later context for the agent."""

    def forget_person(self, person: str) -> None:
        """Delete a person's messages from memory, by `Sender.key`."""
        ...


@runtime_checkable
class ShowsTyping(Protocol):
    """Shows a typing indicator."""

    async def typing(self, address: ReplyAddress) -> None:
        """Show it for the platform's default of a few seconds."""
        ...


@runtime_checkable
class EndsTyping(Protocol):
    """Shows a typing indicator that lasts until the next message."""

    def end_typing(self, address: ReplyAddress, turn: int) -> None:
        """Remove the indicator of a turn that finishes without a message."""
        ...


@runtime_checkable
class Reacts(Protocol):
    """Marks people's messages with a reaction while they are being answered, if configured.

    Both calls can be repeated: it is not an error if the reaction already exists or is gone, or if the
    message is gone.
    """

    def reacts_in(self, address: ReplyAddress) -> bool:
        """Return whether a reaction is configured and possible."""
        ...

    async def react(self, address: ReplyAddress, message_id: str) -> None:
        """Add the reaction to a message."""
        ...

    async def unreact(self, address: ReplyAddress, message_id: str) -> None:
        """Remove the bot's own reaction."""
        ...


@runtime_checkable
class StreamsDrafts(Protocol):
    """Shows a transient preview that the final post replaces."""

    def drafts_in(self, address: ReplyAddress) -> bool:
        """Return whether previews are enabled and possible."""
        ...

    async def draft(self, message: OutboundMessage, draft_id: int) -> None:
        """Show the preview `draft_id` (not 0) with this text and, in the platform's format, the `progress`;
        either may be empty.
        """
        ...


@runtime_checkable
class ChoosesFrames(Protocol):
    """May be configured to show nothing before the final message."""

    def frames_in(self, address: ReplyAddress) -> bool:
        """Return whether a growing reply is shown."""
        ...


@runtime_checkable
class StreamsNatively(Protocol):
    """Marks a message as in progress (with a native stream or a stop button) until its final edit."""

    def streaming(self, address: ReplyAddress, message_id: str) -> bool:
        """Return whether the message is open and needs a final edit, even if its text is complete.

        Also True if that is not known: without a connection, or if an earlier connection posted the message.
        """
        ...


@runtime_checkable
class AsksChoice(Protocol):
    """Shows the choices of a message as buttons or in a menu.

    A click comes back as an InboundMessage of the person who clicked (`clicked`): its text is the choice, and
    it answers (`reply_to`) the message with the buttons. Once it is stored, the buttons show what was chosen
    or vanish; if the inbox refuses the click, only its author is notified and the buttons stay. What the
    service has edited into the message by then stays as it is (`bot.platforms.choice_markers` ensures that).
    """

    @property
    def most_choices(self) -> int:
        """Maximum number of choices in a message; beyond it, a question lists all choices in its text."""
        ...


@runtime_checkable
class MentionsByName(Protocol):
    """Turns names in the text of a final message into mentions (`OutboundMessage.mentions`).

    The adapter writes them with `bot.render.mentions` and nothing else in a text mentions anybody: what looks
    like the platform's own syntax is shown as text.
    """

    @property
    def mention_kinds(self) -> frozenset[MentionKind]:
        """The kinds of entities that the platform can mention by id."""
        ...

    @property
    def mentionable_groups(self) -> Mapping[str, str]:
        """Roles or user groups that answers may mention, by configured name: their ids."""
        ...


@runtime_checkable
class ShowsProgress(Protocol):
    """Shows the agent's progress in a native list.

    Frames carry it as `OutboundMessage.progress`; elsewhere it is part of their text. In that case the final
    carries its last state. The list may be gone if the message was rewritten, but nothing in it is ever left
    in progress.
    """

    def lists_in(self, address: ReplyAddress) -> bool:
        """Return whether frames include the list."""
        ...


@runtime_checkable
class SendsFiles(Protocol):
    """Sends files and images natively."""

    async def send_file(self, file: OutboundFile) -> str:
        """Post a file and return the id of its message."""
        ...


@runtime_checkable
class FetchesFiles(Protocol):
    """Downloads attachments of reported messages."""

    def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """Yield the content in chunks."""
        ...


@runtime_checkable
class ReadsThreads(Protocol):
    """Reads earlier messages in a thread where the bot has not been addressed before."""

    async def earlier(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        """Return people's messages in a thread before the message `before`, oldest first.

        Returns the newest `limit` messages; a PartialHistory if fewer are not all, because the platform also
        counts others. Raises DeliveryError.
        """
        ...


@runtime_checkable
class DescribesChats(Protocol):
    """Provides the name of a group, for the agent."""

    async def describe_chat(self, address: ReplyAddress) -> ChatDescription:
        """Return the known facts about a group, or an empty description if it can't be read within two
        seconds.

        Called before each run, so adapters cache it (`bot.platforms.chat_descriptions`).
        """
        ...


@runtime_checkable
class ListsMembers(Protocol):
    """Lists the people in the groups that access entries contain, such as user groups."""

    async def list_members(self, kind: str, group: str) -> Mapping[str, str]:
        """Return the ids of the people in a group, with their names ("" unknown).

        `kind` is one of the kinds in `bot.config.access`. Raises DeliveryError.
        """
        ...


@runtime_checkable
class RegistersCommands(Protocol):
    """Shows the commands in the platform's native menu."""

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
    """The answer to a platform's request: 200 only after everything in it has been stored."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"


@runtime_checkable
class ReceivesWebhooks(Protocol):
    """Receives requests from the platform on the service's HTTP port."""

    async def webhook(self, request: WebhookRequest) -> WebhookAnswer:
        """Authenticate the request, store its content, then answer. A forged request gets 401 or 403."""
        ...


@runtime_checkable
class VerifiesSignatures(Protocol):
    """Verifies the platform's signature of each webhook request, which covers its time and body."""

    @property
    def verifies_signatures(self) -> bool:
        """Whether each request needs a signature, as configured."""
        ...


@dataclass(frozen=True, slots=True)
class CommandHint:
    """A command as displayed in a native menu."""

    name: str
    summary: str


AdapterFactory = Callable[..., Adapter]
