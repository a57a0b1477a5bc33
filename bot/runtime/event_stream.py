"""Incremental reader of a run's server-sent events (SSE).

`langgraph-sdk` reads them line by line through layers of iterators, which costs as much as everything else
that the service does with a token.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import orjson

from agent.shared.json_text import parse_json

_HEADERS = {"Accept": "text/event-stream", "Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """An event: its name, its parsed data, and the newest id so far ("": none)."""

    name: str
    data: Any
    id: str


class EventSplitter:
    """Splits a stream of bytes into events (html.spec.whatwg.org, "Interpreting an event stream")."""

    def __init__(self) -> None:
        self._rest = b""
        self._id = ""

    def read(self, chunk: bytes) -> list[ServerEvent]:
        """Return the completed events. Raises httpx.DecodingError for data that is not JSON."""
        received = self._rest + chunk
        if b"\r" in received:
            # One at the end may be half of a line break.
            half = received.endswith(b"\r")
            received = received.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            received += b"\r" * half
        *blocks, self._rest = received.split(b"\n\n")
        return [event for block in blocks if (event := self._read_block(block)) is not None]

    def _read_block(self, block: bytes) -> ServerEvent | None:
        name, data = "", list[bytes]()
        for line in block.split(b"\n"):
            key, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if key == b"data":
                data.append(value)
            elif key == b"event":
                name = value.decode(errors="replace")
            elif key == b"id" and b"\0" not in value:
                self._id = value.decode(errors="replace")
        body = b"\n".join(data).strip()
        return ServerEvent(name, _parse(body), self._id) if name or body else None


def _parse(body: bytes) -> Any:
    try:
        return parse_json(body) if body else None
    except orjson.JSONDecodeError as error:
        raise httpx.DecodingError(f"an event is not JSON: {error}") from error


async def read_events(http: httpx.AsyncClient, path: str, after: str) -> AsyncIterator[ServerEvent]:
    """Yield the events after this id ("-1": all) until the stream is complete.

    Raises httpx.HTTPError.
    """
    async with http.stream("GET", path, headers={**_HEADERS, "Last-Event-ID": after}) as response:
        if response.is_error:
            await response.aread()
            response.raise_for_status()
        kind = response.headers.get("content-type", "").partition(";")[0]
        if kind != "text/event-stream":
            raise httpx.RemoteProtocolError(f"expected events, not {kind!r}")
        reader = EventSplitter()
        async for chunk in response.aiter_bytes():
            for event in reader.read(chunk):
                yield event
