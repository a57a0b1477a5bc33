"""The names that an answer may mention: one owner each, and none that addresses everybody."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.dispatch.reply.mentions import MAX_NAME, MAX_NAMES, NO_GROUPS, build_names
from bot.domain import EVERYBODY, Mention, MentionKind

PEOPLE = frozenset({MentionKind.PERSON})
ALL = frozenset(MentionKind)


def person(name: str, identity: str) -> Mention:
    return Mention(MentionKind.PERSON, name, identity)


def ids(
    *known: Mention, kinds: frozenset[MentionKind] = ALL, groups: Mapping[str, str] = NO_GROUPS
) -> dict[str, str]:
    return {one.label: one.id for one in build_names(known, kinds, groups)}


def test_a_name_of_one_person_has_their_id() -> None:
    assert ids(person("Lena", "1"), person("Lena", "1"), person("Lena Okoro", "2")) == {
        "@Lena": "1",
        "@Lena Okoro": "2",
    }


def test_a_renamed_person_has_both_names_until_somebody_else_takes_one() -> None:
    renamed = (person("Lena", "1"), person("Lena O.", "1"))
    assert ids(*renamed) == {"@Lena": "1", "@Lena O.": "1"}
    assert ids(*renamed, person("Lena", "2")) == {"@Lena": "", "@Lena O.": "1"}


@pytest.mark.guard(
    "a mention needs a name that one person alone has",
    "bot/dispatch/reply/mentions.py",
    "len(sharing) == 1 and is_allowed",
    "is_allowed",
    against="unwanted mentions",
)
@pytest.mark.guard(
    "invisible characters make no other name to mention",
    "bot/dispatch/reply/mentions.py",
    "if unicodedata.category(char) not in _INVISIBLE)",
    ")",
    against="unwanted mentions",
)
@pytest.mark.parametrize("twin", ["Lena", " Lena ", "Le\u200bna", "Lena\u202e", "\ufeffLena", "Lena\n"])
def test_names_that_look_alike_stay_text(twin: str) -> None:
    assert ids(person("Lena", "1"), person(twin, "2")) == {"@Lena": ""}


@pytest.mark.guard(
    "no mention of everyone, whoever has that name",
    "bot/dispatch/reply/mentions.py",
    'return one if is_mentioned and not is_reserved else Mention(one.kind, one.name, "")',
    'return one if is_mentioned else Mention(one.kind, one.name, "")',
    against="unwanted mentions",
)
@pytest.mark.parametrize(
    "name", [*sorted(EVERYBODY), "Everyone", "EVERYONE", "ｈｅｒｅ", "every\u200bone", " channel "]
)
def test_a_person_named_everyone_is_not_mentioned(name: str) -> None:
    assert set(ids(person(name, "1")).values()) == {""}


@pytest.mark.parametrize(
    "name", ["", " ", "!?", "`x`", "<@U1>", "a|b", "[x](y)", "a\\b", "\u200b", "x" * (MAX_NAME + 1)]
)
def test_names_with_markup_or_nothing_to_read_are_none(name: str) -> None:
    assert ids(person(name, "1")) == {}


@pytest.mark.guard(
    "no mention of roles that the configuration does not name",
    "bot/dispatch/reply/mentions.py",
    " and (one.kind is not MentionKind.ROLE or one.id in groups)",
    "",
    against="unwanted mentions",
)
def test_roles_and_kinds_that_a_platform_lacks_stay_text() -> None:
    role = Mention(MentionKind.ROLE, "ops", "9")
    channel = Mention(MentionKind.CHANNEL, "deploys", "C1")
    assert ids(role, channel) == {"@ops": "", "#deploys": "C1"}
    assert ids(channel, kinds=PEOPLE) == {"#deploys": ""}
    assert ids(kinds=PEOPLE, groups={"ops": "9"}) == {"@ops": ""}
    assert ids(role, person("ops", "1")) == {"@ops": ""}
    assert ids(Mention(MentionKind.CHANNEL, "12", "C1")) == {}


def test_only_roles_that_the_configuration_names_are_mentioned() -> None:
    ops, admins = Mention(MentionKind.ROLE, "Operations", "9"), Mention(MentionKind.ROLE, "admins", "8")
    assert ids(ops, admins, groups={"oncall": "9"}) == {"@oncall": "9", "@Operations": "9", "@admins": ""}


@pytest.mark.guard(
    "nobody takes over the name of a role that may be mentioned",
    "bot/dispatch/reply/mentions.py",
    " and owners.get(shown.label, set()).isdisjoint(allowed)",
    "",
    against="unwanted mentions",
)
def test_a_configured_name_means_its_role_whoever_takes_the_name() -> None:
    impostor = Mention(MentionKind.ROLE, "oncall", "666")
    assert ids(person("oncall", "1"), impostor, groups={"oncall": "9"}) == {"@oncall": "9"}


@pytest.mark.parametrize("name", ["everyone", "Here", "channel"])
def test_a_role_named_everyone_stays_text(name: str) -> None:
    assert ids(groups={name: "9"}) == {f"@{name}": ""}


def test_a_bot_hides_nobody_and_is_not_mentioned() -> None:
    assert ids(person("Deploybot", "")) == {"@Deploybot": ""}


def test_the_number_of_names_is_limited() -> None:
    assert len(build_names([person(f"n{number}", "1") for number in range(MAX_NAMES + 9)], ALL)) == MAX_NAMES


@given(st.lists(st.builds(person, st.sampled_from(["A", "B", "A\u200b", "here"]), st.sampled_from("12"))))
def test_each_name_comes_once_and_only_with_the_id_of_its_only_owner(known: list[Mention]) -> None:
    owners: dict[str, set[str]] = {}
    for one in known:
        owners.setdefault(one.name.replace("\u200b", ""), set()).add(one.id)
    expected = {f"@{name}": min(found) if len(found) == 1 else "" for name, found in owners.items()}
    assert ids(*known) == expected | ({"@here": ""} if "@here" in expected else {})
