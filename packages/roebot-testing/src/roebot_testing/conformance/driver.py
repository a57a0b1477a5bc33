"""The interface between the suite and a platform: actions of people, visible messages, and faults.

The author of an adapter writes a subclass of `PlatformDriver` over an emulator of the platform, or over the
platform itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.clock import Clock
from bot.domain import OutboundMessage, ProgressState
from bot.platforms.base import Adapter, WebhookRequest
from roebot_testing.clock import QuickClock


class Ability(StrEnum):
    """An ability that a platform or its driver may lack; cases that need it are then not applicable."""

    CREDENTIALS = "credentials"  # accounts have credentials, which can be wrong or revoked
    NETWORK = "network"  # the platform can be out of reach
    CONNECTION = "connection"  # there is a permanent connection, which can be lost
    SILENCE = "silence"  # a connection can stay open and deliver nothing
    CONFIRMS = "confirms"  # the platform repeats events that were not acknowledged
    REPEATS = "repeats"  # events may be delivered twice
    ORDERED = "ordered"  # the events of a chat arrive in order
    KEEPS = "keeps"  # messages sent while nobody listens arrive later
    ENDS = "ends"  # messages have a maximum length
    GROUPS = "groups"
    MODERATORS = "moderators"  # other people can delete the bot's messages
    EXPELS = "expels"  # the bot can be removed from a group
    LOSES_ANSWERS = "loses answers"  # the answer to a call can be lost after it took effect
    LIMITS = "limits"  # calls can be rate limited
    CHAT_LIMITS = "chat limits"  # rate limits are counted for each chat, not for the account
    EXPIRES = "expires"  # the platform closes streams of its own accord
    REQUESTS = "requests"  # the platform calls the bot, with requests that can be forged
    MENU = "menu"  # registered commands can be read
    FILES = "files"  # sent files can be read
    FORMATS = "formats"  # Markdown is shown formatted
    FORWARDS = "forwards"  # people can forward messages of others
    TYPING = "typing"  # a typing indicator can be read
    REPLIES = "replies"  # people can reply to a message
    NAMES = "names"  # people have names that others see
    APPS = "apps"  # other bots and apps can write in a group


ACTS: Mapping[Ability, str] = {
    Ability.REPLIES: "replies",
    Ability.NAMES: "name_of",
    Ability.APPS: "app_writes",
}
"""Abilities of later versions, which a driver without the method lacks, whatever `cannot` says."""


class SuitePerson(StrEnum):
    """Two people who use the bot."""

    ANN = "ann"
    BEN = "ben"


Person = SuitePerson
"""Former name of SuitePerson."""


@dataclass(frozen=True, slots=True)
class Where:
    """The private chat of a person with the bot or, with `team`, the person in the one group."""

    person: SuitePerson
    team: bool = False


ANN, BEN = Where(SuitePerson.ANN), Where(SuitePerson.BEN)
ANN_IN_TEAM, BEN_IN_TEAM = Where(SuitePerson.ANN, team=True), Where(SuitePerson.BEN, team=True)


@dataclass(frozen=True, slots=True)
class Seen:
    """A message of the bot as people see it now.

    `text` has no markup, and code as it is. `versions` are all texts it had, as they went over the wire.
    `code` are its code blocks, `links` its link targets, `choices` the buttons that can be pressed, `chosen`
    the marks of pressed ones (if they are not part of the text). `growing` is set while the platform shows it
    as being written; `tasks` is the agent's task list with the state of each task. `mentions` are the ids of
    the people whom the text mentions.
    """

    id: str
    text: str
    versions: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    growing: bool = False
    tasks: tuple[tuple[str, ProgressState], ...] = ()
    filename: str = ""
    data: bytes = b""
    reply_to: str = ""
    mentions: tuple[str, ...] = ()


LACKS = "this driver does not support it"


class PlatformDriver:
    """One account on one platform, with Ann, Ben and a group of them that the bot is in.

    A base class that lacks every optional ability: a subclass overrides `adapter`, `writes` and `seen`, and
    the methods of the abilities that it removes from `cannot`. Methods of missing abilities are not called.
    """

    account: str = "acc"
    cannot: Mapping[Ability, str] = dict.fromkeys(Ability, LACKS)
    """Missing abilities, each with the reason."""
    secrets: Sequence[str] = ()
    """Credentials, which must not appear in any state or error."""

    def __init__(self) -> None:
        self.clock: Clock = QuickClock()
        """Clock of the adapter; its waits should be short, or the suite takes long."""

    def adapter(self) -> Adapter:
        """Create an adapter of the account, not started; each restart of the service creates another."""
        raise NotImplementedError

    def refused_adapter(self) -> Adapter:
        """Create an adapter with credentials that the platform does not know (CREDENTIALS)."""
        raise NotImplementedError

    def lost_adapter(self) -> Adapter:
        """Create an adapter whose platform is unreachable (NETWORK)."""
        raise NotImplementedError

    async def writes(self, text: str, at: Where = ANN, *, addressed: bool = True) -> str:
        """Let a person write, in a group to the bot if `addressed`; return the id of the message."""
        raise NotImplementedError

    async def forwards(self, text: str, at: Where = ANN) -> str:
        """Make a person forward or share another person's message without text of their own; return the new
        message's id (FORWARDS).
        """
        raise NotImplementedError

    async def replies(self, text: str, message_id: str, at: Where = ANN) -> str:
        """Let a person reply to a message; return the id of the reply (REPLIES)."""
        raise NotImplementedError

    def name_of(self, at: Where) -> str:
        """Return a person's name as others see it there (NAMES)."""
        raise NotImplementedError

    async def app_writes(self, text: str, at: Where) -> str:
        """Let another app write in the group of a person; return the id of the message (APPS)."""
        raise NotImplementedError

    async def sends_file(self, data: bytes, filename: str, mime: str, at: Where = ANN) -> str:
        """Let a person send a file; return the id of the message."""
        raise NotImplementedError

    async def clicks(self, message_id: str, choice: str, at: Where = ANN) -> None:
        """Let a person press the button labelled `choice`, or its beginning if labels are cut."""
        raise NotImplementedError

    async def removes(self, message_id: str, at: Where = ANN) -> None:
        """Let a moderator delete a message of the bot (MODERATORS)."""
        raise NotImplementedError

    async def expels(self) -> None:
        """Remove the bot from the group (EXPELS)."""
        raise NotImplementedError

    def repeats(self) -> None:
        """Deliver every event twice from now on (REPEATS)."""
        raise NotImplementedError

    def unconfirmed(self) -> int:
        """Return the number of events that were not acknowledged (CONFIRMS)."""
        raise NotImplementedError

    async def breaks(self) -> None:
        """Cut the connection; a new one may be opened (CONNECTION)."""
        raise NotImplementedError

    async def falls_silent(self) -> None:
        """Keep the connection open but deliver nothing, for longer than any timeout (SILENCE)."""
        raise NotImplementedError

    async def speaks(self) -> None:
        """End `falls_silent`."""
        raise NotImplementedError

    async def revokes(self) -> None:
        """Revoke the credentials (CREDENTIALS)."""
        raise NotImplementedError

    def limits(self, at: Where, seconds: float) -> None:
        """Refuse every call that shows something in a chat for a number of seconds (LIMITS)."""
        raise NotImplementedError

    def lifts(self, at: Where) -> None:
        """Let the time of `limits` pass (LIMITS)."""
        raise NotImplementedError

    def loses_answer(self, operation: str) -> None:
        """Lose the response to the next `post`, `edit`, `frame`, `final` or `file`, which takes effect
        (LOSES_ANSWERS).
        """
        raise NotImplementedError

    def fails(self, operation: str) -> None:
        """Answer the next call of that kind with a server error (LOSES_ANSWERS)."""
        raise NotImplementedError

    def expires(self) -> None:
        """Let the platform close every stream (EXPIRES)."""
        raise NotImplementedError

    async def forged(self) -> Sequence[WebhookRequest]:
        """Return requests that the platform never made (REQUESTS)."""
        raise NotImplementedError

    async def genuine(self, text: str) -> WebhookRequest:
        """Return the request that the platform makes when Ann writes `text` (REQUESTS)."""
        raise NotImplementedError

    def recorded(self, message: OutboundMessage, message_id: str) -> None:
        """Notify the driver that the core has recorded a message's delivery, as it does after every call."""

    def seen(self, at: Where = ANN) -> Sequence[Seen]:
        """Return the bot's messages in a chat, in order."""
        raise NotImplementedError

    def typing(self, at: Where = ANN) -> bool:
        """Return whether a typing indicator is or was visible (TYPING)."""
        raise NotImplementedError

    def menu(self) -> Sequence[str]:
        """Return the commands that the platform shows (MENU)."""
        raise NotImplementedError

    def connections(self) -> int:
        """Return the number of open connections of the account (NETWORK)."""
        return 0


Driver = PlatformDriver
"""Former name of the base class."""
