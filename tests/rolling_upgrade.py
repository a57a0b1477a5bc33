"""Upgrade under load and back: `python -m tests.rolling_upgrade [--from COMMIT --folder FOLDER]`.

People ask on four emulated platforms all the time. Without `--from`, three replicas of this version are
replaced one after the other by a newer one, which has one more migration of each store, and then the other
way round. With `--from`, the service of an earlier commit is stopped, its agent's data is copied to
PostgreSQL, and this version starts; then it goes back, and forward again. Prints what people see.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from tests.harness.service import ServiceProcess
from tests.harness.wires import WIRES
from tests.kill_matrix import database
from tests.replicas.asking import Asker, all_answered, keep_asking
from tests.replicas.crowd import Crowd, configuration
from tests.replicas.versions import NEXT, Version, committed_version, copied_version, newer_version

NAMES = ("a", "b", "c")
PEOPLE = 2
"""People on each platform."""
SCALE = 0.2
BETWEEN = 12.0
"""Seconds of load before and after each change."""
SERVING, STARTING = -10, 5
"""Priorities of processes: elsewhere, replicas have machines of their own, and a start delays no other."""
MOST_GAP = 5.0
"""Most seconds in which nobody of a platform gets an answer while replicas are replaced."""
PATIENCE = 120.0


def longest_gaps(askers: Sequence[Asker], until: float) -> dict[str, float]:
    """The longest time (s) between two answers on each platform, while people were asking."""
    times = defaultdict[str, list[float]](list)
    for asker in askers:
        times[asker.wire.platform] += [one.answered_at for one in asker.asked if 0 < one.answered_at <= until]
    return {
        name: max((after - before for before, after in pairwise(sorted(found))), default=0.0)
        for name, found in times.items()
    }


def report(crowd: Crowd, askers: Sequence[Asker], until: float) -> tuple[bool, float]:
    """Print what people see. Return whether it is as it should be, and the longest gap (s)."""
    problems, marked = [], 0
    for asker in askers:
        found, repeats = asker.judge()
        problems += found
        marked += repeats
    messages = [one for asker in askers for one in asker.asked]
    waits = [one.answered_at - one.at for one in messages if one.answered_at]
    gaps = longest_gaps(askers, until)
    kinds = Counter(problem.partition(":")[0] for problem in problems)
    is_watched = crowd.rows("SELECT 1 FROM pg_class WHERE relname = 'late_writes'")
    late = len(crowd.late_writes()) if is_watched else 0
    print(
        f"accepted {len(messages)}, answered {len(waits)}, lost {kinds['lost']}, doubled {kinds['doubled']} "
        f"(marked {marked}), out of order {kinds['out of order']}, other {kinds['unexpected']}, "
        f"late writes {late}\n"
        f"longest time without an answer: {', '.join(f'{name} {gap:.1f} s' for name, gap in gaps.items())}; "
        f"longest wait for an answer {max(waits, default=0.0):.1f} s"
    )
    for problem in problems:
        print(f"  {problem[:300]}")
    return not problems and not late and len(waits) == len(messages), max(gaps.values(), default=0.0)


async def under_load(
    folder: Path,
    url: str,
    begin: Callable[[Crowd], Awaitable[None]],
    change: Callable[[Crowd], Awaitable[None]],
) -> tuple[bool, float]:
    """Let people ask after `begin` has started services, while `change` works with them, and report."""
    async with AsyncExitStack() as stack:
        wires = [await stack.enter_async_context(WIRES[name].serve(SCALE)) for name in WIRES]
        config = configuration(url, [f"{wire.platform}: {{{wire.entry}}}" for wire in wires])
        crowd = Crowd(folder, url, config)
        stack.callback(crowd.stop)
        askers = [
            Asker(wire, number, random.Random(f"{wire.platform}{number}"))
            for wire in wires
            for number in range(1, PEOPLE + 1)
        ]
        await begin(crowd)
        while not all(wire.connected() for wire in wires):
            await asyncio.sleep(0.1)
        asking = asyncio.create_task(keep_asking(askers))
        try:
            await asyncio.sleep(BETWEEN)
            await change(crowd)
        finally:
            until = time.monotonic()
            asking.cancel()
            with suppress(asyncio.CancelledError):
                await asking
        await all_answered(askers, PATIENCE)
        end = time.monotonic() + PATIENCE
        while crowd.open_turns() and time.monotonic() < end:
            await asyncio.sleep(0.2)
        return report(crowd, askers, until)


def set_priority(processes: Sequence[psutil.Process], value: int) -> None:
    """Set the priority of processes, if this user may."""
    for process in processes:
        with suppress(psutil.AccessDenied, psutil.NoSuchProcess):
            process.nice(value)


async def start(crowd: Crowd, version: Version, name: str = "") -> ServiceProcess:
    """Stop a service if it runs, and start it in a version."""
    began = time.monotonic()
    if name in crowd.members:
        await asyncio.to_thread(crowd.members[name].stop)
    member = crowd.members[name] = version.service(crowd.home, crowd.config, name)
    crowd.start(name)
    set_priority(crowd.processes(name), STARTING)
    await member.ready(60)
    set_priority(crowd.processes(name), SERVING)
    print(f"{name or 'service'}: {version.name} after {time.monotonic() - began:.1f} s", flush=True)
    return member


async def replace_replicas(crowd: Crowd, versions: Sequence[Version]) -> None:
    """Replace the replicas one after the other by those of each version."""
    for version in versions:
        for name in NAMES:
            await start(crowd, version, name)
            await asyncio.sleep(BETWEEN)
            revision = crowd.rows("SELECT version_num FROM alembic_version")
            assert revision == [(NEXT,)], revision
            assert all(crowd.is_at_work(one) for one in NAMES), crowd.log()


async def run_neighbours(folder: Path, url: str) -> bool:
    """Replace replicas and return whether nobody noticed."""
    old, new = copied_version(folder / "old"), newer_version(folder / "new")

    async def begin(crowd: Crowd) -> None:
        for name in NAMES:
            await start(crowd, old, name)
        crowd.watch_writes()

    async def change(crowd: Crowd) -> None:
        await replace_replicas(crowd, (new, old))

    good, gap = await under_load(folder / "home", url, begin, change)
    return good and gap <= MOST_GAP


async def change_version(crowd: Crowd, version: Version, commands: Callable[[], None]) -> None:
    """Stop the service, run the commands, and start it in another version."""
    began = time.monotonic()
    await asyncio.to_thread(crowd.members[""].stop)
    await asyncio.to_thread(commands)
    await start(crowd, version)
    print(f"the service was away for {time.monotonic() - began:.1f} s", flush=True)
    await asyncio.sleep(BETWEEN)


async def run_from(commit: str, checkout: Path, folder: Path, url: str) -> bool:
    """Upgrade the service of a commit and go back, and return whether nothing was lost."""
    home = folder / "home"
    old, new = committed_version(commit, checkout), Version("this")
    bot_schema, agent_schema = old.schemas()

    def upgrade() -> None:
        print(new.roebot(home, "migrate", "--to", "postgres"))

    def return_to_old() -> None:
        for path in [*home.glob("agent.db*"), *home.glob("checkpoints.db*")]:
            path.rename(folder / path.name)
        print(new.roebot(home, "agent", "migrate", "--to", "sqlite"))
        print(new.roebot(home, "agent", "migrate", "--to", agent_schema))
        print(new.roebot(home, "migrate", "--to", bot_schema))

    async def begin(crowd: Crowd) -> None:
        await start(crowd, old)

    async def change(crowd: Crowd) -> None:
        await change_version(crowd, new, upgrade)
        await change_version(crowd, old, return_to_old)
        await change_version(crowd, new, upgrade)

    good, _gap = await under_load(home, url, begin, change)
    return good


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="commit", default="", help="commit to upgrade from")
    parser.add_argument(
        "--folder", type=Path, help="folder of the commit's installation (default: temporary)"
    )
    given = parser.parse_args()
    set_priority([psutil.Process()], SERVING)
    with TemporaryDirectory() as name, database("postgres", Path(name)) as url:
        folder = Path(name)
        if given.commit:
            work = run_from(given.commit, given.folder or folder / "checkout", folder, url)
        else:
            work = run_neighbours(folder, url)
        good = asyncio.run(work)
    print("passed" if good else "FAILED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
