"""Profiles: the effective settings of a turn, and the origin of each.

Settings apply to a platform, an account, a chat, a topic or a person. The most specific value of a setting
takes effect; instructions and denied tools are combined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final

LEVELS: Final = ("platform", "account", "chat", "topic", "person")
"""Places, the least specific first."""
DEFAULT: Final = "default"
"""Value of a choice that stands for the default, although a less specific place has another one."""
CHOICES: Final = ("agent", "model", "busy")
"""Settings of which the most specific value takes effect."""


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """Where a turn happens; "" for what is unknown or does not exist. `person` is `platform:id`."""

    platform: str = ""
    account: str = ""
    chat: str = ""
    topic: str = ""
    person: str = ""


@dataclass(frozen=True, slots=True)
class PlacedSettings:
    """Settings that apply where all fields of `place` that are not "" match.

    `origin` names the entry or command that sets them. `choices` are values by setting.
    """

    origin: str
    place: TurnPlace
    choices: Mapping[str, str] = field(default_factory=dict)
    instructions: str = ""
    denied_tools: tuple[str, ...] = ()

    @property
    def specificity(self) -> tuple[int, int]:
        """Return the sort key: the most specific level, and the number of levels."""
        given = [number for number, level in enumerate(LEVELS) if getattr(self.place, level)]
        return max(given, default=-1), len(given)

    def covers(self, place: TurnPlace) -> bool:
        """Return whether the settings apply at a place."""
        given = [(getattr(self.place, one.name), getattr(place, one.name)) for one in fields(TurnPlace)]
        return all(not wanted or wanted == actual for wanted, actual in given)


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """A value, and the entry or command that sets it."""

    value: str
    origin: str


@dataclass(frozen=True, slots=True)
class Profile:
    """The effective settings at a place. `choices` are the values that are set, by setting."""

    choices: Mapping[str, EffectiveSetting] = field(default_factory=dict)
    instructions: tuple[EffectiveSetting, ...] = ()
    denied_tools: tuple[EffectiveSetting, ...] = ()

    def get(self, name: str) -> str:
        """Return the value of a choice, or "" for the default."""
        found = self.choices.get(name)
        return found.value if found and found.value != DEFAULT else ""


class ChannelProfiles:
    """Settings of chats that are stored at run time. By default, there are none."""

    def list_settings(self, account: str, chat: str) -> Sequence[PlacedSettings]:
        """Return the settings of a chat and its topics."""
        return ()


def resolve_profile(settings: Iterable[PlacedSettings], place: TurnPlace) -> Profile:
    """Return the profile of a place. Of settings at the same level, the later ones take effect."""
    covering = sorted((one for one in settings if one.covers(place)), key=lambda one: one.specificity)
    choices = {
        name: EffectiveSetting(value, one.origin)
        for one in covering
        for name, value in one.choices.items()
        if value
    }
    instructions = [EffectiveSetting(one.instructions, one.origin) for one in covering if one.instructions]
    denied = [EffectiveSetting(tool, one.origin) for one in covering for tool in one.denied_tools]
    return Profile(choices, tuple(instructions), tuple(denied))
