"""Filters of a thread's events: by channel, namespace and depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from agent.errors import BadRequest
from agent.runtime.encode import loads
from agent.runtime.protocol.translation import INPUT

CHANNELS: Final = frozenset(
    {"values", "updates", "messages", "tools", "custom", "lifecycle", "input", "checkpoints", "tasks"}
)


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Events that a request asks for. Without `namespaces`, those of all namespaces at any depth."""

    channels: frozenset[str]
    namespaces: tuple[tuple[str, ...], ...] = ()
    depth: int | None = None

    @classmethod
    def parse(cls, channels: Any, namespaces: Any, depth: Any) -> EventFilter:
        """Parse the fields of a request. Raises `BadRequest`."""
        if not isinstance(channels, list) or not channels:
            raise BadRequest("channels must be a list of at least one channel")
        unknown = [name for name in channels if not _is_channel(name)]
        if unknown:
            known = ", ".join(sorted(CHANNELS))
            raise BadRequest(f"channels: {unknown[0]!r} is not one of {known} or custom:NAME")
        return cls(frozenset(channels), _parse_namespaces(namespaces), parse_count(depth))

    def admits(self, method: str, data: bytes) -> bool:
        """Return whether a stored event passes."""
        channel = "input" if method == INPUT else method
        if channel not in self.channels and channel != "custom":
            return False
        if channel in self.channels and not self.namespaces:
            return True
        params = loads(data)["params"]
        if channel not in self.channels and f"custom:{params['data'].get('name')}" not in self.channels:
            return False
        return self._matches_namespace(params["namespace"])

    def _matches_namespace(self, namespace: Sequence[str]) -> bool:
        return not self.namespaces or any(
            _has_prefix(namespace, prefix)
            and (self.depth is None or len(namespace) - len(prefix) <= self.depth)
            for prefix in self.namespaces
        )


def parse_count(value: Any) -> int | None:
    """Return a non-negative integer, or None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _is_channel(name: Any) -> bool:
    return isinstance(name, str) and (name in CHANNELS or (name.startswith("custom:") and len(name) > 7))


def _parse_namespaces(value: Any) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list) or not all(isinstance(place, list) for place in value):
        return ()
    return tuple(tuple(map(str, place)) for place in value)


def _has_prefix(namespace: Sequence[str], prefix: Sequence[str]) -> bool:
    """Return whether a namespace starts with a prefix, whose segments may be names without a task id."""
    return len(prefix) <= len(namespace) and all(
        segment in (place, place.partition(":")[0]) for place, segment in zip(namespace, prefix, strict=False)
    )
