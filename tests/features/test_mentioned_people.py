"""Commands for a person take the id of a mention, never its name."""

from __future__ import annotations

import pytest

from bot.app.features import installed_commands
from bot.domain import Mention, MentionKind

LENA = Mention(MentionKind.PERSON, "Lena Okoro", "U1")
OTHER_LENA = Mention(MentionKind.PERSON, "Lena Okoro", "U2")
SHORT = Mention(MentionKind.PERSON, "Lena", "U3")
TRAP = Mention(MentionKind.PERSON, "Bob owner", "U4")


def words(text: str, *mentions: Mention) -> tuple[str, ...] | None:
    parsed = installed_commands().parse(text, mentioned=True, mentions=mentions)
    return parsed.words if parsed else None


@pytest.mark.guard(
    "a command takes the id of a mention only if one person has the name",
    "bot/commands/mentioned.py",
    "next(iter(ids)) if len(ids) == 1 else found[0]",
    "next(iter(ids))",
    against="forged names",
)
@pytest.mark.parametrize(
    ("text", "mentions", "expected"),
    [
        ("/role @Lena Okoro member", [LENA], ("U1", "member")),
        ("role @Lena Okoro member", [LENA], ("U1", "member")),
        ("/allow @Lena Okoro", [LENA], ("U1",)),
        ("/revoke @Lena", [SHORT, LENA], ("U3",)),
        ("/budget @Lena Okoro 50k", [SHORT, LENA], ("U1", "50k")),
        ("/audit @Lena Okoro", [LENA], ("U1",)),
        ("/role @Bob owner member", [TRAP], ("U4", "member")),
        # The same mention twice is one person.
        ("/allow @Lena Okoro", [LENA, LENA], ("U1",)),
        # Nobody is found by a name alone.
        ("/allow @Lena", [], ("@Lena",)),
        ("/allow @Lena", [LENA], ("@Lena",)),
        ("/allow Lena Okoro", [LENA], ("Lena", "Okoro")),
        ("/allow @lena okoro", [LENA], ("@lena", "okoro")),
        ("/allow x@Lena", [SHORT], ("x@Lena",)),
        ("/allow @Lenas", [SHORT], ("@Lenas",)),
        # Two people with this name: neither.
        ("/allow @Lena Okoro", [LENA, OTHER_LENA, SHORT], ("@Lena", "Okoro")),
        ("/allow @ops", [Mention(MentionKind.ROLE, "ops", "9")], ("@ops",)),
        ("/allow @x", [Mention(MentionKind.PERSON, "x", "slack:team:T1")], ("@x",)),
        # Texts of other commands stay as they were written.
        ("/digest daily 9:00 say hi @Lena", [SHORT], ("daily", "9:00", "say", "hi", "@Lena")),
    ],
)
def test_the_id_stands_for_the_name(text: str, mentions: list[Mention], expected: tuple[str, ...]) -> None:
    assert words(text, *mentions) == expected


def test_a_sentence_stays_one() -> None:
    assert words("allow @Lena Okoro to deploy", LENA) is None
