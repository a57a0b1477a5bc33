"""The workspace of who writes, changes and presses; guests, and people of another organization."""

from __future__ import annotations

from typing import Any

import pytest

from bot.domain import Sender
from bot.platforms.slack.directory import PERSON_SECONDS, read_person
from roebot_testing.emulators.slack import SlackEmulator

from .conftest import PERSON, Running, eventually

TEAM, ORG = "T0EMULATE", "E0EMULATE"


async def heard(running: Running, **more: Any) -> Sender:
    """Who the adapter says it was."""
    count = len(running.shelf.messages)
    running.emulator.people.says("@roebot hello", **more)
    return (await running.shelf.until(count + 1))[-1].origin.sender


async def test_a_member(running: Running) -> None:
    sender = await heard(running)
    assert (sender.belongs, sender.guest) == ((f"team:{running.emulator.world.team}",), False)


@pytest.mark.guard(
    "Slack: guests are told apart",
    "bot/platforms/slack/directory.py",
    "is_guest = limited or teams.isdisjoint(theirs)",
    "is_guest = teams.isdisjoint(theirs)",
    against="mistaken identity",
)
async def test_a_guest(running: Running) -> None:
    running.emulator.world.user(PERSON).is_guest = True
    assert (await heard(running)).guest


async def test_somebody_of_another_workspace(running: Running) -> None:
    shared = running.emulator.people.make_channel("shared", shared=True)
    sender = await heard(running, user="U0GUEST", team="T0THEIRS", channel=shared)
    assert (sender.belongs, sender.guest) == (("team:T0THEIRS",), True)


async def test_an_edit_names_them_too(running: Running) -> None:
    said = running.emulator.people.says("first")
    await running.shelf.until(1)
    running.emulator.people.edits(said.channel, said.ts, "second")
    await eventually(lambda: running.shelf.changes)
    [change] = running.shelf.changes
    assert (change.origin.sender.guest, len(change.origin.sender.belongs)) == (False, 1)


@pytest.mark.guard(
    "Slack: one whom Slack does not describe is a guest",
    "bot/platforms/slack/directory.py",
    "    guest: bool = True\n",
    "    guest: bool = False\n",
    against="mistaken identity",
)
async def test_one_whom_slack_does_not_describe_is_a_guest(running: Running, emulator: SlackEmulator) -> None:
    emulator.fault("error", method="users.info", status=200, description="missing_scope", times=-1)
    sender = await heard(running)
    assert (sender.name, sender.belongs, sender.guest) == ("", (), True)


async def test_what_was_said_of_somebody_is_believed_for_an_hour(by_hand: Running) -> None:
    assert not (await heard(by_hand)).guest
    by_hand.emulator.world.user(PERSON).is_guest = True
    assert not (await heard(by_hand)).guest
    await by_hand.clock.advance(PERSON_SECONDS)
    assert (await heard(by_hand)).guest


@pytest.mark.guard(
    "Slack: people of other organizations are guests",
    "bot/platforms/slack/directory.py",
    "is_guest = limited or teams.isdisjoint(theirs)",
    "is_guest = limited",
    against="mistaken identity",
)
@pytest.mark.parametrize(
    ("user", "teams", "guest"),
    [
        ({"team_id": TEAM}, (TEAM,), False),
        ({"team_id": TEAM, "is_restricted": True}, (TEAM,), True),
        ({"team_id": TEAM, "is_ultra_restricted": True}, (TEAM,), True),
        ({"team_id": "T2"}, ("T2",), True),
        ({"team_id": "T2", "enterprise_user": {"teams": ["T2", TEAM]}}, ("T2", TEAM), False),
        ({"team_id": "T2", "enterprise_user": {"enterprise_id": ORG, "teams": ["T2"]}}, ("T2", ORG), False),
        ({"team_id": "T2", "enterprise_user": {"enterprise_id": "E2", "teams": ["T2"]}}, ("T2", "E2"), True),
        (
            {"team_id": "T2", "enterprise_user": {"enterprise_id": ORG}, "is_restricted": True},
            ("T2", ORG),
            True,
        ),
        ({"team_id": ORG}, (ORG,), False),
        ({"team_id": TEAM, "enterprise_user": {"teams": "T2"}}, (TEAM,), False),
        ({"team_id": TEAM, "is_stranger": True}, (TEAM,), True),
        ({"team_id": 5, "enterprise_user": {"teams": [None]}}, (), True),
        ({}, (), True),
        (None, (), True),
        ("nobody", (), True),
    ],
)
def test_what_slack_says_of_people(user: object, teams: tuple[str, ...], *, guest: bool) -> None:
    found = read_person(user, frozenset({TEAM, ORG}))
    assert (found.teams, found.guest) == (teams, guest)
