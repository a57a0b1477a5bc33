"""What each middleware of the agent costs a run: `python -m tests.benchmarks.middleware`.

A run is a question, one tool call and the answer, of a scripted model that streams on the loop; checkpoints
go to the runtime's saver with durability `async`, items to its store. Each
run has a thread of its own. The bare agent, each middleware added to it alone, and the whole chain take
turns, and what is printed are ratios to the bare agent of the same round.

On two cores a bare agent takes 8 ms and 5 checkpoints. The chain costs 2.3 times as much, with two more
checkpoints, of steering. `{"idempotent": True}` exempts a tool from the journal of tool calls with its two
writes. Measurements vary by 0.2 or more.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

from langchain_core.tools import tool

from agent.core.telemetry import trace_hooks_on_demand
from agent.factory import create_agent_graph
from agent.features import Middleware
from agent.harness.assembly import BUILT_INS, BuiltIn
from agent.runtime.saver import RuntimeSaver
from agent.runtime.store.items import ItemStore
from roebot_testing.agent import Script, ScriptedChatModel
from tests.benchmarks.figures import Figure, table

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "40"))
RUNS = 3
"""Of each graph in a round."""
MOST, WORST = 2.5, 4.0
"""Target and hard limit for the chain, as multiples of the bare agent."""
PERSON = {"user_id": "telegram:1", "platform": "telegram", "chat": "1", "chat_kind": "private"}
ASK = {"messages": [{"role": "user", "content": "[tool=look] what is there?"}]}


@tool
async def look() -> str:
    """Look."""
    return "nothing"


@dataclass
class Measured:
    """One graph: the seconds of a run in each round, and the checkpoints that a run writes."""

    graph: Any
    seconds: list[float] = field(default_factory=list)
    checkpoints: int = 0


def made(slot: BuiltIn, folder: Path) -> Middleware:
    """The middleware as a server would have it. Blocking."""
    module, _, name = slot.use.partition(":")
    kind = getattr(import_module(module), name)
    given = _GIVEN.get(slot.name)
    return kind(**given(folder)) if given else kind()  # type: ignore[no-any-return]


def _uploads(folder: Path) -> dict[str, Any]:
    from agent.uploads.folders import ThreadFolders
    from agent.uploads.store import UploadStore

    return {"store": UploadStore(ThreadFolders(folder))}


def _sandbox(folder: Path) -> dict[str, Any]:
    from agent.sandbox.local import LocalSandboxProvider

    return {"provider": LocalSandboxProvider(_uploads(folder)["store"].folders)}


_GIVEN: Mapping[str, Callable[[Path], dict[str, Any]]] = {
    "thread_data": _uploads,
    "uploads": _uploads,
    "sandbox": _sandbox,
    "title": lambda _: {"model": scripted("A title")},
    "summarization": lambda _: {"model": scripted("A summary")},
}


def scripted(reply: str | None = None) -> ScriptedChatModel:
    """A model of a few tokens; without a reply it calls the tool that the message names, then echoes."""
    return ScriptedChatModel(script=Script(reply=reply, usage=(10, 5)), environ={})


def graph(chain: list[Middleware], saver: Any, store: Any) -> Any:
    """An agent with just this chain."""
    built = create_agent_graph(scripted(), [look], middleware=chain)
    return built.copy({"checkpointer": saver, "store": store})


@asynccontextmanager
async def graphs(folder: Path) -> AsyncIterator[dict[str, Measured]]:
    """The bare agent, each middleware alone, and the chain, on one database each for saver and store."""
    async with (
        RuntimeSaver.open(folder / "checkpoints.db") as saver,
        ItemStore.open(folder / "agent.db") as store,
    ):
        found = {"bare": Measured(graph([], saver, store))}
        for slot in BUILT_INS:
            alone = await asyncio.to_thread(made, slot, folder)
            found[slot.name] = Measured(graph([alone], saver, store))
        chain = [await asyncio.to_thread(made, slot, folder) for slot in BUILT_INS]
        found["full chain"] = Measured(graph(chain, saver, store))
        yield found


async def once(measured: Measured, *, count: bool = False) -> None:
    """A run on a thread of its own; `count` notes how many checkpoints it wrote."""
    config: Any = {"configurable": {**PERSON, "thread_id": str(uuid4())}}
    async for _ in measured.graph.astream(
        ASK, config, stream_mode=["values", "messages"], durability="async"
    ):
        pass
    if count:
        measured.checkpoints = len([state async for state in measured.graph.aget_state_history(config)])


async def main() -> int:
    """Measure and print; 1 where the whole chain costs more than it ever may."""
    trace_hooks_on_demand()  # as a server does
    with tempfile.TemporaryDirectory() as name:
        async with graphs(Path(name)) as found:
            for measured in found.values():
                await once(measured)
                await once(measured, count=True)
            for _ in range(ROUNDS):
                for measured in found.values():
                    began = time.perf_counter()
                    for _ in range(RUNS):
                        await once(measured)
                    measured.seconds.append((time.perf_counter() - began) / RUNS)
    return report(found)


def report(found: Mapping[str, Measured]) -> int:
    """Print the figures; 1 where the whole chain costs more than it ever may."""
    bare = found["bare"]
    base = statistics.median(bare.seconds)
    print(f"bare: {base * 1000:.1f} ms and {bare.checkpoints} checkpoints a run (a tool call and an answer)")
    figures = []
    for name, measured in found.items():
        if name == "bare":
            continue
        ratio = statistics.median(a / b for a, b in zip(measured.seconds, bare.seconds, strict=True))
        detail = (
            f"{(ratio - 1) * base * 1000:+.2f} ms, {measured.checkpoints - bare.checkpoints:+d} checkpoints"
        )
        figures.append(Figure(name, ratio, MOST, detail=detail))
    print(table(figures))
    return int(figures[-1].value > WORST)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
