"""What a subagent costs beside its own work: `python -m tests.benchmarks.subagents`.

One task is a turn of the lead agent with one subagent, compared with the three model calls that it makes done
by plain agents one after the other. Three at once are compared with one, when each waits 50 ms for its model.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.messages import HumanMessage

from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from tests.benchmarks.figures import Figure, table

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "40"))
WAIT = 0.05
OFF = RuntimeFeatures(sandbox=False, loop_detection=False)
ON = RuntimeFeatures(sandbox=False, loop_detection=False, subagent=True)


class Lead(ScriptedChatModel):
    """Hands over `tasks` pieces of work, then answers; as a subagent it answers, after `wait` seconds."""

    tasks: int = 1
    wait: float = 0.0

    def _prepare_answer(self, messages: list[Any], kwargs: Any, manager: Any) -> Any:
        if "task" not in kwargs.get("seen_tools", ()):
            self.script = Script(reply="the result", delay=self.wait)
        elif messages[-1].type == "tool":
            self.script = Script(reply="done")
        else:
            args = {"description": "a piece of work", "prompt": "do it"}
            self.script = Script(tools=tuple(ToolUse("task", args) for _ in range(self.tasks)))
        return super()._prepare_answer(messages, kwargs, manager)


def run_of(model: ScriptedChatModel, features: RuntimeFeatures) -> Callable[[], Awaitable[Any]]:
    """A turn on a new thread."""
    graph = create_agent_graph(model, [], features=features)
    return lambda: graph.ainvoke({"messages": [HumanMessage("go")]})


async def seconds(work: Callable[[], Awaitable[Any]]) -> float:
    """The seconds that it takes."""
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def main() -> int:
    """Measure and print; 1 where something costs more than it may."""
    plain = run_of(ScriptedChatModel(script=Script(reply="ok"), environ={}), OFF)
    one = run_of(Lead(environ={}), ON)
    waiting = run_of(Lead(wait=WAIT, environ={}), ON)
    three = run_of(Lead(tasks=3, wait=WAIT, environ={}), ON)

    async def apart() -> None:
        for _ in range(3):
            await plain()

    overhead, parallel, base = [], [], []
    for work in (one, apart, waiting, three):
        await work()
    for _ in range(ROUNDS):
        base.append(await seconds(apart))
        overhead.append(await seconds(one) / base[-1])
        parallel.append(await seconds(three) / await seconds(waiting))
    extra = (statistics.median(overhead) - 1) * statistics.median(base) * 1000
    figures = [
        Figure("a task", statistics.median(overhead), 2.5, detail=f"{extra:+.2f} ms"),
        Figure("three at once to one", statistics.median(parallel), 1.5),
    ]
    print(table(figures))
    return int(not all(figure.holds for figure in figures))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
