"""Profiles: the effective settings at a place, and the origin of each.

Settings apply to a platform, an account, a chat, a topic or a person. `SETTINGS` declares how the values of
several places are combined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final, Literal

LEVELS: Final = ("platform", "account", "chat", "topic", "person")
"""Places, the least specific first."""
DEFAULT: Final = "default"
"""Value that restores the default, even if a less specific place has another value."""
ON, OFF = "on", "off"
REQUESTER, ADMINS, OTHERS, MEMBERS = "requester", "admins", "others", "members"
SCOPES: Final = MappingProxyType({"chat": "chat", "topic": "chat", "person": "person"})
"""Scope of a limit by its level; at any other level, it applies to each account."""
MAX_INSTRUCTIONS: Final = 2_000
"""Maximum length of instructions (characters)."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Declaration of a setting. A value is one of `words` or matches `pattern`, as `example` does.

    `combine`: values that take effect: those of the nearest (most specific) place, of the nearest place for
    each of account, chat and person, or of all places. With `is_list`, several values are possible, and if a
    turn has several people, the values for each of them apply.
    """

    name: str
    words: tuple[str, ...] = ()
    pattern: str = ""
    example: str = ""
    combine: Literal["nearest", "scope", "all"] = "nearest"
    is_list: bool = False

    def parse(self, text: str) -> tuple[str, ...]:
        """Return the values in a text. Raises ValueError with the first invalid one."""
        is_text = self.combine == "all" and not self.is_list
        return self.check([text.strip()] if is_text else re.split(r"[\s,]+", text.strip()))

    def check(self, values: Sequence[str]) -> tuple[str, ...]:
        """Return the values, each once. Raises ValueError with the first invalid one."""
        for number, value in enumerate(values):
            is_known = value in self.options or (value and re.fullmatch(self.pattern, value, re.DOTALL))
            if not is_known or (number and (not self.is_list or DEFAULT in values)):
                raise ValueError(value)
        return tuple(dict.fromkeys(values))

    @property
    def options(self) -> list[str]:
        """Return the possible words, and the example of a pattern."""
        return [*self.words, *filter(None, [self.example]), *([] if self.combine == "all" else [DEFAULT])]


_NAME, _COUNT, _ENTRY = r"\S{1,128}", r"\d{1,9}k?", r"[a-z][a-z0-9_-]{0,31}:\S{1,200}"
_TEXT = rf".{{1,{MAX_INSTRUCTIONS}}}"
_ALL = (
    Setting("agent", pattern=_NAME),
    Setting("model", pattern=_NAME),
    Setting("busy", ("queue", "interrupt", "steer", "reject")),
    Setting("mention", (ON, OFF)),
    Setting("steer", (REQUESTER, ADMINS, MEMBERS), _ENTRY, "platform:id", is_list=True),
    Setting("approvers", (REQUESTER, ADMINS, OTHERS, MEMBERS), _ENTRY, "platform:id", is_list=True),
    Setting("messages_per_hour", pattern=_COUNT, example="20", combine="scope"),
    Setting("tokens_per_day", pattern=_COUNT, example="100k", combine="scope"),
    Setting("skills", pattern=_NAME, example="pdf-*", is_list=True),
    Setting("denied_tools", pattern=_NAME, example="web_*", combine="all", is_list=True),
    Setting("instructions", pattern=_TEXT, combine="all"),
)
SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType({one.name: one for one in _ALL})
"""All settings by name, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """The place of a turn; a field is "" if it is unknown or does not exist.

    `person` is `platform:id`; `home` is the account on which a person is known who signed in by a link.
    """

    platform: str = ""
    account: str = ""
    chat: str = ""
    topic: str = ""
    person: str = ""
    home: str = ""


@dataclass(frozen=True, slots=True)
class PlacedSettings:
    """Settings that apply where all levels of `place` that are not "" match.

    `origin` names the entry or command that sets them. `values` are by setting.
    """

    origin: str
    place: TurnPlace
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def specificity(self) -> tuple[int, int]:
        """Return the sort key: the most specific level (0 for everywhere), and the number of levels. In
        addition to an account or person, the platform does not count, since these belong to one.
        """
        given = [number for number, level in enumerate(LEVELS, 1) if getattr(self.place, level)]
        implied = bool(self.place.platform and (self.place.account or self.place.person))
        return max(given, default=0), len(given) - implied

    @property
    def level(self) -> str:
        """Return the most specific level, or "" for settings that apply everywhere."""
        return ("", *LEVELS)[self.specificity[0]]

    def covers(self, place: TurnPlace) -> bool:
        """Return whether the settings apply at a place."""
        return all(getattr(self.place, level) in ("", getattr(place, level)) for level in LEVELS)


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """Values, the entry or command that sets them, and the level of its place."""

    values: tuple[str, ...]
    origin: str
    level: str = ""


@dataclass(frozen=True, slots=True)
class Profile:
    """The effective settings at a place, by name. A missing setting has its default."""

    settings: Mapping[str, tuple[EffectiveSetting, ...]] = field(default_factory=dict)

    def get(self, name: str) -> str:
        """Return the value of a setting that has only one, or "" for the default."""
        return next((value for values in self.lists(name) for value in values), "")

    def lists(self, name: str) -> list[tuple[str, ...]]:
        """Return the values of a setting by origin, without those that stand for the default."""
        return [one.values for one in self.settings.get(name, ()) if one.values != (DEFAULT,)]

    def joined(self, name: str) -> list[str]:
        """Return the values of a setting, each once."""
        return list(dict.fromkeys(value for values in self.lists(name) for value in values))

    def allows_skill(self, name: str) -> bool:
        """Return whether the agent may use a skill."""
        return all(any(fnmatchcase(name, one) for one in patterns) for patterns in self.lists("skills"))

    def merged(self, others: Iterable[Profile]) -> Profile:
        """Return the profile of several people: this one, with the lists of the others."""
        found = dict(self.settings)
        for other in others:
            for name, values in other.settings.items():
                if SETTINGS[name].is_list:
                    found[name] = tuple(dict.fromkeys((*found.get(name, ()), *values)))
        return Profile(found)


class ProvidesSettings:
    """A part that stores settings of places at run time."""

    def list_settings(self, place: TurnPlace) -> Sequence[PlacedSettings]:
        """Return settings that may apply at a place."""
        raise NotImplementedError


def resolve_profile(settings: Iterable[PlacedSettings], place: TurnPlace) -> Profile:
    """Return the profile of a place. Of settings at the same level, the later ones take effect."""
    covering = sorted((one for one in settings if one.covers(place)), key=lambda one: one.specificity)
    found: dict[str, dict[object, EffectiveSetting]] = {}
    for one in covering:
        for name, values in one.values.items():
            known = found.setdefault(name, {})
            slots = {"nearest": "", "scope": SCOPES.get(one.level, "account"), "all": len(known)}
            known[slots[SETTINGS[name].combine]] = EffectiveSetting(values, one.origin, one.level)
    return Profile({name: tuple(known.values()) for name, known in found.items()})
