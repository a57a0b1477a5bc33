"""Calls of a service's HTTP API: one try, within limits, failures in words that help."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import orjson

from agent.errors import WebFailed
from agent.shared.html_charset import decode_html
from agent.shared.tls import tls_context
from agent.tools.community.bodies import ACCEPTED, read_bounded
from agent.tools.community.fetching import USER_AGENT

ANSWER_BYTES = 5_000_000
_DETAIL = 120
_REFUSALS: Mapping[int, str] = {
    401: "refused the API key; somebody has to check `api_key` of this tool",
    402: "wants to be paid: the quota of its API key is used up",
    403: "refused this; somebody has to check `api_key` of this tool",
    429: "has reached its rate limit; try again later",
    432: "wants to be paid: the quota of its API key is used up",
    433: "wants to be paid: the quota of its API key is used up",
}


@dataclass(frozen=True, slots=True)
class Service:
    """A service by the name that people know; `seconds` for a call. Redirects are not followed."""

    name: str
    base_url: str
    seconds: float
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    async def json(self, method: str, path: str, **parts: Any) -> dict[str, Any]:
        """The JSON object that it answers; `parts` as for `text`. Raises WebFailed."""
        try:
            found = orjson.loads(await self.text(method, path, **parts))
        except orjson.JSONDecodeError:
            raise WebFailed(f"{self.name} sent something that can't be read") from None
        if not isinstance(found, dict):
            raise WebFailed(f"{self.name} sent something that can't be read")
        return found

    async def text(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> str:
        """What it answers. Raises WebFailed."""
        try:
            async with asyncio.timeout(self.seconds):
                return await self._answer(method, path, body, params)
        except (TimeoutError, httpx.TimeoutException):
            raise WebFailed(f"{self.name} did not answer within {self.seconds:g} seconds") from None
        except httpx.HTTPError as error:
            raise WebFailed(f"{self.name} can't be reached ({type(error).__name__})") from None

    async def _answer(
        self, method: str, path: str, body: Mapping[str, Any] | None, params: Mapping[str, str] | None
    ) -> str:
        headers = {"user-agent": USER_AGENT, "accept-encoding": ACCEPTED, **self.headers}
        context = await asyncio.to_thread(tls_context)
        async with (
            httpx.AsyncClient(verify=context, timeout=self.seconds, headers=headers) as client,
            client.stream(method, f"{self.base_url}{path}", json=body, params=params) as response,
        ):
            data, cut = await read_bounded(response, ANSWER_BYTES)
        text = decode_html(data, response.charset_encoding)
        if not response.is_success:
            raise WebFailed(f"{self.name} {_refusal(response.status_code, text)}")
        if cut:
            raise WebFailed(f"{self.name} sent more than {ANSWER_BYTES:,} bytes")
        return text


def bearer(key: str) -> dict[str, str]:
    """The header that carries an API key; none without one."""
    return {"authorization": f"Bearer {key}"} if key else {}


def _refusal(status: int, text: str) -> str:
    known = _REFUSALS.get(status)
    if known is None and status >= 500:
        known = f"is out of order (it answered {status})"
    said = _error_detail(text)
    return f"{known or f'answered {status}'}{f': {said}' if said else ''}"


def _error_detail(text: str) -> str:
    """What the body of an error says, if it says it in one of the usual ways."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return ""
    for key in ("detail", "error", "message"):
        inner = found.get(key) if isinstance(found, dict) else None
        inner = inner.get("error") or inner.get("message") if isinstance(inner, dict) else inner
        if isinstance(inner, str) and inner.strip():
            return " ".join(inner.split())[:_DETAIL]
    return ""
