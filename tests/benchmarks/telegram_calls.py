"""CPU of a call to Telegram and memory of the adapter: `python -m tests.benchmarks.telegram_calls`.

Our client against python-telegram-bot with its own HTTP client, in turns, each side in fresh processes under
uvloop, against one emulator in a process of its own. CPU is that of the calling process; medians of rounds.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

CALLS, WARM, ROUNDS, AT_ONCE = 1500, 200, 5, 16
USER = 7
KINDS = ("sendMessage", "typing")
SIDES = ("sdk", "ours")
IMPORTS = {"nothing": "", "sdk": "import telegram", "ours": "import bot.platforms.telegram.adapter"}
Call = Callable[[], Awaitable[object]]


async def sdk(url: str, token: str, kind: str) -> tuple[Call, Call]:
    """The SDK as it comes: a call, and its end."""
    from telegram import Bot
    from telegram.request import HTTPXRequest

    quiet = {"trust_env": False}
    bot = Bot(
        token,
        base_url=f"{url}/bot",
        request=HTTPXRequest(connection_pool_size=AT_ONCE, httpx_kwargs=quiet),
        get_updates_request=HTTPXRequest(httpx_kwargs=quiet),
    )
    await bot.initialize()
    if kind == "typing":
        return lambda: bot.send_chat_action(USER, "typing"), bot.shutdown
    return lambda: bot.send_message(USER, "Hello, this is an answer."), bot.shutdown


async def ours(url: str, token: str, kind: str) -> tuple[Call, Call]:
    """Our client at the level that the adapter uses."""
    from bot.platforms.telegram.http import TelegramClient

    client = TelegramClient(token, url)
    await client.open()
    if kind == "typing":
        return lambda: client.call("sendChatAction", chat_id=USER, action="typing"), client.close
    return lambda: client.call("sendMessage", chat_id=USER, text="Hello, this is an answer."), client.close


async def measured(side: str, url: str, token: str, kind: str) -> float:
    """Milliseconds of CPU for a call."""
    call, close = await {"sdk": sdk, "ours": ours}[side](url, token, kind)

    async def some(count: int) -> None:
        for _ in range(count):
            await call()

    await some(WARM)
    began = time.process_time()
    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(some(CALLS // AT_ONCE))
    spent = time.process_time() - began
    await close()
    return spent / (CALLS // AT_ONCE * AT_ONCE) * 1000


@contextmanager
def emulator() -> Iterator[tuple[str, str]]:
    """Address and token of an emulator in a process of its own, which ends with the block."""
    program = (
        "import asyncio, sys\n"
        "from roebot_testing.emulators.telegram import TelegramEmulator\n"
        "async def main():\n"
        "    async with TelegramEmulator.serve(limits=False) as emulator:\n"
        f"        emulator.people.says('go', user={USER})\n"
        "        print(emulator.url, emulator.token, flush=True)\n"
        "        await asyncio.to_thread(sys.stdin.read)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url, token = process.stdout.readline().split()
        yield url, token


def pss(what: str) -> float:
    """Megabytes (PSS) of a fresh process that imported something."""
    read = f"{IMPORTS[what]}\nfrom pathlib import Path\nprint(Path('/proc/self/smaps_rollup').read_text())"
    done = subprocess.run([sys.executable, "-c", read], capture_output=True, text=True, check=True)
    [line] = [line for line in done.stdout.splitlines() if line.startswith("Pss:")]
    return int(line.split()[1]) / 1024


def one_round(side: str, url: str, token: str, kind: str) -> float:
    """One measurement in a fresh process."""
    command = [sys.executable, "-m", "tests.benchmarks.telegram_calls", side, url, token, kind]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=_without_proxies())
    return float(done.stdout)


def _without_proxies() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


def main() -> None:
    """Measure and print."""
    with emulator() as (url, token):
        for kind in KINDS:
            rounds: dict[str, list[float]] = {side: [] for side in SIDES}
            for _ in range(ROUNDS):
                for side in SIDES:
                    rounds[side].append(one_round(side, url, token, kind))
            medians = {side: statistics.median(found) for side, found in rounds.items()}
            shown = ", ".join(f"{side} {found:.3f} ms" for side, found in medians.items())
            print(f"CPU of a {kind}: {shown} ({medians['ours'] / medians['sdk']:.2f} x)")
    shown = ", ".join(f"{what} {statistics.median(pss(what) for _ in range(3)):.1f} MB" for what in IMPORTS)
    print(f"PSS with imports: {shown}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        import uvloop

        print(uvloop.run(measured(*sys.argv[1:])))
    else:
        main()
