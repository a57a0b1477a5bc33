"""The few lines of ASGI that every emulator needs: read a body, answer JSON, answer bytes."""

from __future__ import annotations

from typing import Any

import orjson

from bot.testing.emulators.server import Receive, Send


async def answer(send: Send, status: int, body: Any, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    """Answer with JSON."""
    await answer_bytes(send, status, orjson.dumps(body, default=str), b"application/json", headers)


async def answer_bytes(
    send: Send,
    status: int,
    body: bytes,
    content_type: bytes,
    headers: tuple[tuple[bytes, bytes], ...] = (),
) -> None:
    """Answer with bytes."""
    length = (b"content-length", b"%d" % len(body))
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(b"content-type", content_type), length, *headers],
        }
    )
    await send({"type": "http.response.body", "body": body})


async def read_body(receive: Receive) -> bytes:
    """The whole body of a request."""
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    return body
