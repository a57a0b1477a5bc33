"""Requests to calendars and PagerDuty, with limits on waiting time and size.

They go only to the configured host, which may be in an internal network, since an admin chose it:
redirects are not followed, and proxies of the environment are not used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import httpx

from agent.shared.tls import tls_context
from bot.features.oncall.plan import ScheduleUnavailable

SECONDS: Final = 20.0
MAX_BYTES: Final = 2_000_000


async def fetch(url: str, headers: Mapping[str, str], *, seconds: float = SECONDS) -> bytes:
    """Return the body of a response; `seconds` limits each wait for the server.

    Raises ScheduleUnavailable, whose text contains no more of the URL than its host.
    """
    host = httpx.URL(url).host
    try:
        context = await asyncio.to_thread(tls_context)
        async with (
            httpx.AsyncClient(verify=context, trust_env=False, timeout=seconds) as client,
            client.stream("GET", url, headers={"accept-encoding": "identity", **headers}) as response,
        ):
            if response.has_redirect_location:
                raise ScheduleUnavailable(f"{host} redirects to another address; configure that one")
            if not response.is_success:
                answered = f"{response.status_code} {response.reason_phrase}".strip()
                raise ScheduleUnavailable(f"{host} returned {answered}")
            return await _read_body(response)
    except httpx.TimeoutException:
        raise ScheduleUnavailable(f"{host} did not respond within {seconds:g} s") from None
    except httpx.HTTPError as error:
        raise ScheduleUnavailable(f"{host} can't be reached ({type(error).__name__})") from None


async def _read_body(response: httpx.Response) -> bytes:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ScheduleUnavailable(f"{response.url.host} sent a compressed response")
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > MAX_BYTES:
            raise ScheduleUnavailable(f"{response.url.host} sent more than {MAX_BYTES:,} bytes")
    return bytes(body)
