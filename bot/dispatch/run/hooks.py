"""What a feature can add to the run of a turn, and the turn as it sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from bot.access import Role
from bot.commands.registry import Button
from bot.dispatch.pacing import AccountChannel
from bot.dispatch.questions import Question
from bot.dispatch.run.blocked_people import BlockedPeople
from bot.dispatch.run.upload import AttachmentUploader
from bot.domain import Sender
from bot.runtime.interface import StoredUpload
from bot.texts import Texts
from bot.turn import Turn, TurnMessage
from bot.wiring import AccountView, Core

RoleOf = Callable[[Turn, Sender], Role]
"""Returns the role of a sender in the chat of a turn."""


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """A call of the agent: the id of its interrupt, the service, and the arguments that the model wrote."""

    interrupt: str
    name: str
    arguments: Mapping[str, Any]


ServiceHandler = Callable[[ServiceCall, float], Awaitable[dict[str, Any]]]
"""Returns the result of a call, which is sent as JSON; the time is in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class MessageDraft:
    """A message for the agent: what it may read of the message, notes that precede it, and details for the
    runtime, as JSON.
    """

    message: TurnMessage
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnswerAddition:
    """Markdown that belongs below a finished answer, and its buttons."""

    text: str
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True)
class RunScope:
    """A turn that is being answered. `role_of` returns the role of each sender; `zone` is the time zone of
    the chat; `heard` collects the authors of earlier messages that the agent reads.
    """

    turn: Turn
    channel: AccountChannel
    core: Core
    role_of: RoleOf
    zone: tzinfo
    heard: list[Sender] = field(default_factory=list)

    @property
    def view(self) -> AccountView:
        """Return the settings of the turn's account."""
        return self.core.account(self.turn.address.account)

    @property
    def texts(self) -> Texts:
        """Return the texts for the reply."""
        return self.view.texts_of(self.turn)

    @property
    def uploader(self) -> AttachmentUploader:
        """Return what uploads the turn's files to its agent thread."""
        return AttachmentUploader(self.turn, self.channel, self.core.runtime, self.core.clock)

    @property
    def blocked(self) -> BlockedPeople:
        """Return the people whose words the agent must not read."""
        return BlockedPeople(
            lambda sender: self.role_of(self.turn, sender) is Role.BLOCKED, self.texts("quotation_blocked")
        )


class RunHooks:
    """What a feature adds to one run. Each method adds nothing unless it is overridden."""

    def __init__(self, scope: RunScope) -> None:
        self.scope = scope

    def service_calls(self) -> Mapping[str, ServiceHandler]:
        """Return the services that the agent may call during the run, by name."""
        return {}

    async def hidden_people(self) -> Collection[str]:
        """Return the people (`platform:id`) whose words the run must not get from the store."""
        return ()

    async def notes(self) -> Sequence[str]:
        """Return texts that precede the messages of the run."""
        return ()

    async def complete_message(
        self, draft: MessageDraft, stored: TurnMessage, uploads: Mapping[int, StoredUpload]
    ) -> MessageDraft:
        """Return a message with what the feature adds to it. `stored` is the whole message; `uploads` are
        those of the draft's attachments, by position.
        """
        return draft

    def read_question(self, value: Any) -> Question | None:
        """Return the question in the value of an interrupt, None if the feature does not read its type."""
        return None

    async def add_to_answer(self, *, restarted: bool) -> AnswerAddition | None:
        """Return what belongs below a finished answer, or None if nothing does. `restarted`: an earlier
        process may have answered calls of the run.
        """
        return None


MakeHooks = Callable[[RunScope], RunHooks]
"""Makes the hooks of one run."""
