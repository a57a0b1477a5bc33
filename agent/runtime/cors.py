"""Cross-origin requests: origins whose web pages may call the runtime, and responses to their browsers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.shared.request_signature import IDEMPOTENCY_HEADER

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
REQUEST_HEADERS: Final = (
    "accept",
    "authorization",
    "cache-control",
    "content-type",
    IDEMPOTENCY_HEADER,
    "last-event-id",
    "prefer",
    "x-api-key",
    "x-auth-scheme",
)
"""Headers that pages may always send: those of the LangGraph SDK's requests."""
RESPONSE_HEADERS: Final = (
    "content-location",
    "location",
    "retry-after",
    "x-pagination-next",
    "x-pagination-total",
)
"""Headers that pages may always read, because the LangGraph SDK does."""
UNKNOWN_ORIGIN: Final = "https://origin.invalid"
"""Origin that no configuration names, so that only a pattern for every origin matches it."""
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s]+")


def parse_origin(text: str) -> str:
    """Return an origin, a pattern of origins or `*` in canonical form. Raises `ValueError`."""
    origin = text.strip().lower().removesuffix("/")
    if origin != "*" and not _ORIGIN.fullmatch(origin):
        raise ValueError(f"{text!r} is not an origin, such as https://app.example.com")
    return origin


class CorsSettings(BaseModel):
    """`http.cors` of a `langgraph.json`. In `allow_origins`, `*` matches any part of a host or port."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    allow_origins: tuple[Annotated[str, AfterValidator(parse_origin)], ...] = ()
    allow_origin_regex: str | None = None
    allow_methods: tuple[str, ...] = METHODS
    allow_headers: tuple[str, ...] = ()
    allow_credentials: bool = False
    expose_headers: tuple[str, ...] = ()
    max_age: int = Field(default=600, ge=0)

    @field_validator("allow_origin_regex")
    @classmethod
    def _check_pattern(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from error
        return pattern

    @model_validator(mode="after")
    def _check_credentials(self) -> CorsSettings:
        if self.allow_credentials and self.is_allowed(UNKNOWN_ORIGIN):
            raise ValueError("allow_credentials requires a list of origins, not every origin")
        return self

    @property
    def is_open(self) -> bool:
        """True if pages of every origin may call."""
        return "*" in self.allow_origins

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        parts = (map(re.escape, origin.split("*")) for origin in self.allow_origins if "*" in origin)
        patterns = ["[^/:]+".join(pieces) for pieces in parts]
        patterns += [self.allow_origin_regex] if self.allow_origin_regex else []
        return tuple(map(re.compile, patterns))

    def is_allowed(self, origin: str) -> bool:
        return (
            self.is_open
            or origin in self.allow_origins
            or any(pattern.fullmatch(origin) for pattern in self._patterns)
        )

    def add_origins(self, origins: Iterable[str]) -> CorsSettings:
        """Return these settings with more origins. Raises `pydantic.ValidationError`."""
        values: dict[str, Any] = {"allow_origins": (*self.allow_origins, *origins)}
        return CorsSettings.model_validate({**self.model_dump(), **values})


class CrossOriginAccess(CORSMiddleware):
    """Answers preflights of allowed origins with 204, and adds CORS headers to responses for them only.

    Preflights carry no token, so this layer is in front of the guard. Other requests pass unchanged.
    """

    def __init__(self, app: ASGIApp, settings: CorsSettings) -> None:
        super().__init__(
            app,
            allow_origins=("*",) if settings.is_open else (),
            allow_methods=settings.allow_methods,
            allow_headers=(*REQUEST_HEADERS, *settings.allow_headers),
            allow_credentials=settings.allow_credentials,
            expose_headers=(*RESPONSE_HEADERS, *settings.expose_headers),
            max_age=settings.max_age,
        )
        self._settings = settings

    def is_allowed_origin(self, origin: str) -> bool:
        return self._settings.is_allowed(origin)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = Headers(scope=scope).get("origin") if scope["type"] == "http" else None
        if origin is None or not self.is_allowed_origin(origin):
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def preflight_response(self, request_headers: Headers) -> Response:
        """Return what this origin may send; the browser compares it with the page's request."""
        checked = super().preflight_response(request_headers)
        headers = {name: value for name, value in checked.headers.items() if not name.startswith("content-")}
        return Response(status_code=204, headers=headers)
