"""Stops at random moments: the results that the model gets for its calls match what happened."""

from __future__ import annotations

import asyncio
from functools import partial
from random import Random
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool

from agent.core.checkpoint_barrier import use_checkpoint_barrier
from agent.core.tool_order import ORDER, Order
from agent.middleware.call_results import UNANSWERED
from agent.middleware.repair import CallRepairMiddleware
from agent.middleware.stopped_calls import NOT_RUN
from agent.middleware.tool_calls import ToolErrorHandlingMiddleware
from agent.middleware.tool_order import BegunCalls, ToolOrderMiddleware
from agent.runtime.run_saver import RunSaver
from roebot_testing.agent import Script, ToolUse
from tests.harness.agents import chain, says, scripted
from tests.harness.saver_database import SaverDatabase

ORDERS = {"work": None, "look": Order.FREE, "help": Order.BESIDE, "show": Order.LAST}
STOPS = 20


class Day:
    """Five calls of one answer, and a log of what they did."""

    def __init__(self, random: Random, saver: RunSaver, thread: str) -> None:
        self.log: list[str] = []
        self._random, self._saver, self._thread = random, saver, thread
        uses = [ToolUse(random.choice(list(ORDERS)), {"word": word}, word) for word in "abcde"]
        model = scripted(Script(tools=tuple(uses)), says("done"), says("done"))
        self._begun = BegunCalls()
        order, repair = ToolOrderMiddleware(begun=self._begun), CallRepairMiddleware(begun=self._begun)
        middleware = order, repair, ToolErrorHandlingMiddleware()
        tools = [self._make_tool(name) for name in ORDERS]
        self.graph = chain(model, *middleware, tools=tools, checkpointer=saver)

    def _make_tool(self, name: str) -> BaseTool:
        async def work(word: str) -> str:
            self.log.append(f"{word} begins")
            await asyncio.sleep(self._random.random() * 0.004)
            self.log.append(f"{word} ends")
            return f"{word} done"

        about = {ORDER: order} if (order := ORDERS[name]) else {}
        return StructuredTool.from_function(coroutine=work, name=name, description="Work.", metadata=about)

    async def run(self, run_id: str, text: str) -> dict[str, Any]:
        """The values after a run."""
        place: Any = {"configurable": {"thread_id": self._thread, "run_id": run_id}}
        with use_checkpoint_barrier(partial(self._saver.wait_stored, self._thread)):
            found: dict[str, Any] = await self.graph.ainvoke({"messages": [HumanMessage(text)]}, place)
        return found

    async def stop(self) -> None:
        """Cancel the run at a random moment, as the runtime does."""
        run = asyncio.create_task(self.run("1", "go"))
        lines = self._random.randrange(11)
        while len(self.log) < lines and not run.done():
            await asyncio.sleep(0)
        for _ in range(self._random.randrange(30)):
            await asyncio.sleep(0)
        run.cancel()
        await asyncio.wait({run})
        await self._saver.end_run("1")

    def list_started(self, answer: str | None) -> frozenset[str]:
        """The calls of an answer that were passed to their tools, even if these have logged nothing yet."""
        return self._begun.find(self._thread, answer) or frozenset()

    async def list_stored(self) -> set[str]:
        """The calls whose results were stored."""
        place: Any = {"configurable": {"thread_id": self._thread, "checkpoint_ns": ""}}
        found = await self._saver.aget_tuple(place)
        values = [value for _, _, value in found.pending_writes or ()] if found else []
        values.append((await self.graph.aget_state(place)).values.get("messages"))
        messages = [one for value in values for one in (value if isinstance(value, list) else [value])]
        return {one.tool_call_id for one in messages if isinstance(one, ToolMessage)}


@pytest.mark.parametrize("seed", range(5))
async def test_results_after_a_stop_match_what_happened(saver_database: SaverDatabase, seed: int) -> None:
    random = Random(seed)
    async with saver_database.open() as saver:
        for number in range(STOPS):
            day = Day(random, saver, f"thread-{number}")
            await day.stop()
            log, stored = list(day.log), await day.list_stored()
            values = await day.run("2", "and now?")
            answer = next((one.id for one in values["messages"] if isinstance(one, AIMessage)), None)
            texts = {one.tool_call_id: one.text for one in values["messages"] if isinstance(one, ToolMessage)}
            begun = {line[0] for line in log if line.endswith("begins")}
            ended = {line[0] for line in log if line.endswith("ends")}
            # Calls of a stored answer are never run by the next run, but the model may write them again.
            later = {line[0] for line in day.log[len(log) :]}
            assert not begun & later
            assert begun <= texts.keys(), "a call that may have had an effect has no result"
            for word, text in texts.items():
                if word in later or (word in stored and word in ended):
                    assert text == f"{word} done"
                else:
                    unclear = begun | day.list_started(answer)
                    assert text == (UNANSWERED if word in unclear else NOT_RUN), (log, texts)
