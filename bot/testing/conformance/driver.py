"""The port between the suite and a platform: what people do, what they see, and what goes wrong.

Whoever brings an adapter writes one class like `PlatformDriver` over an emulator of the platform (or over the
platform itself). `Driver` is a base that declines everything that a platform need not have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bot.clock import Clock
from bot.domain import OutboundMessage, ProgressState
from bot.platforms.base import Adapter, WebhookRequest


class Ability(StrEnum):
    """What a platform (or its driver) may lack; the cases that need it are listed as not applicable then."""

    CREDENTIALS = "credentials"  # an account has some, and they can be wrong or revoked
    NETWORK = "network"  # the platform is reached over one, and can be out of reach
    CONNECTION = "connection"  # a connection stands, and can be lost
    SILENCE = "silence"  # a connection can stand and bring nothing
    CONFIRMS = "confirms"  # the platform is told "received", and sends again what was not
    REPEATS = "repeats"  # events may come twice
    ORDERED = "ordered"  # the events of a chat come in their order
    KEEPS = "keeps"  # what is written while nobody listens arrives later
    ENDS = "ends"  # a message has a longest length, so a long answer is several
    GROUPS = "groups"
    MODERATORS = "moderators"  # somebody else can delete the bot's messages
    EXPELS = "expels"  # the bot can be thrown out of a group
    LOSES_ANSWERS = "loses answers"  # a call can take effect and its answer be lost
    LIMITS = "limits"  # calls may be refused for their rate
    EXPIRES = "expires"  # messages that grow natively are closed by the platform
    REQUESTS = "requests"  # the platform calls us, by requests that can be forged
    MENU = "menu"  # commands that were registered can be seen
    FILES = "files"  # files that were sent can be seen
    FORMATS = "formats"  # Markdown is shown formatted
    TYPING = "typing"  # it can be seen that an answer is on its way


class Person(StrEnum):
    """Two people who know the bot."""

    ANN = "ann"
    BEN = "ben"


@dataclass(frozen=True, slots=True)
class Where:
    """Whose private chat with the bot is meant or, with `team`, who is meant in the one group."""

    person: Person
    team: bool = False


ANN, BEN = Where(Person.ANN), Where(Person.BEN)
ANN_IN_TEAM, BEN_IN_TEAM = Where(Person.ANN, team=True), Where(Person.BEN, team=True)


@dataclass(frozen=True, slots=True)
class Seen:
    """A message of the bot as people see it now.

    `text` is what is read: no markup, code as it is. `versions` are the texts that stood there one after the
    other as they went over the wire. `code` are its code blocks, `links` the addresses that it leads to,
    `choices` the buttons that can be pressed, `chosen` the signs of what was (where they are not
    part of the text); `growing` says that the platform shows it as being written; `tasks` is its list of what
    the agent works on, each with its state.
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


class PlatformDriver(Protocol):
    """One account on one platform, with Ann, Ben and a group of them that the bot is in.

    `cannot` names the abilities that it lacks, each with the reason; no other method of such an ability is
    called. `secrets` are what nobody may read in a state or an error.
    """

    @property
    def account(self) -> str:
        """The name of the account."""
        ...

    @property
    def clock(self) -> Clock:
        """What the adapter is given: waits should be short, or the suite takes long."""
        ...

    @property
    def cannot(self) -> Mapping[Ability, str]:
        """The abilities that are lacking here, and why."""
        ...

    @property
    def secrets(self) -> Sequence[str]:
        """Credentials."""
        ...

    def adapter(self) -> Adapter:
        """A new adapter of the account, not started; after a restart of the service there is another one."""
        ...

    def refused_adapter(self) -> Adapter:
        """One with credentials that the platform does not know (CREDENTIALS)."""
        ...

    def lost_adapter(self) -> Adapter:
        """One whose platform is out of reach (NETWORK)."""
        ...

    async def writes(self, text: str, at: Where = ANN, *, addressed: bool = True) -> str:
        """A person writes, in a group to the bot where `addressed`; the id of the message."""
        ...

    async def sends_file(self, data: bytes, filename: str, mime: str, at: Where = ANN) -> str:
        """A person sends a file."""
        ...

    async def clicks(self, message_id: str, choice: str, at: Where = ANN) -> None:
        """A person presses the button that says `choice` (or begins so, where labels are cut)."""
        ...

    async def removes(self, message_id: str, at: Where = ANN) -> None:
        """Somebody deletes a message of the bot (MODERATORS)."""
        ...

    async def expels(self) -> None:
        """The bot is thrown out of the group (EXPELS)."""
        ...

    def repeats(self) -> None:
        """From now on every event comes twice (REPEATS)."""
        ...

    def unconfirmed(self) -> int:
        """How many events the platform was not told to be received (CONFIRMS)."""
        ...

    async def breaks(self) -> None:
        """The connection is cut; a new one may be made (CONNECTION)."""
        ...

    async def falls_silent(self) -> None:
        """The connection stands and brings nothing, for longer than anybody would believe it (SILENCE)."""
        ...

    async def speaks(self) -> None:
        """The end of `falls_silent`."""
        ...

    async def revokes(self) -> None:
        """The credentials are not known any more (CREDENTIALS)."""
        ...

    def limits(self, at: Where, seconds: float) -> None:
        """Every call that shows something in a chat is refused for that long (LIMITS)."""
        ...

    def lifts(self, at: Where) -> None:
        """The time of `limits` has passed (LIMITS)."""
        ...

    def loses_answer(self, operation: str) -> None:
        """The next `post`, `edit` of one, `frame` of a growing message, its `final` or `file` takes effect,
        and the answer is lost (LOSES_ANSWERS)."""
        ...

    def fails(self, operation: str) -> None:
        """The next call of that kind is answered with an error of the server (LOSES_ANSWERS)."""
        ...

    def expires(self) -> None:
        """Every message that grows natively is closed by the platform (EXPIRES)."""
        ...

    async def forged(self) -> Sequence[WebhookRequest]:
        """Requests that the platform never made (REQUESTS)."""
        ...

    async def genuine(self, text: str) -> WebhookRequest:
        """A request as the platform makes it when Ann writes `text` (REQUESTS)."""
        ...

    def recorded(self, message: OutboundMessage, message_id: str) -> None:
        """The core has written down that this message was delivered: what it does after every call."""
        ...

    def seen(self, at: Where = ANN) -> Sequence[Seen]:
        """The bot's messages in a chat, in order."""
        ...

    def typing(self, at: Where = ANN) -> bool:
        """Whether it can be (or was) seen that an answer is on its way (TYPING)."""
        ...

    def menu(self) -> Sequence[str]:
        """The commands that the platform shows (MENU)."""
        ...

    def connections(self) -> int:
        """How many connections the account has to the platform (NETWORK)."""
        ...
