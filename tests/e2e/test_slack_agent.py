"""The app as an agent of Slack, with the whole service: prompts, status, stop, title and feedback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.account_state import Live
from bot.store.audit import list_audit_entries
from roebot_testing.emulators.slack import SlackEmulator
from tests.e2e.test_slack import PERSON, answers, config_text
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import until

pytestmark = pytest.mark.may_block

OTHER = "U0000002"


@pytest.fixture
async def emulator() -> AsyncIterator[SlackEmulator]:
    async with SlackEmulator.serve() as served:
        yield served


async def test_an_agents_session_from_opening_to_feedback(tmp_path: Path, emulator: SlackEmulator) -> None:
    people = emulator.people

    def describe() -> str:
        return f"{emulator.views()}"

    async with running(tmp_path, config_text(emulator)) as service:
        await until(lambda: service.accounts.state("slack").live is Live.LIVE, 20.0, describe)
        chat = people.opens()
        await until(lambda: emulator.view(chat)["prompts"], 10.0, describe)
        asked = people.says("[tokens=400] [every=0.1] count", user=PERSON)

        def session() -> dict[str, str]:
            found: dict[str, str] = emulator.view(chat)["sessions"].get(asked.ts, {})
            return found

        await until(lambda: answers(emulator) and answers(emulator)[0]["streaming"], 20.0, describe)
        await until(lambda: session().get("title", "").endswith("count"), 10.0, describe)
        assert (session()["status"], session()["initiator"]) in [("processing", PERSON), ("processing", "")]
        people.stops(chat, asked.ts)
        await until(lambda: session()["status"] == "active", 20.0, describe)
        assert not answers(emulator)[0]["streaming"]
        asked = people.says("one", user=OTHER)
        await until(
            lambda: answers(emulator, OTHER) and answers(emulator, OTHER)[0]["blocks"], 20.0, describe
        )
        [answer] = answers(emulator, OTHER)
        assert answer["text"] == "one"
        people.rates(asked.channel, answer["ts"], good=False, user=OTHER)
        await until(lambda: answers(emulator, OTHER)[-1]["visible_to"] == OTHER, 10.0, describe)
        entries = await service.db.transact(list_audit_entries)
        rated = [one for one in entries if one.deed.action == "rating"]
        assert [(one.person, one.deed.detail) for one in rated] == [(f"slack:{OTHER}", "bad")]
        assert rated[0].deed.subject.startswith("turn ")
    assert emulator.counters()["limited"] == 0
