"""Messages of listed apps request no skill."""

from __future__ import annotations

import pytest

from agent.shared.envelope import parse_envelopes
from tests.bot.features.agent_management.test_skill_commands import TAUGHT
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_apps import app_says
from tests.component.dispatch.test_listed_apps import listed, open_

__all__ = ["open_"]


@pytest.mark.guard(
    "an app requests no skill",
    "bot/features/agent_management/requested_skills.py",
    "stored.sender.is_bot or parts is None",
    "parts is None",
    against="orders of apps",
)
async def test_a_listed_app_requests_no_skill(open_: Bench) -> None:
    open_.apps, open_.runtime.taught = listed(mention=False), TAUGHT
    async with open_.running():
        await app_says(open_, "/meeting-actions now")
        await open_.until(lambda: open_.runtime.runs)
    [run] = open_.runtime.runs.values()
    content = run.request.messages[0]["content"]
    [envelope] = parse_envelopes(content)
    assert content.startswith("<message")
    assert (envelope.role, envelope.text) == ("app", "/meeting-actions now")
