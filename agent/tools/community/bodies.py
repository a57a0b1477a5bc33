"""Reads a body while it comes, and no further than a limit: of what is sent and of what it unpacks to."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import httpx

from agent.errors import WebFailed

ACCEPTED = "gzip"
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})


async def read_bounded(response: httpx.Response, limit: int) -> tuple[bytes, bool]:
    """At most `limit` bytes of the body, unpacked, and whether there was more. Raises WebFailed."""
    unpack = _unpacker(response.headers.get("content-encoding", ""))
    parts: list[bytes] = []
    size = came = 0
    async for chunk in response.aiter_raw():
        came += len(chunk)
        part = unpack(chunk, limit + 1 - size)
        parts.append(part)
        size += len(part)
        if size > limit or came > limit:
            break
    body = b"".join(parts)
    return body[:limit], size > limit or came > limit


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    """Unpacks the next bytes to so many at most."""
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return lambda chunk, most: chunk[:most]
    if name not in _PACKED:
        raise WebFailed("the answer is packed in a way that is not known here")
    # 15 bits of window, and 32 for: gzip or zlib, by what comes
    unpacking = zlib.decompressobj(wbits=15 + 32)

    def unpack(chunk: bytes, most: int) -> bytes:
        try:
            return unpacking.decompress(chunk, most)
        except zlib.error:
            raise WebFailed("the answer is not packed as it says") from None

    return unpack
