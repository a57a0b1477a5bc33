"""What a command in the sandbox costs beside a plain subprocess: `python -m tests.benchmarks.sandbox`.

Each kind takes its turn in every round. A kind that this machine can't run is named, with the reason.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from agent.core.interfaces import Sandbox, SandboxError
from agent.sandbox.options import SandboxLimits
from tests.benchmarks.figures import Figure, table
from tests.sandbox.engines import container
from tests.sandbox.sandbox_fixtures import local, one, unprotected

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "40"))
PATH = "/usr/local/bin:/usr/bin:/bin"
"""The same programs everywhere: one's own PATH may have a Python that is slow to start."""
COMMANDS = {"true": "true", "a script of Python": "python3 -c pass"}
AT_MOST = {"bubblewrap": 40.0, "no protection": 8.0, "container": 800.0}
"""Times the plain subprocess, for a command that does nothing."""
Kind = Callable[[str], Awaitable[object]]


async def plain(command: str) -> None:
    """The floor."""
    process = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", command),
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": PATH},
    )
    await process.communicate()


def kind(sandbox: Sandbox) -> Kind:
    """Running a command in it."""
    return lambda command: sandbox.execute_command(command)


async def working(kinds: dict[str, Kind]) -> dict[str, Kind]:
    """Those that this machine can run, warm."""
    found = {}
    for name, run in kinds.items():
        try:
            await run("true")
            found[name] = run
        except SandboxError as error:
            print(f"{name}: not run: {error}")
    return found


async def measured(home: Path) -> list[Figure]:
    """Each command by each kind."""
    boxes = container(home / "c", SandboxLimits())
    kinds = {
        "no protection": kind(await one(unprotected(home / "a"))),
        "bubblewrap": kind(await one(local(home / "b"))),
        "container": kind(await one(boxes)),
    }
    figures = []
    try:
        for what, command in COMMANDS.items():
            taken: dict[str, list[float]] = {}
            able = {"plain": plain, **await working(kinds)}
            for _ in range(ROUNDS):
                for name, run in able.items():
                    began = time.perf_counter()
                    await run(command)
                    taken.setdefault(name, []).append(time.perf_counter() - began)
            median = {name: statistics.median(found) for name, found in taken.items()}
            floor = median.pop("plain")
            print(f"{what}, a plain subprocess: {floor * 1_000:.1f} ms")
            for name, seconds in median.items():
                detail = f"{seconds * 1_000:.1f} ms, {(seconds - floor) * 1_000:.1f} ms more"
                figures.append(Figure(f"{name}: {what}", seconds / floor, AT_MOST[name], detail=detail))
    finally:
        await boxes.close()
    return figures


def main() -> None:
    """Measure and print."""
    os.environ["PATH"] = PATH
    with tempfile.TemporaryDirectory(prefix="roebot-bench-") as folder:
        print(table(asyncio.run(measured(Path(folder)))))


if __name__ == "__main__":
    main()
