"""What everybody does in the simulated week, made from a seed. Pure: same seed, same week."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tests.week.digests import DIGESTS, Digest
from tests.week.team import PLATFORMS, Person, Place, groups, others, platforms_of, private, team

DAY, HOUR, MINUTE = 86_400.0, 3600.0, 60.0
BUSY_HOURS = tuple(range(8, 19))
WEEKDAY, WEEKEND, NIGHT = 1.0, 0.12, 0.06
"""How much is written on a day, and at night, beside a working hour."""

VERBS: Mapping[str, int] = {
    "say": 46, "grow": 24, "slow": 6, "long": 2, "big": 3, "ask": 4, "approve": 5, "file": 2, "fail": 2,
    "mute": 1, "lose": 1, "crash": 2, "gap": 1,
}  # fmt: skip
"""What a message has the scripted agent do; see `tests.week.agent`."""
COMMANDS: Mapping[str, int] = {
    "/status": 5, "/help": 1, "/help retry": 1, "/whoami": 1, "/models": 1, "/model big": 2,
    "/model default": 2, "/threads": 2, "/usage": 2, "/new": 6, "/retry": 5, "/stop": 2, "stop": 1,
    "/title Plans": 1, "/plan on": 1, "/plan off": 1, "/resume 1": 2, "/busy interrupt": 1,
    "/busy default": 3, "/nonsense": 1, "/digest": 1, "/record": 1, "/audit": 1, "/accounts": 1,
    "/approve": 1, "/memory": 1,
}  # fmt: skip
ODD: Mapping[str, int] = {
    "file": 12, "album": 5, "reply": 10, "forward": 6, "card": 4, "poll": 3, "place": 2, "sticker": 2,
    "unsupported": 3, "empty": 1, "huge": 1,
}  # fmt: skip
APP = "app"
"""What is odd about a message of an app that nobody has listed, although it mentions the bot."""
IMPATIENT = frozenset({"long", "slow", "grow"})
MEANWHILE = ("/stop", "stop", "/status", "/whoami", "/usage", "/help")
"""What impatient people send while they wait."""
RUSHES, RUSH = 3, 20.0
"""So often a day several people write on every platform at once, within so many seconds."""


class Deed(StrEnum):
    """What somebody does. CHATS is not meant for the bot."""

    SAYS = "says"
    CHATS = "chats"
    EDITS = "edits"
    DELETES = "deletes"
    COMMANDS = "commands"
    PLANS = "plans"


@dataclass(frozen=True, slots=True)
class Act:
    """Somebody does something, `at` seconds after the week began.

    `of` is the act whose message is changed; `follows` says that in a group it answers what was said last;
    `odd` is a key of ODD, or APP.
    """

    at: float
    number: int
    deed: Deed
    person: Person
    place: Place
    text: str = ""
    of: int = 0
    follows: bool = False
    odd: str = ""

    @property
    def key(self) -> str:
        """By what its message is known in every text: no other begins with it."""
        return f"#m{self.number:05d}"


@dataclass(frozen=True, slots=True)
class Week:
    """So many days with so many messages."""

    seed: int
    days: int
    acts: tuple[Act, ...]
    digests: tuple[Digest, ...]

    @property
    def messages(self) -> int:
        """How many messages people write."""
        return sum(act.deed not in (Deed.EDITS, Deed.DELETES) for act in self.acts)


class _Writer:
    """Makes acts, each with its own number."""

    def __init__(self, chance: random.Random, days: int) -> None:
        self._chance = chance
        self._numbers = itertools.count(1)
        self._hours = [_weight(hour) for hour in range(24 * days)]
        self._team, self._others = team(), others()

    def session(self) -> Iterator[Act]:
        """Somebody turns to the bot, or to the others in a group: one message, or several in a row."""
        chance = self._chance
        at = chance.choices(range(len(self._hours)), self._hours)[0] * HOUR + chance.random() * HOUR
        outside = chance.random() < 0.02
        person = chance.choice(self._others if outside else self._team)
        platform = chance.choice(PLATFORMS if outside else platforms_of(person))
        place = chance.choice(groups(platform)) if chance.random() < 0.45 else private(platform, person)
        if place.group and chance.random() < 0.25:
            odd = APP if chance.random() < 0.2 else ""
            said = self._act(at, Deed.CHATS, person, place, "chatter among us", odd=odd)
            yield said
            yield from self._thinks_again(said)
            return
        if chance.random() < 0.1:
            command = _drawn(chance, COMMANDS)
            yield self._act(at, Deed.COMMANDS, person, place, command, follows=chance.random() < 0.6)
            return
        yield from self._asks(at, person, place)

    def _asks(self, at: float, person: Person, place: Place) -> Iterator[Act]:
        chance = self._chance
        follows = chance.random() < 0.6
        for number in range(chance.choice((2, 2, 3, 4, 6)) if chance.random() < 0.2 else 1):
            if number:
                at, follows = at + chance.uniform(0.2, 5.0), True
            said = self._says(at, person, place, follows=follows)
            yield said
            yield from self._thinks_again(said)
            if said.text in IMPATIENT and chance.random() < 0.15:
                word = chance.choice(MEANWHILE)
                later = at + chance.uniform(2.0, 15.0)
                yield self._act(later, Deed.COMMANDS, person, place, word, follows=True)

    def rush(self, begun: float) -> Iterator[Act]:
        """People of each platform ask, or want to know something, at the same time."""
        chance = self._chance
        for platform in PLATFORMS:
            here = [person for person in self._team if platform in platforms_of(person)]
            for person in chance.sample(here, 3):
                place = chance.choice((groups(platform)[1], private(platform, person)))
                yield self._act(begun + chance.uniform(0.0, RUSH), Deed.SAYS, person, place, "say")
            person = chance.choice(here)
            at = begun + chance.uniform(0.0, RUSH)
            yield self._act(at, Deed.COMMANDS, person, private(platform, person), "/whoami")

    def _says(self, at: float, person: Person, place: Place, *, follows: bool) -> Act:
        chance = self._chance
        odd = _drawn(chance, ODD) if chance.random() < 0.08 else ""
        verb = _drawn(chance, VERBS)
        return self._act(at, Deed.SAYS, person, place, verb, follows=follows, odd=odd)

    def _thinks_again(self, said: Act) -> Iterator[Act]:
        """Some messages are changed, or taken back, sooner or later."""
        chance = self._chance
        for deed, share in ((Deed.EDITS, 0.05), (Deed.DELETES, 0.02)):
            if chance.random() < share:
                later = said.at + chance.choice((0.6, 3.0, 20.0, 600.0)) * chance.uniform(0.5, 1.5)
                yield self._act(later, deed, said.person, said.place, "say", of=said.number)

    def _act(
        self,
        at: float,
        deed: Deed,
        person: Person,
        place: Place,
        text: str,
        *,
        of: int = 0,
        follows: bool = False,
        odd: str = "",
    ) -> Act:
        return Act(at, next(self._numbers), deed, person, place, text, of, follows, odd)

    def arranges(self, digests: tuple[Digest, ...]) -> Iterator[Act]:
        """The first morning: groups that keep a record, then what is to happen at its times."""
        owner = self._team[0]
        for platform in PLATFORMS:
            place = groups(platform)[0]
            yield self._act(7 * HOUR, Deed.COMMANDS, owner, place, "/record on")
        for number, digest in enumerate(digests):
            at = 7.5 * HOUR + 2 * MINUTE * number
            yield self._act(at, Deed.PLANS, digest.person, digest.place, digest.command)


def _weight(hour: int) -> float:
    day = WEEKDAY if hour // 24 % 7 < 5 else WEEKEND
    return day * (1.0 if hour % 24 in BUSY_HOURS else NIGHT)


def _drawn(chance: random.Random, weights: Mapping[str, int]) -> str:
    return chance.choices(list(weights), list(weights.values()))[0]


def rushes(seed: int, days: int) -> tuple[float, ...]:
    """When everybody writes at once."""
    chance = random.Random(seed + 5)
    hours = [day * 24 + hour for day in range(days) for hour in sorted(chance.sample(BUSY_HOURS[1:], RUSHES))]
    return tuple((hour + chance.uniform(0.1, 0.9)) * HOUR for hour in hours)


def week(seed: int, *, days: int = 7, messages: int = 5000) -> Week:
    """A week with at least so many messages."""
    writer = _Writer(random.Random(seed), days)
    acts = list(writer.arranges(DIGESTS))
    acts += [act for begun in rushes(seed, days) for act in writer.rush(begun)]
    count = len(acts)
    while count < messages:
        session = list(writer.session())
        count += sum(act.deed not in (Deed.EDITS, Deed.DELETES) for act in session)
        acts += session
    return Week(seed, days, tuple(sorted(acts, key=lambda act: (act.at, act.number))), DIGESTS)
