"""Commands after a mention, without the slash: what follows the name tells them from a sentence."""

from __future__ import annotations

import pytest

from bot.app.features import installed_commands
from bot.commands.registry import Parsed, text_after


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("status", "status", ()),
        ("Model gpt", "model", ("gpt",)),
        ("record", "record", ()),
        ("record on", "record", ("on",)),
        ("Record ON 30", "record", ("ON", "30")),
        ("record off", "record", ("off",)),
        ("data", "data", ()),
        ("data export", "data", ("export",)),
        ("data erase yes", "data", ("erase", "yes")),
        ("digest", "digest", ()),
        ("digest show 3", "digest", ("show", "3")),
        ("digest ok 12", "digest", ("ok", "12")),
        ("digest zone", "digest", ("zone",)),
        ("digest zone Asia/Tokyo", "digest", ("zone", "Asia/Tokyo")),
        ("digest weekdays 9:00 What is new?", "digest", ("weekdays", "9:00", "What", "is", "new?")),
        ("digest in 2 hours say Tea", "digest", ("in", "2", "hours", "say", "Tea")),
        ("digest monthly on the 31st 9:00 x", "digest", ("monthly", "on", "the", "31st", "9:00", "x")),
        ("digest 每天 18:30 总结", "digest", ("每天", "18:30", "总结")),
        ("announce", "announce", ()),
        ("announce: Down at noon", "announce", ("Down", "at", "noon")),
        ("Announce： Down", "announce", ("Down",)),
        ("announce :Down", "announce", ("Down",)),
    ],
)
def test_a_command(text: str, name: str, words: tuple[str, ...]) -> None:
    assert installed_commands().parse(text, mentioned=True) == Parsed(name, words)
    assert installed_commands().parse(text, mentioned=False) is None


@pytest.mark.parametrize("mentioned", [True, False])
@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("Approve 12", "approve", ("12",)),
        ("approve 12 here", "approve", ("12", "here")),
        ("reject 12", "reject", ("12",)),
    ],
)
def test_a_decision_by_its_number(text: str, name: str, words: tuple[str, ...], mentioned: bool) -> None:
    assert installed_commands().parse(text, mentioned=mentioned) == Parsed(name, words)


@pytest.mark.parametrize(
    "text",
    [
        "digest what we said yesterday",
        "digest this article for me",
        "digest the last day of the discussion",
        "digest show me what we have",
        "digest zone planning",
        "digest: what we said",
        "record the decision in the wiki",
        "record on which day we met",
        "record on 30 of May we met",
        "data about our users, please",
        "data export of the table, how?",
        "data erase everything about Bob",
        "announce the release to the team",
        "status: how is it going?",
        "status of the deployment",
        "new: write a poem",
        "approve",
        "approve 1 and 2 of them",
        "approved",
    ],
)
def test_a_sentence(text: str) -> None:
    assert installed_commands().parse(text, mentioned=True) is None


@pytest.mark.parametrize(
    ("message", "rest"),
    [
        ("/announce **Down** at noon\nfor an hour", "**Down** at noon\nfor an hour"),
        ("announce: **Down** at noon\nfor an hour", "**Down** at noon\nfor an hour"),
        ("announce：Down", "Down"),
        ("/announce@roebot Down", "Down"),
        ("/announce", ""),
        ("digest daily 9:00 say: Tea", "daily 9:00 say: Tea"),
    ],
)
def test_what_follows_the_name(message: str, rest: str) -> None:
    assert text_after(message) == rest
