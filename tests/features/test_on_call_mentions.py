"""The card of an incident mentions the person on call, on Telegram's emulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.config import Config
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.bot.features.events.receiving import config, seen, send, to_chat
from tests.bot.features.events.samples import alertmanager
from tests.platforms.web.serving import world

ONCALL = """
oncall:
  people: {Ada Love: 'telegram:%d', Bo: 'telegram:%d'}
  schedules:
    team: {rota: {people: %s, start: 2026-01-05 09:00}}
"""


@pytest.mark.parametrize("name", ["Ada Love", "Cy [link](https://example.org) @Bo"])
async def test_the_person_on_call_is_mentioned(tmp_path: Path, name: str) -> None:
    async with TelegramEmulator.serve(limits=False) as emulator:
        chat = emulator.people.make_group("ops")
        ada, bo = 4001, 4002
        route = to_chat(chat, ", oncall: team")
        access = f"{{default: allow, admins: ['telegram:{bo}']}}"
        text = config(emulator, route, access=access) + ONCALL % (ada, bo, f"['{name}']")
        async with world(tmp_path, extra=text) as service:
            assert await send(service, alertmanager("a firing 10")) == 202
            (card,) = await seen(emulator, chat)
            mentioned = [one["user"]["id"] for one in card["entities"] if one["type"] == "text_mention"]
            (line,) = [one for one in card["text"].splitlines() if one.startswith("On call")]
            if name == "Ada Love":
                assert mentioned == [ada]
                assert line == "On call: @Ada Love"
            else:
                assert mentioned == [bo], "nobody with an id is on call, so the admin is asked"
                assert line == f"On call: {name}, @Bo"


def test_a_route_names_a_schedule_that_exists() -> None:
    with pytest.raises(ValueError, match="there is no on-call schedule team"):
        Config.model_validate({"events": {"routes": [{"account": "web", "chat": "1", "oncall": "team"}]}})
