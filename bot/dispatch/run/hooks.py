"""Extension points for features in a turn's run, and their view of the turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from bot.access import Role
from bot.account_view import AccountView
from bot.commands.registry import Button
from bot.dispatch.pacing import AccountChannel
from bot.dispatch.questions import Question
from bot.dispatch.run.blocked_people import BlockedPeople
from bot.dispatch.run.upload import AttachmentUploader
from bot.domain import Sender
from bot.profiles import Profile
from bot.runtime.interface import StoredUpload
from bot.texts import Texts
from bot.turn import Turn, TurnMessage
from bot.wiring import Core

RoleOf = Callable[[Turn, Sender], Role]
"""Returns the role of a sender in the chat of a turn."""


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """A service call by the agent: the interrupt's id, the service, and the arguments written by the
    model.
    """

    interrupt: str
    name: str
    arguments: Mapping[str, Any]


ServiceHandler = Callable[[ServiceCall, float], Awaitable[dict[str, Any]]]
"""Returns the result of a call, which is sent as JSON; the time is in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class MessageDraft:
    """A message for the agent: its readable content, preceding notes, and details for the runtime as JSON."""

    message: TurnMessage
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnswerAddition:
    """Markdown to add below a finished answer, and its buttons. A message ends after the buttons."""

    text: str
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True)
class RunScope:
    """A turn that is being answered. `role_of` returns a sender's role; `zone` is the chat's time zone;
    `heard` collects the authors of earlier messages that the agent reads.
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
    def profile(self) -> Profile:
        """Return the effective settings of the turn."""
        return self.view.profile_of(self.turn)

    @property
    def texts(self) -> Texts:
        """Return the texts for the reply."""
        return self.view.texts_of(self.turn)

    @property
    def uploader(self) -> AttachmentUploader:
        """Return the uploader of the turn's files to its agent thread."""
        return AttachmentUploader(self.turn, self.channel, self.core.runtime, self.core.clock)

    @property
    def blocked(self) -> BlockedPeople:
        """Return the people whose words the agent must not read."""
        return BlockedPeople(
            lambda sender: self.role_of(self.turn, sender) is Role.BLOCKED, self.texts("quotation_blocked")
        )


class RunHooks:
    """Hooks of a feature for one run. Every method adds nothing unless overridden."""

    def __init__(self, scope: RunScope) -> None:
        self.scope = scope

    def service_calls(self) -> Mapping[str, ServiceHandler]:
        """Return the services available to the agent during the run, by name."""
        return {}

    async def hidden_people(self) -> Collection[str]:
        """Return the people (`platform:id`) whose stored texts must be excluded from the run."""
        return ()

    async def notes(self) -> Sequence[str]:
        """Return texts that precede the run's messages."""
        return ()

    async def complete_message(
        self, draft: MessageDraft, stored: TurnMessage, uploads: Mapping[int, StoredUpload]
    ) -> MessageDraft:
        """Return a message with the feature's additions. `stored` is the whole message; `uploads` are uploads
        of the draft's attachments, by position.
        """
        return draft

    def read_question(self, value: Any) -> Question | None:
        """Parse an interrupt value as a question, or return None if the feature does not handle its type."""
        return None

    async def add_to_answer(self, *, restarted: bool) -> Sequence[AnswerAddition]:
        """Return the additions to a finished answer, to be shown above its question if it has one.

        `restarted`: an earlier process may have answered calls of the run.
        """
        return ()


MakeHooks = Callable[[RunScope], RunHooks]
"""Makes the hooks of one run."""
