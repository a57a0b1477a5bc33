"""After a stop the agent knows on every platform what people had read, and who stopped it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.factory import create_agent_graph
from agent.models.calls import ModelCalls
from roebot_testing.agent import Script
from roebot_testing.agent.model import ScriptedChatModel
from tests.harness.agents import says, scripted
from tests.harness.people import Driver, at_work
from tests.harness.waiters import until
from tests.runtime.serving import Served, serve

pytestmark = [pytest.mark.may_block, pytest.mark.long]

SAID = "The first of the many things that are to be said about it is that it was never finished."


@dataclass
class Stoppable:
    served: Served
    model: ScriptedChatModel


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Stoppable]:
    model = scripted(Script(reply=SAID * 5, every=0.2), says("Fine."))
    graph = create_agent_graph(model, [], middleware=[ModelCalls(model_name="scripted")], name="stoppable")
    async with serve(tmp_path / "agent", sources={"stoppable": lambda: graph}) as served:
        yield Stoppable(served, model)


async def test_the_next_answer_knows_what_was_read(tmp_path: Path, driver: Driver, agent: Stoppable) -> None:
    served = agent.served
    runtime = f'runtime: {{url: "{served.url}", assistant_id: stoppable, api_key: {served.token}}}'
    async with at_work(tmp_path, driver, runtime):
        driver.writes("tell me about it")
        await until(
            lambda: any("The first of" in text for text in driver.versions()),
            20.0,
            lambda: f"{driver.versions()}",
        )
        driver.writes("stop")
        await until(
            lambda: any("(stopped)" in text for text in driver.texts()), 20.0, lambda: f"{driver.texts()}"
        )
        driver.writes("go on")
        await until(lambda: "Fine." in driver.texts(), 20.0, lambda: f"{driver.texts()}")
    asked, note, message = agent.model.calls[-1].messages
    assert "tell me about it" in asked.text and "go on" in message.text
    first, seen, last = note.text.split("\n")
    assert (note.type, first) == ("human", "[People saw this much of your previous answer:]")
    assert seen.startswith("> The first of")
    assert last.startswith("[stopped by ") and last.endswith(" here]")
