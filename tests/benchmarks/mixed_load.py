"""The runtime under long and mixed load: `python -m tests.benchmarks.mixed_load [RUNS [MINUTES]]`.

First RUNS runs (20,000 without numbers) by 64 clients, then MINUTES (10) of everything that clients do:
threads, runs that are waited for, streamed, cancelled, queued and answered, states, histories, copies,
searches, items, assistants and crons, with wrong requests among them. Memory is what the server allocated
(anonymous pages), at the end of each tenth; it is flat if the last fifth holds at most a tenth more than the
second fifth.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import LangGraphError

from tests.benchmarks.figures import Figure, table
from tests.runtime.processes import Process, runtime

CLIENTS = 64
TENTHS = 10
MOST_GROWTH = 1.1
ASK = {"messages": [{"role": "user", "content": "hi"}]}
Act = Callable[[LangGraphClient, random.Random], Awaitable[Any]]


class Load:
    """What happened so far: acts, failures by text, and memory."""

    def __init__(self, server: Process) -> None:
        self.server = server
        self.done: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.memory: list[float] = []

    async def act(self, act: Act, dice: random.Random) -> None:
        """Do one thing. Only wrong requests may be refused."""
        try:
            await act(self.server.client, dice)
        except (LangGraphError, httpx.HTTPError) as error:
            response = getattr(error, "response", None)
            status = 0 if response is None else response.status_code
            if not (400 <= status < 500 and act is ask_wrongly):
                self.faults[f"{act.__name__}: {status or type(error).__name__}"] += 1
        self.done[act.__name__] += 1

    def note_memory(self) -> None:
        """Note what the server holds, in MB."""
        lines = Path(f"/proc/{self.server.process.pid}/status").read_text().splitlines()
        [line] = [line for line in lines if line.startswith("RssAnon:")]
        self.memory.append(int(line.split()[1]) / 1024)


async def wait_for_run(client: LangGraphClient, dice: random.Random) -> None:
    await client.runs.wait(None, "counted", input=ASK)


async def use_thread(client: LangGraphClient, dice: random.Random) -> None:
    thread = str(uuid4())
    await client.runs.wait(thread, "counted", input=ASK, if_not_exists="create")
    await client.threads.get_state(thread)
    await client.threads.get_history(thread, limit=5)
    copy = await client.threads.copy(thread)
    await client.threads.update_state(copy["thread_id"], ASK)
    await client.threads.delete(copy["thread_id"])
    await client.threads.delete(thread)


async def stream_and_cancel(client: LangGraphClient, dice: random.Random) -> None:
    thread = (await client.threads.create())["thread_id"]
    run = await client.runs.create(
        thread, "patient", input=ASK, stream_mode="messages-tuple", stream_resumable=True
    )
    queued = await client.runs.create(thread, "counted", input=ASK, multitask_strategy="enqueue")
    await client.runs.cancel(thread, run["run_id"], wait=True)
    await client.runs.join(thread, queued["run_id"])
    async for _ in client.runs.join_stream(thread, run["run_id"], last_event_id="0-0"):
        pass
    await client.threads.delete(thread)


async def stream_tokens(client: LangGraphClient, dice: random.Random) -> None:
    modes: Any = dice.sample(["values", "updates", "messages-tuple", "debug", "tasks", "checkpoints"], 2)
    async for _ in client.runs.stream(None, "counted", input=ASK, stream_mode=modes):
        pass


async def ask_and_answer(client: LangGraphClient, dice: random.Random) -> None:
    thread = str(uuid4())
    await client.runs.wait(thread, "asking", input=ASK, if_not_exists="create")
    await client.runs.wait(thread, "asking", command={"resume": "yes"})
    await client.threads.delete(thread)


async def use_store(client: LangGraphClient, dice: random.Random) -> None:
    space = ["load", str(dice.randrange(50))]
    await client.store.put_item(space, "key", {"number": dice.randrange(100)})
    await client.store.search_items(space, filter={"number": {"$gte": 50}})
    await client.store.list_namespaces(prefix=["load"])
    await client.store.delete_item(space, "key")


async def use_assistants(client: LangGraphClient, dice: random.Random) -> None:
    assistant = (await client.assistants.create("counted", name="load"))["assistant_id"]
    await client.assistants.update(assistant, name="load 2")
    await client.assistants.get_versions(assistant)
    await client.assistants.get_schemas(assistant)
    await client.assistants.delete(assistant)
    cron = await client.crons.create("counted", schedule="0 0 1 1 *", input=ASK)
    await client.crons.delete(cron["cron_id"])


async def search(client: LangGraphClient, dice: random.Random) -> None:
    await client.threads.search(limit=10, offset=dice.randrange(5))
    await client.threads.count()


async def ask_wrongly(client: LangGraphClient, dice: random.Random) -> None:
    wrong: Sequence[Callable[[], Awaitable[Any]]] = (
        lambda: client.threads.get("no uuid"),
        lambda: client.threads.get(str(uuid4())),
        lambda: client.runs.wait(None, "unknown", input=ASK),
        lambda: client.runs.wait(None, "counted", input=ASK, config={"recursion_limit": "x"}),  # type: ignore[typeddict-item]
        lambda: client.store.put_item([], "key", {}),
    )
    await dice.choice(wrong)()


MIXED: tuple[Act, ...] = (
    wait_for_run,
    use_thread,
    stream_and_cancel,
    stream_tokens,
    ask_and_answer,
    use_store,
    use_assistants,
    search,
    ask_wrongly,
)


async def many_runs(load: Load, count: int) -> None:
    """So many runs by all clients."""
    for _ in range(TENTHS):
        left = iter(range(count // TENTHS))

        async def client(left: Any = left) -> None:
            for _ in left:
                await load.act(wait_for_run, random.Random())

        await asyncio.gather(*(client() for _ in range(CLIENTS)))
        load.note_memory()


async def mixed(load: Load, seconds: float) -> None:
    """Everything, by all clients, for so long."""
    for tenth in range(TENTHS):
        ends = time.monotonic() + seconds / TENTHS

        async def client(seed: int, ends: float = ends) -> None:
            dice = random.Random(seed)
            while time.monotonic() < ends:
                await load.act(dice.choice(MIXED), dice)

        await asyncio.gather(*(client(CLIENTS * tenth + number) for number in range(CLIENTS)))
        load.note_memory()


def figures(name: str, load: Load) -> list[Figure]:
    """What was measured."""
    fifth = TENTHS // 5
    growth = statistics.mean(load.memory[-fifth:]) / statistics.mean(load.memory[fifth : 2 * fifth])
    held = ", ".join(f"{one:.0f}" for one in load.memory)
    faults = "; ".join(f"{text} ({count})" for text, count in load.faults.items())
    return [
        Figure(f"{name}: memory at the end", growth, MOST_GROWTH, detail=f"MB: {held}"),
        Figure(f"{name}: failed acts", sum(load.faults.values()), 0, "", detail=faults),
    ]


async def main(count: int, minutes: float) -> int:
    """Run and print; 1 if something was missed."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        async with runtime(Path(name) / "home") as server:
            load = Load(server)
            await many_runs(load, count)
            found += figures(f"{load.done.total():,} runs", load)
            load = Load(server)
            await mixed(load, minutes * 60)
            print(", ".join(f"{act} {times:,}" for act, times in load.done.items()))
            found += figures(f"{minutes:g} minutes of mixed load", load)
    print(table(found))
    return int(not all(figure.holds for figure in found))


if __name__ == "__main__":
    numbers = [float(text) for text in sys.argv[1:]] or [20_000]
    sys.exit(asyncio.run(main(int(numbers[0]), numbers[1] if len(numbers) > 1 else 10.0)))
