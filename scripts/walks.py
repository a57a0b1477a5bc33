"""Count the files of `bot` that a message, command, scheduled run or API call enters.

Run it with `python -m scripts.walks`.

Each walk runs the real service, the real Slack SDK, the Slack emulator and a scripted agent in this process.
A file counts when one of its functions is called between the event and its visible result; of a call that is
repeated, each time, so that background tasks are left out. Emulators, tests and the agent's process are not
counted. `--list` prints the files.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import httpx

from bot.app.http_server import serve_api
from bot.features.schedules.scheduler import Scheduler
from roebot_testing.agent.graphs import echo
from tests.harness.credentials import SIGNED
from tests.harness.people import PlatformUser, at_work
from tests.harness.waiters import until
from tests.harness.wires import SlackWire
from tests.runtime.serving import serve

SOURCE = str(Path(__file__).parent.parent / "bot") + "/"
LEFT_OUT = "texts/"
WAIT_SECONDS = 90.0
LIMITS = {"Slack message": 45, "slash command": 35, "scheduled run": 30, "management call": 10}
"""The most files that each walk may enter."""


class Recorder:
    """Collects the files whose functions are called while it is armed, in every thread."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._armed = False

    def install(self) -> None:
        """Watch this thread and every thread that starts later."""
        threading.setprofile(self._on_event)
        sys.setprofile(self._on_event)

    @contextmanager
    def armed(self) -> Iterator[set[str]]:
        """Record while the block runs, into the set that it yields."""
        self._files = set()
        self._armed = True
        try:
            yield self._files
        finally:
            self._armed = False

    def _on_event(self, frame: FrameType, event: str, _argument: Any) -> None:
        if not self._armed or event != "call":
            return
        name = frame.f_code.co_filename
        if name.startswith(SOURCE) and not name.startswith(LEFT_OUT, len(SOURCE)):
            self._files.add(name.removeprefix(SOURCE))


@asynccontextmanager
async def slack_service(home: Path) -> AsyncIterator[tuple[PlatformUser, str, Scheduler]]:
    """A connected service with one Slack account, its address and its scheduler."""
    async with (
        serve(home / "agent", sources={"echo": lambda: echo}) as agent,
        SlackWire.serve() as wire,
        at_work(
            home,
            PlatformUser(wire),
            f'runtime: {{url: "{agent.url}", assistant_id: echo, api_key: {agent.token}}}',
        ) as service,
    ):
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        port = asyncio.create_task(serve_api(service, ready.set_result))
        try:
            yield PlatformUser(wire), await ready, service.core.part(Scheduler)
        finally:
            port.cancel()
            await asyncio.wait({port})


async def shown(slack: PlatformUser, act: Callable[[], Any]) -> None:
    """Act, and wait until one more complete message of the bot is visible."""
    before = len(slack.texts())
    act()
    await until(lambda: len(slack.texts()) > before, WAIT_SECONDS, lambda: f"{slack.texts()}")


def make_due(home: Path, scheduler: Scheduler) -> None:
    """Move every schedule's next run to now, as if its time had come."""
    with closing(sqlite3.connect(home / "bot.db")) as database, database:
        database.execute("UPDATE schedules SET next_at = ?", [time.time()])
    scheduler.wake()


async def walks(home: Path) -> dict[str, set[str]]:
    """The files that each walk enters."""
    recorder = Recorder()
    recorder.install()
    found: dict[str, set[str]] = {}
    async with (
        slack_service(home) as (slack, address, scheduler),
        httpx.AsyncClient(base_url=address, headers=SIGNED) as http,
    ):
        slack.writes("hello")
        await until(lambda: "hello" in slack.texts(), WAIT_SECONDS, lambda: f"no answer: {slack.texts()}")
        await shown(slack, lambda: slack.writes("/digest daily 9:00 say Good morning"))

        async def measure(name: str, walk: Callable[[], Awaitable[object]], times: int = 1) -> None:
            await asyncio.sleep(1.0)
            for _ in range(times):
                with recorder.armed() as files:
                    await walk()
                found[name] = files & found.get(name, files)

        await measure("Slack message", lambda: shown(slack, lambda: slack.writes("how are you?")))
        await measure("slash command", lambda: shown(slack, lambda: slack.writes("/status")))
        await measure("management call", lambda: http.get("/api/schedules"), times=5)
        await shown(slack, lambda: slack.writes("/digest ok 1"))
        await measure("scheduled run", lambda: shown(slack, lambda: make_due(home, scheduler)))
    return found


def main() -> int:
    """Print the table. Exit code 1 if a walk enters more files than its limit."""
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(walks(Path(folder)))
    print(f"{'walk':18} {'files':>5} {'limit':>5}")
    for name, limit in LIMITS.items():
        print(f"{name:18} {len(found[name]):5} {limit:5}")
        if "--list" in sys.argv:
            print("\n".join(f"    {file}" for file in sorted(found[name])))
    return int(any(len(found[name]) > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    raise SystemExit(main())
