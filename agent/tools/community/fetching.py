"""Fetching of a page for a model through the guard, with limits on redirects, time and size."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import httpx

from agent.errors import WebFailed
from agent.shared.pinned_transport import PinnedTransport
from agent.shared.tls import tls_context
from agent.tools.community.guard import Guard, parse_url

USER_AGENT = "Mozilla/5.0 (compatible; Roebot)"
CONNECT_SECONDS = 5.0
ACCEPTED_ENCODINGS = "gzip"
_COMPRESSED = frozenset({"gzip", "x-gzip", "deflate"})
_HEADERS = {
    "user-agent": USER_AGENT,
    "accept": "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.1",
    "accept-encoding": ACCEPTED_ENCODINGS,
}


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits: total `seconds`, bytes of the `body`, and number of `redirects`."""

    seconds: float = 20.0
    body: int = 2_000_000
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A body from `url` after redirects; `cut` is true if it was longer."""

    url: str
    media_type: str
    charset: str | None
    body: bytes
    cut: bool


async def fetch(address: str, *, guard: Guard, limits: FetchLimits) -> FetchedPage:
    """Fetch an address written by a model. Raises WebRefused or WebFailed."""
    url = parse_url(address)
    try:
        async with asyncio.timeout(limits.seconds):
            context = await asyncio.to_thread(tls_context)
            inner = httpx.AsyncHTTPTransport(
                verify=context, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
            )
            async with httpx.AsyncClient(
                transport=PinnedTransport(guard.addresses, inner),
                timeout=httpx.Timeout(limits.seconds, connect=CONNECT_SECONDS),
                headers=_HEADERS,
                trust_env=False,
            ) as client:
                return await _follow_redirects(client, url, limits)
    except (TimeoutError, httpx.TimeoutException):
        raise WebFailed(f"{url.host} did not respond within {limits.seconds:g} seconds") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise WebFailed(f"{url.host} can't be read ({type(error).__name__})") from None


async def _follow_redirects(client: httpx.AsyncClient, url: httpx.URL, limits: FetchLimits) -> FetchedPage:
    """Follow redirects without reading their bodies, unlike the client."""
    for _ in range(limits.redirects + 1):
        async with client.stream("GET", url) as response:
            if response.next_request is None:
                return await _read_response(response, limits)
            url = response.next_request.url
    raise WebFailed(f"it has too many redirects (more than {limits.redirects})")


async def _read_response(response: httpx.Response, limits: FetchLimits) -> FetchedPage:
    if not response.is_success:
        answered = f"{response.status_code} {response.reason_phrase}".strip()
        raise WebFailed(f"{response.url.host} returned {answered}")
    body, cut = await read_bounded(response, limits.body)
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return FetchedPage(str(response.url), kind, response.charset_encoding, body, cut)


async def read_bounded(response: httpx.Response, limit: int) -> tuple[bytes, bool]:
    """Return up to `limit` bytes of the decompressed body, and whether there was more. Raises WebFailed."""
    decompress = _make_decompressor(response.headers.get("content-encoding", ""))
    parts: list[bytes] = []
    size = received = 0
    async for chunk in response.aiter_raw():
        received += len(chunk)
        part = decompress(chunk, limit + 1 - size)
        parts.append(part)
        size += len(part)
        if size > limit or received > limit:
            break
    body = b"".join(parts)
    return body[:limit], size > limit or received > limit


def _make_decompressor(encoding: str) -> Callable[[bytes, int], bytes]:
    """Return a function that decompresses a chunk up to a number of bytes."""
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return lambda chunk, most: chunk[:most]
    if name not in _COMPRESSED:
        raise WebFailed("the response uses an unknown compression")
    # A window of 15 bits; 32 detects gzip or zlib.
    decompressor = zlib.decompressobj(wbits=15 + 32)

    def decompress(chunk: bytes, most: int) -> bytes:
        try:
            return decompressor.decompress(chunk, most)
        except zlib.error:
            raise WebFailed("the compressed response is invalid") from None

    return decompress
