"""Profiles: which of many settings count at a place, compared with a slow reference."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from bot.config import Config
from bot.config.profiles import ProfileRule
from bot.profiles import (
    LEVELS,
    SETTINGS,
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
    found: dict[str, list[EffectiveSetting]] = {}
    for subset in sorted(subsets, key=_rank):
        levels = {LEVELS[number] for number in subset}
        for one in settings:
            if _levels(one) != levels or any(
                getattr(one.place, level) != getattr(place, level) for level in levels
            ):
                continue
            last = LEVELS[subset[-1]] if subset else ""
            for name, values in one.values.items():
                _apply(found.setdefault(name, []), name, EffectiveSetting(values, one.origin, last))
    return Profile({name: tuple(values) for name, values in found.items()})


def _rank(subset: tuple[int, ...]) -> tuple[int, int]:
    named = [LEVELS[number] for number in subset]
    if "account" in named or "person" in named:
        named = [level for level in named if level != "platform"]
    return (subset[-1] if subset else -1), len(named)


def _apply(found: list[EffectiveSetting], name: str, new: EffectiveSetting) -> None:
    combine = SETTINGS[name].combine
    if combine == "nearest":
        found[:] = [new]
    elif combine == "all":
        found.append(new)
    else:
        same = [number for number, one in enumerate(found) if _scope(one) == _scope(new)]
        found[same[0] if same else len(found) :] = [new, *(found[same[0] + 1 :] if same else ())]


def _scope(one: EffectiveSetting) -> str:
    if one.level == "person":
        return "person"
    return "chat" if one.level in ("chat", "topic") else "account"


def random_settings(rng: random.Random, number: int) -> PlacedSettings:
    levels = rng.sample(LEVELS, rng.randint(0, 3))
    place = TurnPlace(**{level: rng.choice(VALUES[level]) for level in levels})
    names = rng.sample([*SETTINGS], rng.randint(0, 5))
    values = {name: tuple(rng.sample(("a", "b", "default"), rng.randint(1, 2))) for name in names}
    return PlacedSettings(f"profiles[{number}]", place, values)


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
    first = PlacedSettings(
        "profiles[0]",
        replace(place, platform="slack"),
        {"model": ("a",), "agent": ("x",), "denied_tools": ("bash",)},
    )
    later = PlacedSettings("/channel", place, {"model": ("b",), "denied_tools": ("task",)})
    found = resolve_profile([first, later], TurnPlace("slack", "work", "C1", "T1", "slack:U1"))
    assert found.settings == {
        "model": (EffectiveSetting(("b",), "/channel", "chat"),),
        "agent": (EffectiveSetting(("x",), "profiles[0]", "chat"),),
        "denied_tools": (
            EffectiveSetting(("bash",), "profiles[0]", "chat"),
            EffectiveSetting(("task",), "/channel", "chat"),
        ),
    }, "nothing allows a tool again, and a platform makes no place more specific"


def test_the_default_can_be_chosen_again() -> None:
    account = PlacedSettings("channels.work", TurnPlace(account="work"), {"agent": ("ops",)})
    chat = PlacedSettings("/channel", TurnPlace(account="work", chat="C1"), {"agent": ("default",)})
    found = resolve_profile([account, chat], TurnPlace(account="work", chat="C1"))
    assert (found.get("agent"), found.settings["agent"][0].origin) == ("", "/channel")


def test_lists_hold_for_all_people_of_a_turn() -> None:
    own = Profile(
        {"skills": (EffectiveSetting(("pdf", "chart"), "a"),), "model": (EffectiveSetting(("m",), "a"),)}
    )
    other = Profile(
        {"skills": (EffectiveSetting(("chart-*", "pdf"), "b"),), "model": (EffectiveSetting(("n",), "b"),)}
    )
    both = own.merged([other])
    assert both.get("model") == "m"
    assert [name for name in ("pdf", "chart", "chart-js") if both.allows_skill(name)] == ["pdf"]
    assert own.merged([Profile()]).allows_skill("chart")


def test_the_configuration_has_a_key_for_each_setting() -> None:
    assert set(SETTINGS) == set(ProfileRule.model_fields) - set(LEVELS)


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ({"chat": "C1"}, "chat: the id of a chat requires account"),
        ({"account": "web", "topic": "T1"}, "topic: a topic requires chat"),
        ({"model": "m"}, "requires platform, account or person"),
        ({"account": "web", "skills": []}, "at least 1 item"),
        ({"account": "web", "denied_tools": ["a b"]}, 'denied_tools: invalid value "a b"'),
        ({"account": "gone"}, "there is no account gone"),
    ],
)
def test_profiles_that_apply_nowhere_are_refused(rule: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Config.model_validate({"profiles": [rule]})
