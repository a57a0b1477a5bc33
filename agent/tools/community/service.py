"""Settings of web tools, given as further keys of their entries, and calls of a service's HTTP API."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import orjson
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from agent.errors import WebFailed
from agent.shared.html_charset import decode_html
from agent.shared.tls import tls_context
from agent.tools.community.fetching import ACCEPTED_ENCODINGS, USER_AGENT, read_bounded

ANSWER_BYTES = 5_000_000
_DETAIL = 120
_REFUSALS: Mapping[int, str] = {
    401: "rejected the API key; someone has to check the `api_key` of this tool",
    402: "requires payment: the API key's quota is used up",
    403: "denied access; someone has to check the `api_key` of this tool",
    429: "has reached its rate limit; try again later",
    432: "requires payment: the API key's quota is used up",
    433: "requires payment: the API key's quota is used up",
}
FETCHED_CHARACTERS = 4_096
SettingsT = TypeVar("SettingsT", bound="WebSettings")


class WebSettings(BaseModel):
    """Settings of every web tool."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    timeout_seconds: float = Field(20.0, gt=0, le=300)

    @classmethod
    def of(cls: type[SettingsT], keys: Mapping[str, Any]) -> SettingsT:
        """Validate settings. Raises ValueError with one line that contains no values."""
        try:
            return cls.model_validate(keys)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise ValueError(f"{place}: {first['msg']}") from None


class FetchSettings(WebSettings):
    """Settings of a tool that reads pages. The model receives up to `max_characters` of a page."""

    max_characters: int = Field(FETCHED_CHARACTERS, ge=200, le=200_000)


class SearchSettings(WebSettings):
    """Settings of a search tool."""

    max_results: int = Field(5, ge=1, le=20)


class ServiceSettings(WebSettings):
    """Settings of a tool that calls a service; `base_url` is the root of its API."""

    api_key: SecretStr | None = None
    base_url: str

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("expected the root of an API, such as https://host")
        return value.rstrip("/")

    @property
    def key(self) -> str:
        """The API key as text, or "" if there is none."""
        return self.api_key.get_secret_value() if self.api_key else ""


@dataclass(frozen=True, slots=True)
class WebService:
    """An HTTP API, called once per request for at most `seconds`. Redirects are not followed."""

    name: str
    base_url: str
    seconds: float
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    async def json(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        """Call the service and return its JSON object; `options` as for `text`. Raises WebFailed."""
        try:
            found = orjson.loads(await self.text(method, path, **options))
        except orjson.JSONDecodeError:
            raise WebFailed(f"{self.name} sent an unreadable response") from None
        if not isinstance(found, dict):
            raise WebFailed(f"{self.name} sent an unreadable response")
        return found

    async def text(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        form: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> str:
        """Call the service with a JSON body or a form and return the response text. Raises WebFailed."""
        try:
            async with asyncio.timeout(self.seconds):
                return await self._call(method, path, json=body, data=form, params=params)
        except (TimeoutError, httpx.TimeoutException):
            raise WebFailed(f"{self.name} did not respond within {self.seconds:g} seconds") from None
        except httpx.HTTPError as error:
            raise WebFailed(f"{self.name} can't be reached ({type(error).__name__})") from None

    async def _call(self, method: str, path: str, **content: Any) -> str:
        headers = {"user-agent": USER_AGENT, "accept-encoding": ACCEPTED_ENCODINGS, **self.headers}
        context = await asyncio.to_thread(tls_context)
        async with (
            httpx.AsyncClient(verify=context, timeout=self.seconds, headers=headers) as client,
            client.stream(method, f"{self.base_url}{path}", **content) as response,
        ):
            data, cut = await read_bounded(response, ANSWER_BYTES)
        text = decode_html(data, response.charset_encoding)
        if not response.is_success:
            raise WebFailed(f"{self.name} {_refusal(response.status_code, text)}")
        if cut:
            raise WebFailed(f"{self.name} sent more than {ANSWER_BYTES:,} bytes")
        return text


def bearer(key: str) -> dict[str, str]:
    """Return the header with an API key, {} without one."""
    return {"authorization": f"Bearer {key}"} if key else {}


def _refusal(status: int, text: str) -> str:
    known = _REFUSALS.get(status)
    if known is None and status >= 500:
        known = f"is unavailable (status {status})"
    detail = _error_detail(text)
    return f"{known or f'returned status {status}'}{f': {detail}' if detail else ''}"


def _error_detail(text: str) -> str:
    """Return an error body's message in one of the usual formats, otherwise ""."""
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
