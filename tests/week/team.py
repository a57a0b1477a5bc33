"""Who there is in the simulated week: a team, strangers, and the chats where they meet the bot."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bot.domain import ChatKind

PLATFORMS = ("telegram", "slack", "feishu", "discord")
TEAM, ADMINS, STRANGERS = 20, 2, 3
"""The first of the team is the owner, those after it are admins."""
GROUPS = 2
"""Groups on each platform; the first keeps a record."""

_PERSON = {"telegram": "{}", "slack": "U{:07}", "feishu": "ou_{:013}", "discord": "1000000000{:06}"}
_GROUP = {"telegram": "-10{:04}", "slack": "C{:07}", "feishu": "oc_{:013}", "discord": "2000000000{:06}"}
_PRIVATE = {"telegram": "{}", "slack": "D{:07}", "feishu": "oc_9{:012}", "discord": "3000000000{:06}"}


class Standing(StrEnum):
    """What somebody is to the bot."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    STRANGER = "stranger"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody, on every platform."""

    number: int
    standing: Standing

    @property
    def name(self) -> str:
        """How they are called everywhere."""
        return f"P{self.number}"

    @property
    def trusted(self) -> bool:
        """Whether the bot answers them."""
        return self.standing in (Standing.OWNER, Standing.ADMIN, Standing.MEMBER)

    @property
    def senior(self) -> bool:
        """Whether they may decide what others asked for."""
        return self.standing in (Standing.OWNER, Standing.ADMIN)

    def on(self, platform: str) -> str:
        """Their id there."""
        return _PERSON[platform].format(1000 + self.number)


@dataclass(frozen=True, slots=True)
class Place:
    """A chat. In one with `threads` a mention opens a thread, elsewhere in groups a chain of replies."""

    platform: str
    chat: str
    kind: ChatKind

    @property
    def threads(self) -> bool:
        """See the class."""
        return self.platform == "slack" and self.kind is ChatKind.GROUP

    @property
    def group(self) -> bool:
        """Whether several people are there."""
        return self.kind is ChatKind.GROUP


def team() -> tuple[Person, ...]:
    """The people whom the bot answers."""
    standings = [Standing.OWNER, *[Standing.ADMIN] * ADMINS]
    standings += [Standing.MEMBER] * (TEAM - len(standings))
    return tuple(Person(number, standing) for number, standing in enumerate(standings, start=1))


def others() -> tuple[Person, ...]:
    """People whom the bot does not answer: strangers, and one who is blocked."""
    strangers = [Person(TEAM + number, Standing.STRANGER) for number in range(1, STRANGERS + 1)]
    return (*strangers, Person(TEAM + STRANGERS + 1, Standing.BLOCKED))


def groups(platform: str) -> tuple[Place, ...]:
    """The groups of a platform."""
    names = (_GROUP[platform].format(number) for number in range(1, GROUPS + 1))
    return tuple(Place(platform, name, ChatKind.GROUP) for name in names)


def private(platform: str, person: Person) -> Place:
    """Somebody's private chat with the bot."""
    return Place(platform, _PRIVATE[platform].format(1000 + person.number), ChatKind.PRIVATE)


def platforms_of(person: Person) -> tuple[str, ...]:
    """Where somebody is at home: two of the platforms."""
    return PLATFORMS[person.number % 4], PLATFORMS[(person.number + 1) % 4]


def access() -> str:
    """The configuration of who may use the bot."""
    kinds = {"owners": Standing.OWNER, "admins": Standing.ADMIN, "members": Standing.MEMBER}
    lines = ["access:"]
    for key, standing in {**kinds, "blocked": Standing.BLOCKED}.items():
        found = [one for one in (*team(), *others()) if one.standing is standing]
        entries = [f'"{platform}:{one.on(platform)}"' for one in found for platform in PLATFORMS]
        lines.append(f"  {key}: [{', '.join(entries)}]")
    return "\n".join(lines)
