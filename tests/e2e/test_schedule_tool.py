"""In conversation, a scripted model creates, changes and deletes a schedule on each platform."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.app.service import BotService
from bot.features.schedules.schedule_store import Schedule, ScheduleState, list_schedules
from tests.faults.chats import SCALE, connection
from tests.harness.clicks import button, buttons
from tests.harness.service import MODEL
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import until
from tests.harness.wires import WIRES, Standing, Wire

pytestmark = [pytest.mark.may_block, pytest.mark.long]

ANN, BEN = 1, 2
ACCEPT, DECLINE = 0, 1
PATIENCE = 40.0
FOREIGN = "Only the person"


@dataclass
class Chat:
    """A group in which Ann asks the bot."""

    wire: Wire
    service: BotService
    group: str
    place: str = ""

    @property
    def standing(self) -> list[Standing]:
        found = self.wire.standing(self.place) if self.place else []
        return [one for one in found if not one.private]

    async def asks(self, words: str, last: str, **arguments: Any) -> Standing:
        """Ann asks, and the model calls the tool first; the answer once it shows this."""
        before = {one.id for one in self.standing}
        marker = f"[tool=schedule {json.dumps(arguments, ensure_ascii=False)}]"
        self.place = self.wire.asks(f"{marker} {words}", person=ANN, group=self.group)

        def answered() -> list[Standing]:
            return [one for one in self.standing if one.id not in before and last in one.text]

        await until(lambda: bool(answered()), PATIENCE, lambda: f"{self.wire.standing(self.place)}")
        return answered()[-1]

    async def previews(self, words: str, **arguments: Any) -> Standing:
        """The answer with a preview and its two buttons."""
        found = await self.asks(words, " drop ", **arguments)
        await until(lambda: buttons(self.wire, self.place, found.id) == 2, PATIENCE, lambda: f"{found}")
        return found

    async def presses(self, answer: Standing, number: int, last: str) -> None:
        """Ann presses a button; what comes of it shows this."""
        before = {one.id for one in self.standing}
        button(self.wire, self.place, answer.id, number)(ANN)
        await until(
            lambda: any(last in one.text for one in self.standing if one.id not in before),
            PATIENCE,
            lambda: f"{self.standing}",
        )

    async def schedules(self) -> list[Schedule]:
        return await self.service.core.db.transact(list_schedules)


@pytest.mark.parametrize("platform", sorted(WIRES))
async def test_a_schedule_is_created_changed_and_deleted_in_conversation(
    tmp_path: Path, platform: str
) -> None:
    async with WIRES[platform].serve(SCALE) as wire:
        config = f"""
config_version: 1
{MODEL}
server: {{port: 0}}
channels: {{{platform}: {{{wire.entry}}}}}
access: {{default: allow}}
"""
        async with running(tmp_path, config) as service:
            await connection(wire)
            chat = Chat(wire, service, wire.group())
            update = {"text": "Post your update", "kind": "message"}
            unclear = await chat.asks(
                "remind us at five", "at five", action="create", days=["weekday"], times=["five"], **update
            )
            assert " drop " not in unclear.text
            assert buttons(wire, chat.place, unclear.id) == 0

            answer = await chat.previews(
                "remind us every weekday at 9", action="create", days=["weekday"], times=["09:00"], **update
            )
            assert "Post your update" in answer.text
            told = button(wire, chat.place, answer.id, ACCEPT)(BEN)
            await until(lambda: FOREIGN in told(), PATIENCE, told)
            assert await chat.schedules() == []
            await chat.presses(answer, ACCEPT, "is active")
            [one] = await chat.schedules()
            assert (one.state, one.spoken) == (ScheduleState.ACTIVE, "every weekday at 09:00")
            assert one.person == f"{platform}:{wire.person(ANN)}"

            answer = await chat.previews(
                "rather at ten", action="change", number=one.id, days=["day"], times=["10:00"]
            )
            await chat.presses(answer, ACCEPT, "is active")
            [changed] = await chat.schedules()
            assert (changed.id, changed.spoken, changed.text) == (
                one.id,
                "every day at 10:00",
                "Post your update",
            )

            answer = await chat.previews("no more of it", action="delete", number=one.id)
            await chat.presses(answer, DECLINE, "Nothing has changed")
            assert await chat.schedules() == [changed]
            answer = await chat.previews("but yes", action="delete", number=one.id)
            await chat.presses(answer, ACCEPT, "has been deleted")
            assert await chat.schedules() == []
            assert wire.limited() == 0
