"""The organization of who writes, changes and presses, and who is of another one."""

from __future__ import annotations

import pytest

from bot.errors import DeliveryError
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.scopes import PERSON_NAME
from roebot_testing.emulators.feishu.state import TENANT

from .conftest import ADA, BEN, Running, eventually, group
from .test_choices import CHOICES, question, value


@pytest.mark.parametrize(("tenant", "guest"), [(TENANT, False), ("another", True), ("", True)])
async def test_who_is_of_another_organization(
    running: Running, emulator: FeishuEmulator, tenant: str, *, guest: bool
) -> None:
    emulator.world.person(ADA).tenant = emulator.world.person(BEN).tenant = tenant
    place = emulator.people.make_group("team")
    said = emulator.people.says("@Roebot first", chat=place)
    asked = await running.adapter.send(question(group(place)))
    emulator.people.clicks(asked, value(running, CHOICES[0], place), user=BEN)
    messages = await running.shelf.until(2)
    emulator.people.edits(said.id, "@Roebot second")
    await eventually(lambda: running.shelf.changes)
    senders = [one.origin.sender for one in (*messages, *running.shelf.changes)]
    assert [sender.guest for sender in senders] == [guest] * 3
    assert [sender.belongs for sender in senders] == [(f"team:{tenant}",) if tenant else ()] * 3


async def test_departments_come_where_feishu_tells_them(running: Running, emulator: FeishuEmulator) -> None:
    emulator.world.person(ADA).departments = ["od-0123456789abcdef"]
    emulator.people.says("hello", user=ADA)
    emulator.people.says("hello", user=BEN)
    senders = [one.origin.sender for one in await running.shelf.until(2)]
    assert {one.id: one.belongs for one in senders} == {
        ADA: (f"team:{TENANT}", "department:od-0123456789abcdef"),
        BEN: (f"team:{TENANT}",),
    }


async def test_the_people_of_a_department(running: Running, emulator: FeishuEmulator) -> None:
    with pytest.raises(DeliveryError, match="40004 no dept authority error"):
        await running.adapter.list_members("department", "od-0123456789abcdef")
    for number in range(60):
        person = emulator.world.person(f"ou_{number:032x}")
        person.name, person.departments = f"Person {number}", ["od-other", "od-0123456789abcdef"]
    found = await running.adapter.list_members("department", "od-0123456789abcdef")
    assert found == {f"ou_{number:032x}": f"Person {number}" for number in range(60)}
    emulator.world.scopes = frozenset(emulator.world.scopes) - {PERSON_NAME}
    assert set((await running.adapter.list_members("department", "od-other")).values()) == {""}
