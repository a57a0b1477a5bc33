"""The user groups of who writes, for rules about them."""

from __future__ import annotations

import pytest

from bot.errors import DeliveryError
from bot.platforms.slack.directory import GROUPS_RETRY_SECONDS, GROUPS_SCOPE, GROUPS_SECONDS
from roebot_testing.clock import ManualClock
from roebot_testing.emulators.slack import SlackEmulator

from .conftest import PERSON, Running


async def started(emulator: SlackEmulator) -> Running:
    return await Running(emulator, clock=ManualClock(1_000_000.0)).start()


async def groups(running: Running) -> list[str]:
    """The groups that the adapter says somebody is in who writes now."""
    count = len(running.shelf.messages)
    running.emulator.people.says("hello")
    belongs = (await running.shelf.until(count + 1))[-1].origin.sender.belongs
    return [one for one in belongs if one.startswith("usergroup:")]


async def test_without_the_scope_nobody_is_in_any(emulator: SlackEmulator) -> None:
    emulator.world.usergroups["S0ADMINS"] = [PERSON]
    running = await started(emulator)
    assert await groups(running) == []
    assert "usergroups.list" not in emulator.counters()["calls"]
    await running.stop()


async def test_with_it_they_come_and_go(emulator: SlackEmulator) -> None:
    world = emulator.world
    world.scopes += f",{GROUPS_SCOPE}"
    world.usergroups |= {"S0ADMINS": [PERSON, "U0OTHER"], "S0OTHERS": ["U0OTHER"]}
    running = await started(emulator)
    assert await groups(running) == ["usergroup:S0ADMINS"]
    world.usergroups["S0ADMINS"].remove(PERSON)
    assert await groups(running) == ["usergroup:S0ADMINS"]
    await running.clock.advance(GROUPS_SECONDS)
    assert await groups(running) == []
    await running.stop()


async def test_a_refusal_lets_nobody_in_and_is_asked_about_again(emulator: SlackEmulator) -> None:
    emulator.world.scopes += f",{GROUPS_SCOPE}"
    emulator.world.usergroups["S0ADMINS"] = [PERSON]
    emulator.fault(
        "error", method="usergroups.list", status=200, description="plan_upgrade_required", times=1
    )
    running = await started(emulator)
    assert await groups(running) == []
    await running.clock.advance(GROUPS_RETRY_SECONDS)
    assert await groups(running) == ["usergroup:S0ADMINS"]
    await running.stop()


async def test_the_people_of_a_group(emulator: SlackEmulator) -> None:
    world = emulator.world
    world.usergroups |= {"S0ONCALL": [PERSON, "U0UNKNOWN"], "S0EMPTY": []}
    running = await started(emulator)
    with pytest.raises(DeliveryError, match="missing_scope"):
        await running.adapter.list_members("usergroup", "S0ONCALL")
    world.scopes += f",{GROUPS_SCOPE}"
    name = world.user(PERSON).name
    assert await running.adapter.list_members("usergroup", "S0ONCALL") == {PERSON: name, "U0UNKNOWN": ""}
    assert await running.adapter.list_members("usergroup", "S0EMPTY") == {}
    with pytest.raises(DeliveryError, match="no_such_subteam"):
        await running.adapter.list_members("usergroup", "S0GONE")
    await running.stop()
