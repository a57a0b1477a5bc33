"""`http` of a `langgraph.json`: routes, headers, and the project's own application."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict

from agent.runtime.cors import CorsSettings

CREDENTIALS: Final = frozenset({"authorization", "cookie", "x-api-key", "x-service-key", "x-tenant-id"})
"""Headers that are never passed to a graph."""
FAMILIES: Final = ("a2a", "assistants", "mcp", "meta", "runs", "store", "threads", "ui", "webhooks")
"""Names that can follow `disable_`."""
WITHOUT_EFFECT: Final = ("logging_headers", "middleware_order")
"""Keys that always have their strictest value: callers are checked first, and headers are not logged."""


class ConfigurableHeaders(BaseModel):
    """Request headers that are copied to the `configurable` of the run; `*` matches any text."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    includes: tuple[str, ...] | None = None
    excludes: tuple[str, ...] | None = None

    def select(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers to pass on, by lower-case name."""
        names = {name for name in headers if _matches(name, self.includes or ())} - CREDENTIALS
        return {name: headers[name] for name in names if not _matches(name, self.excludes or ())}


def _matches(name: str, patterns: Iterable[str]) -> bool:
    parts = (".*".join(map(re.escape, pattern.lower().split("*"))) for pattern in patterns)
    return any(re.fullmatch(part, name) for part in parts)


class HttpKeys(BaseModel):
    """Keys of `http` that this runtime implements, in addition to `disable_*`."""

    model_config = ConfigDict(extra="allow")
    app: str | None = None
    cors: CorsSettings | None = None
    configurable_headers: ConfigurableHeaders | None = None
    enable_custom_route_auth: bool = True
    """False: with `auth`, the routes of `app` are open to everybody."""

    @property
    def disabled(self) -> frozenset[str]:
        """Families of routes that are not served."""
        return frozenset(name for name in FAMILIES if (self.model_extra or {}).get(f"disable_{name}"))

    @property
    def unknown(self) -> list[str]:
        """Keys with a value that this runtime does not implement."""
        known = {*WITHOUT_EFFECT, *(f"disable_{name}" for name in FAMILIES)}
        return [key for key, value in (self.model_extra or {}).items() if value and key not in known]
