"""Attack a port of this machine without a credential: `python -m tests.load.strangers PORT SECONDS`.

Only loopback is attacked, and the attack stops by itself. Connections that the service closes are opened
again. Ends with a line of JSON: what was held at the same time, and what was sent.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import resource
import threading
import time
from collections import Counter
from contextlib import suppress
from socket import create_connection

HALF_OPEN = 3_000
ADDRESSES = 60
SIZE = 600_000_000
PIECE = b"x" * 65_536
PAUSE = 0.002
"""Time between two pieces of a body (s): 30 MB/s for each of them."""
HALVES = (
    b"",
    b"GET /health HTTP/1.1\r\nhost: local",
    b"POST /api/session HTTP/1.1\r\nhost: 127.0.0.1:%d\r\ncontent-type: application/json\r\n"
    b"content-length: 30000\r\n\r\n" + b"x" * 20_000,
    b"POST /webhooks/telegram HTTP/1.1\r\nhost: 127.0.0.1:%d\r\ncontent-length: 1900000\r\n\r\n"
    + b"x" * 9_000,
)
SENT = Counter[str]()


async def hold(port: int, number: int, ends: float) -> None:
    """Keep one half-sent request open, from one of the addresses."""
    data = HALVES[number % len(HALVES)].replace(b"%d", str(port).encode())
    while time.monotonic() < ends:
        with suppress(OSError):
            source = (f"127.1.0.{1 + number % ADDRESSES}", 0)
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=source)
            SENT["opened"] += 1
            try:
                writer.write(data)
                async with asyncio.timeout(max(0.0, ends - time.monotonic())):
                    await reader.read()
            except TimeoutError:
                pass
            finally:
                writer.close()
        await asyncio.sleep(1.0)


def flood(port: int, path: str, *, chunked: bool, ends: float) -> None:
    """Send bodies of 600 MB until the end."""
    how = "transfer-encoding: chunked" if chunked else f"content-length: {SIZE}"
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n{how}\r\n\r\n"
    )
    piece = b"%x\r\n%s\r\n" % (len(PIECE), PIECE) if chunked else PIECE
    while time.monotonic() < ends:
        with suppress(OSError), create_connection(("127.0.0.1", port), 5) as connection:
            connection.sendall(head.encode())
            SENT["bodies"] += 1
            for _ in range(SIZE // len(PIECE)):
                connection.sendall(piece)
                SENT["bytes"] += len(PIECE)
                time.sleep(PAUSE)
                if time.monotonic() > ends:
                    return
        time.sleep(0.05)


async def attack(port: int, seconds: float) -> None:
    """Do both at once."""
    ends = time.monotonic() + seconds
    paths = ("/api/session", "/webhooks/telegram", "/api/conversations/1/messages")
    threads = [
        threading.Thread(target=flood, args=(port, path), kwargs={"chunked": chunked, "ends": ends})
        for path, chunked in itertools.product(paths, (False, True))
    ]
    for thread in threads:
        thread.start()
    await asyncio.gather(*(hold(port, number, ends) for number in range(HALF_OPEN)))
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("seconds", type=float)
    given = parser.parse_args()
    # The strangers stand for other machines, so they must not take the processors of this one.
    os.nice(10)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192), hard))
    asyncio.run(attack(given.port, given.seconds))
    print(json.dumps(SENT))
