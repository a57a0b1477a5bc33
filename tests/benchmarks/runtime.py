"""The runtime over HTTP against the same graphs in process: `python -m tests.benchmarks.runtime`.

Both sides keep checkpoints in SQLite (WAL, synchronous=NORMAL) with durability `async`, in process by
`AsyncSqliteSaver`. The server is a process of its own with a token, the event log and an idempotency key on
each request; client and server share the machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiosqlite
import httpx
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.benchmarks.runtime_graphs import TOKENS, noop, tokens

ASK = {"messages": [{"role": "user", "content": "hi"}]}
TOKEN = "bench"
SECONDS = float(os.environ.get("BENCH_SECONDS", "1.5"))
ROUNDS = 5
Once = Callable[[], Awaitable[int]]


async def rate(once: Once, clients: int, seconds: float = SECONDS) -> float:
    """Units per second that `clients` loops of `once` get done together."""
    await once()
    done = 0
    end = time.perf_counter() + seconds
    began = time.perf_counter()

    async def loop() -> None:
        nonlocal done
        while time.perf_counter() < end:
            got = await once()
            done += got

    await asyncio.gather(*(loop() for _ in range(clients)))
    return done / (time.perf_counter() - began)


@asynccontextmanager
async def in_process(folder: Path) -> AsyncIterator[tuple[Once, Once]]:
    """Runs and streamed tokens of the graphs on their own saver."""
    async with aiosqlite.connect(folder / "floor.db") as connection:
        saver = AsyncSqliteSaver(connection)
        await saver.setup()
        await connection.execute("PRAGMA synchronous=NORMAL")
        plain, talking = noop().compile(checkpointer=saver), tokens().compile(checkpointer=saver)

        async def run() -> int:
            await plain.ainvoke(ASK, _fresh(), durability="async")
            return 1

        async def stream() -> int:
            got = 0
            async for _ in talking.astream(ASK, _fresh(), stream_mode="messages", durability="async"):
                got += 1
            return got

        yield run, stream


def _fresh() -> Any:
    return {"configurable": {"thread_id": str(uuid4())}}


@asynccontextmanager
async def over_http(folder: Path) -> AsyncIterator[LangGraphClient]:
    """A client of a server process."""
    file = folder / "langgraph.json"
    graphs = {name: f"tests.benchmarks.runtime_graphs:{name}" for name in ("noop", "tokens")}
    file.write_text(json.dumps({"graphs": graphs}))
    port_file = folder / "port"
    command = [sys.executable, "-m", "agent.serve", "--port", "0", "--graphs", str(file), "--home"]
    command += [str(folder / "home"), "--port-file", str(port_file), "--parent-pid", str(os.getpid())]
    environment = {**os.environ, "ROEBOT_RUNTIME_TOKEN": TOKEN}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)  # noqa: ASYNC220
    try:
        began = time.perf_counter()
        while not port_file.exists():
            await asyncio.sleep(0.02)
        print(f"server ready after {time.perf_counter() - began:.2f} s")
        client = get_client(url=f"http://127.0.0.1:{port_file.read_text()}", api_key=TOKEN)
        yield client
        print(f"server memory after the load: {_pss(process.pid):.0f} MB PSS")
        await client.aclose()
    finally:
        process.terminate()
        process.wait()


def _pss(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _key() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid4())}


def waiting(client: LangGraphClient, *, stateless: bool) -> Once:
    """One `runs.wait`."""

    async def once() -> int:
        thread = None if stateless else str(uuid4())
        await client.runs.wait(  # type: ignore[call-overload]
            thread, "noop", input=ASK, if_not_exists="create", durability="async", headers=_key()
        )
        return 1

    return once


def streaming(client: LangGraphClient) -> Once:
    """One resumable stream of tokens."""

    async def once() -> int:
        got = 0
        async for part in client.runs.stream(
            str(uuid4()),
            "tokens",
            input=ASK,
            stream_mode="messages-tuple",
            stream_resumable=True,
            if_not_exists="create",
            durability="async",
            headers=_key(),
        ):
            got += part.event == "messages"
        if got < TOKENS:
            raise RuntimeError(f"lost tokens: {got} of {TOKENS}")
        return got

    return once


async def first_event(client: LangGraphClient, rounds: int = 60) -> float:
    """Median milliseconds from the request to the first event, one client."""
    times = []
    for _ in range(rounds):
        first = 0.0
        began = time.perf_counter()
        # Read to its end: a run that goes on would share the server with the next request.
        async for _part in client.runs.stream(
            str(uuid4()),
            "tokens",
            input=ASK,
            stream_mode="messages-tuple",
            stream_resumable=True,
            if_not_exists="create",
            headers=_key(),
        ):
            first = first or (time.perf_counter() - began) * 1000
        times.append(first)
    return statistics.median(times)


async def compare(floor: Once, served: Once, clients: int) -> tuple[float, float, float]:
    """Median rates of both, measured in turns (a busy machine hurts both), and the median of their ratios."""
    pairs = [(await rate(floor, clients), await rate(served, clients)) for _ in range(ROUNDS)]
    low, high = (statistics.median(side) for side in zip(*pairs, strict=True))
    return low, high, statistics.median(got / base for base, got in pairs)


async def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with in_process(folder) as (run, stream), over_http(folder) as client:
            print(f"first event, 1 client: {await first_event(client):.1f} ms (median; target <= 10)")
            for clients in (1, 16):
                for kind, floor, served, target in (
                    ("runs", run, waiting(client, stateless=False), 40),
                    ("runs, stateless", run, waiting(client, stateless=True), 40),
                    ("tokens", stream, streaming(client), 60),
                ):
                    base, got, ratio = await compare(floor, served, clients)
                    share = f"{100 * ratio:.0f} % of {base:.0f}/s in process, target {target} %"
                    print(f"{kind}, {clients} clients: {got:.0f}/s = {share}", flush=True)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except httpx.HTTPError as error:
        sys.exit(f"the server failed: {error}")
