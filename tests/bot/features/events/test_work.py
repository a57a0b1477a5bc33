"""The agent starts on incidents: once for a burst, within its budget, and with quotations only."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.access import Role
from bot.config.events import event_app
from bot.domain import ChatKind, Origin, Sender
from bot.features.events import delivery_store
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.steering_agent import AGENT, TRACES, Gate
from tests.platforms.web.serving import World, world

from .receiving import config, seen, send, to_chat
from .samples import alert, alertmanager

WORK = ", work: {task: Look into it., per_hour: 2}"
JOINED = "added while working:"


def work_config(emulator: TelegramEmulator, chat: int, work: str = WORK) -> str:
    access = f"{{default: closed, members: ['telegram:1001'], groups: ['telegram:{chat}']}}"
    return config(emulator, to_chat(chat, work), access=access)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_store, "BURST_QUIET", 0.5)


async def test_the_agent_answers_below_the_card_once_for_a_burst(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=work_config(emulator, chat)) as service:
        runbook = {**alert("a firing 10"), "annotations": {"runbook_url": "https://wiki.example/disk"}}
        assert await send(service, alertmanager(runbook)) == 202
        assert await send(service, alertmanager(runbook, "b firing 20")) == 202
        card, answer = await seen(
            emulator, chat, lambda found: len(found) == 2 and "Look" in found[1]["text"]
        )
        assert answer["reply_to"] == card["message_id"]
        assert (
            await send(service, alertmanager(runbook, "b firing 20", reason="repeat interval elapsed")) == 202
        )
        emulator.people.says("@bot what now?", chat=chat, user=1001, reply_to=card["message_id"])
        await seen(emulator, chat, lambda found: len(found) == 4)
        assert await send(service, alertmanager(runbook, "b firing 20", "c firing 30")) == 202
        found = await seen(emulator, chat, lambda found: len(found) == 5)
        assert "Look into it." in found[-1]["text"]
        assert await send(service, alertmanager("d firing 40", group="web")) == 202
        found = await seen(emulator, chat, lambda found: len(found) == 6)
        await asyncio.sleep(2.0)
        assert len(emulator.view(chat)["messages"]) == 6, "two starts an hour are all"


async def test_every_source_works_as_a_member_in_the_chat_of_its_route(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=work_config(emulator, chat)) as service:
        policy = service.service.core.policy("telegram")

        def role_of(source: str, place: int) -> Role:
            sender = Sender(event_app(source), is_bot=True)
            return policy.role_of(Origin("telegram", "telegram", str(place), ChatKind.GROUP, "", sender))

        # A storm has no source.
        assert {role_of(source, chat) for source in ("alerts", "ci", "")} == {Role.MEMBER}
        assert {role_of("alerts", chat + 1), role_of("other", chat)} == {Role.STRANGER}


async def test_the_agent_of_a_route_works_on_its_incidents(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    (tmp_path / "agents" / "ops").mkdir(parents=True)
    (tmp_path / "agents" / "ops" / "config.yaml").write_text("description: Looks into alerts\n")
    chat = emulator.people.make_group("ops")
    routed = to_chat(chat, ", work: {task: Look into it., agent: ops}")
    async with world(tmp_path, extra=config(emulator, routed)) as service:
        assert await send(service, alertmanager("a firing 10")) == 202
        await seen(emulator, chat, lambda found: len(found) == 2 and "Look" in found[1]["text"])
        used = "SELECT agent FROM turns WHERE kind = 'chat'"
        assert await service.service.db.schema(lambda one: one.exec_driver_sql(used).scalars().all()) == [
            "ops"
        ]


async def test_what_ends_within_the_burst_starts_nothing(
    tmp_path: Path, emulator: TelegramEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_store, "BURST_QUIET", 1.5)
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=work_config(emulator, chat)) as service:
        assert await send(service, alertmanager("a firing 10")) == 202
        assert await send(service, alertmanager("a resolved 10 60")) == 202
        await seen(emulator, chat, lambda found: found and "is resolved" in found[0]["text"])
        assert await send(service, alertmanager("b firing 20", group="web")) == 202
        found = await seen(emulator, chat, lambda found: len(found) == 3)
        assert found[-1]["reply_to"] == found[1]["message_id"], "only on what is still active"


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """A tool that holds the agent in its work."""
    monkeypatch.setenv(TRACES, str(tmp_path / "traces"))
    return Gate(tmp_path / "traces")


def scripted(emulator: TelegramEmulator, chat: int, script: str) -> str:
    """A route on whose incidents an agent with a script starts once an hour."""
    work = f", work: {{task: '{script}', per_hour: 1}}"
    return f"{work_config(emulator, chat, work)}\n{AGENT}"


async def stored(service: World, number: int) -> list[int]:
    """The turns of messages about incidents, once there is this number of messages."""
    turns = "SELECT turn_id FROM inbound WHERE event_id LIKE 'incident:%' ORDER BY id"
    async with asyncio.timeout(20):
        while True:
            found = await service.service.db.schema(lambda one: one.exec_driver_sql(turns).all())
            if len(found) >= number:
                return [row[0] for row in found]
            await asyncio.sleep(0.02)


async def test_further_alerts_reach_the_running_agent(
    tmp_path: Path, emulator: TelegramEmulator, gate: Gate
) -> None:
    chat = emulator.people.make_group("ops")
    extra = scripted(emulator, chat, f"{gate.ask} [reply=All read.]")
    async with world(tmp_path, graph="lead_agent", extra=extra) as service:
        assert await send(service, alertmanager("a firing 10")) == 202
        async with asyncio.timeout(20):
            while not gate.reached():
                await asyncio.sleep(0.02)
        alerts = ["a firing 10"]
        for number, one in enumerate(("b firing 20", "c firing 30"), start=2):
            alerts.append(one)
            assert await send(service, alertmanager(*alerts)) == 202
            await stored(service, number)
        card = emulator.view(chat)["messages"][0]["message_id"]
        emulator.people.says("pause", chat=chat, user=1001, reply_to=card)
        await seen(emulator, chat, lambda found: "is paused" in found[-1]["text"])
        assert await send(service, alertmanager(*alerts, "d firing 40")) == 202
        await seen(emulator, chat, lambda found: "d is wrong" in found[0]["text"])
        gate.open()
        found = await seen(emulator, chat, lambda found: any("All read." in one["text"] for one in found))
        (answer,) = (one["text"] for one in found if "All read." in one["text"])
        assert answer.count(JOINED) == 2, answer
        assert "> alerts: service=db" in answer, "as a quotation, not as the words of the task"
        async with asyncio.timeout(20):
            while len(set(turns := await stored(service, 3))) > 1:
                await asyncio.sleep(0.02)
        assert len(turns) == 3, "nothing about a paused incident"
    assert len(emulator.view(chat)["messages"]) == len(found), "one answer for all of them"


async def test_what_the_agent_can_no_longer_read_is_answered_next(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    chat = emulator.people.make_group("ops")
    words = " ".join(f"word{number}" for number in range(20))
    extra = scripted(emulator, chat, f"[every=0.2] [reply={words}]")
    async with world(tmp_path, graph="lead_agent", extra=extra) as service:
        assert await send(service, alertmanager("a firing 10")) == 202
        await seen(emulator, chat, lambda found: len(found) == 2 and "word1" in found[1]["text"])
        assert await send(service, alertmanager("a firing 10", "b firing 20")) == 202
        first, second = await stored(service, 2)
        assert first < second
        found = await seen(emulator, chat, lambda found: len(found) == 3 and "word1" in found[2]["text"])
        assert JOINED not in found[1]["text"]
        assert await send(service, alertmanager("a firing 10", "b firing 20", "c firing 30")) == 202
        await seen(emulator, chat, lambda found: "c is wrong" in found[0]["text"])
        await asyncio.sleep(2.0)
        assert await stored(service, 2) == [first, second], "beyond the limit, no more than one"
