"""The service's own port applies the limits of its configuration."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from bot.app.http_server import serve_api
from tests.platforms.web.serving import world

LIMITS = ", limits: {header_seconds: 1, header_kb: 4, body_seconds: 1, sign_in_kb: 2}"


@asynccontextmanager
async def port(home: Path) -> AsyncIterator[int]:
    """The port of a service."""
    async with world(home, server=LIMITS) as running:
        opened = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(serve_api(running.service, opened.set_result))
        try:
            yield urlsplit(await opened).port or 0
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def send(number: int, data: str) -> str:
    """The answer to what a client sends, "" if there is none."""
    reader, writer = await asyncio.open_connection("127.0.0.1", number)
    writer.write(data.replace("PORT", str(number)).encode())
    try:
        async with asyncio.timeout(10):
            return (await reader.read()).decode(errors="replace")
    except ConnectionResetError:
        return ""
    finally:
        writer.close()


def post(path: str, size: int, body: str = "") -> str:
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:PORT\r\ncontent-type: application/json\r\n"
    return f"{head}connection: close\r\ncontent-length: {size}\r\n\r\n{body}"


async def test_a_request_that_is_large_or_slow_is_refused(tmp_path: Path) -> None:
    async with port(tmp_path) as number:
        slow_head, slow_body, large_head, large_body, webhook, signed_out = await asyncio.gather(
            send(number, "GET /health HTTP/1.1\r\nhost: 127"),
            send(number, post("/api/session", 100, "{")),
            send(number, f"GET /health HTTP/1.1\r\nx-long: {'a' * 5_000}\r\n\r\n"),
            send(number, post("/api/session", 600_000_000)),
            send(number, post("/webhooks/telegram", 600_000_000)),
            send(number, post("/api/conversations", 15_000_000)),
        )
    assert slow_head.startswith("HTTP/1.1 408")
    assert slow_body.startswith("HTTP/1.1 408")
    assert large_head.startswith("HTTP/1.1 431")
    assert large_body.startswith("HTTP/1.1 413")
    assert "content-security-policy" in large_body
    assert webhook.startswith("HTTP/1.1 413")
    assert signed_out.startswith("HTTP/1.1 401")
