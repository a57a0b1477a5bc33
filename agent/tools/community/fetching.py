"""Fetches a page for a model: guarded, through few redirects, within limits of time and size."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import httpx

from agent.errors import WebFailed
from agent.shared.tls import tls_context
from agent.tools.community.bodies import ACCEPTED, read_bounded
from agent.tools.community.guard import Guard, PinnedTransport, checked_url

USER_AGENT = "Mozilla/5.0 (compatible; Roebot)"
CONNECT_SECONDS = 5.0
_HEADERS = {
    "user-agent": USER_AGENT,
    "accept": "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.1",
    "accept-encoding": ACCEPTED,
}


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Seconds for all of it, bytes of the body, redirects that are followed."""

    seconds: float = 20.0
    body: int = 2_000_000
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class Fetched:
    """A body: `url` is where it came from in the end; `cut` says that it was longer."""

    url: str
    media_type: str
    charset: str | None
    body: bytes
    cut: bool


async def fetch(address: str, *, guard: Guard, limits: FetchLimits) -> Fetched:
    """What an address that a model wrote gives. Raises WebRefused or WebFailed."""
    url = checked_url(address)
    try:
        async with asyncio.timeout(limits.seconds):
            context = await asyncio.to_thread(tls_context)
            inner = httpx.AsyncHTTPTransport(
                verify=context, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
            )
            async with httpx.AsyncClient(
                transport=PinnedTransport(guard, inner),
                timeout=httpx.Timeout(limits.seconds, connect=CONNECT_SECONDS),
                headers=_HEADERS,
                trust_env=False,
            ) as client:
                return await _followed(client, url, limits)
    except (TimeoutError, httpx.TimeoutException):
        raise WebFailed(f"{url.host} did not answer within {limits.seconds:g} seconds") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise WebFailed(f"{url.host} can't be read ({type(error).__name__})") from None


async def _followed(client: httpx.AsyncClient, url: httpx.URL, limits: FetchLimits) -> Fetched:
    """Redirects are followed here: the client would read their bodies, however long they are."""
    for _ in range(limits.redirects + 1):
        async with client.stream("GET", url) as response:
            if response.next_request is None:
                return await _read_response(response, limits)
            url = response.next_request.url
    raise WebFailed(f"it leads on and on, more than {limits.redirects} times")


async def _read_response(response: httpx.Response, limits: FetchLimits) -> Fetched:
    if not response.is_success:
        answered = f"{response.status_code} {response.reason_phrase}".strip()
        raise WebFailed(f"{response.url.host} answered {answered}")
    body, cut = await read_bounded(response, limits.body)
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return Fetched(str(response.url), kind, response.charset_encoding, body, cut)
