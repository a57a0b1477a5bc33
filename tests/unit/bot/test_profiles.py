"""Profiles: which of many settings count at a place, compared with a slow reference."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest

from bot.config import Config
from bot.profiles import (
    CHOICES,
    LEVELS,
    EffectiveSetting,
    PlacedSettings,
    Profile,
    TurnPlace,
    resolve_profile,
)

VALUES = {
    "platform": ("slack", "telegram"),
    "account": ("work", "home"),
    "chat": ("C1", "C2"),
    "topic": ("T1", "T2"),
    "person": ("slack:U1", "slack:U2"),
}
TREES = 10_000


def slow_reference(settings: Sequence[PlacedSettings], place: TurnPlace) -> Profile:
    """Tries all sets of levels, the least specific first, and overwrites what was found before."""
    subsets = itertools.chain.from_iterable(
        itertools.combinations(range(len(LEVELS)), size) for size in range(len(LEVELS) + 1)
    )
    choices: dict[str, EffectiveSetting] = {}
    instructions: list[EffectiveSetting] = []
    denied: list[EffectiveSetting] = []
    for subset in sorted(subsets, key=lambda one: (one[-1] if one else -1, len(one))):
        levels = {LEVELS[number] for number in subset}
        for one in settings:
            if _levels(one) != levels or any(
                getattr(one.place, level) != getattr(place, level) for level in levels
            ):
                continue
            for name, value in one.choices.items():
                choices[name] = EffectiveSetting(value, one.origin)
            if one.instructions:
                instructions.append(EffectiveSetting(one.instructions, one.origin))
            denied += [EffectiveSetting(tool, one.origin) for tool in one.denied_tools]
    return Profile(choices, tuple(instructions), tuple(denied))


def random_settings(rng: random.Random, number: int) -> PlacedSettings:
    levels = rng.sample(LEVELS, rng.randint(1, 2))
    place = TurnPlace(**{level: rng.choice(VALUES[level]) for level in levels})
    choices = {name: rng.choice("abc") for name in rng.sample(CHOICES, rng.randint(0, 3))}
    denied = tuple(rng.sample(("bash", "task", "mcp_*"), rng.randint(0, 2)))
    text = f"text {number}" if rng.random() < 0.3 else ""
    return PlacedSettings(f"profiles[{number}]", place, choices, text, denied)


def test_ten_thousand_trees() -> None:
    rng = random.Random(7)
    for _ in range(TREES):
        # Settings whose places have the same rank, but different levels, have no order of their own.
        found: dict[tuple[int, int], PlacedSettings] = {}
        for number in range(rng.randint(1, 12)):
            one = random_settings(rng, number)
            same = found.get(one.specificity)
            if same is None or _levels(same) == _levels(one):
                found.setdefault(one.specificity, one)
        settings = list(found.values())
        place = TurnPlace(**{level: rng.choice(("", *VALUES[level])) for level in LEVELS})
        actual, wanted = resolve_profile(settings, place), slow_reference(settings, place)
        assert actual == wanted


def _levels(one: PlacedSettings) -> set[str]:
    return {level for level in LEVELS if getattr(one.place, level)}


def test_later_settings_of_the_same_place_count() -> None:
    place = TurnPlace(account="work", chat="C1")
    first = PlacedSettings("profiles[0]", place, {"model": "a", "agent": "x"}, denied_tools=("bash",))
    later = PlacedSettings("/channel", place, {"model": "b", "agent": ""})
    found = resolve_profile([first, later], TurnPlace("slack", "work", "C1", "T1", "slack:U1"))
    assert found.choices == {
        "model": EffectiveSetting("b", "/channel"),
        "agent": EffectiveSetting("x", "profiles[0]"),
    }
    assert found.denied_tools == (EffectiveSetting("bash", "profiles[0]"),), "nothing allows it again"


def test_the_default_can_be_chosen_again() -> None:
    account = PlacedSettings("channels.work", TurnPlace(account="work"), {"agent": "ops"})
    chat = PlacedSettings("/channel", TurnPlace(account="work", chat="C1"), {"agent": "default"})
    found = resolve_profile([account, chat], TurnPlace(account="work", chat="C1"))
    assert (found.get("agent"), found.choices["agent"].origin) == ("", "/channel")


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ({"chat": "C1"}, "chat: the id of a chat requires account"),
        ({"account": "web", "topic": "T1"}, "topic: a topic requires chat"),
        ({"model": "m"}, "requires platform, account or person"),
        ({"account": "gone"}, "there is no account gone"),
    ],
)
def test_profiles_that_apply_nowhere_are_refused(rule: dict[str, str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Config.model_validate({"profiles": [rule]})
