"""Ids of the runtime: UUIDs of rows, and event ids `<attempt>-<seq>`."""

from __future__ import annotations

import re
from typing import NamedTuple
from uuid import UUID, uuid5

from langchain_core.utils.uuid import uuid7

from agent.errors import Invalid

ASSISTANT_NAMESPACE = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
_EVENT_ID = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,14})")


class EventId(NamedTuple):
    """Where a run's event log was read up to; compares in log order."""

    attempt: int
    seq: int

    def __str__(self) -> str:
        return f"{self.attempt}-{self.seq}"


START = EventId(0, 0)


def parse_event_id(text: str) -> EventId | None:
    """The id in a `Last-Event-ID`; `-1` and `0` mean the start; None: no id of this runtime."""
    if text in {"-1", "0"}:
        return START
    found = _EVENT_ID.fullmatch(text)
    return EventId(int(found[1]), int(found[2])) if found else None


def new_id() -> str:
    """A time-ordered UUID for a row."""
    return str(uuid7())


def require_uuid(text: object, what: str) -> str:
    """`text` in canonical form. Raises `Invalid` when it is no UUID."""
    try:
        return str(UUID(text)) if isinstance(text, str) else _refuse(what)
    except ValueError:
        return _refuse(what)


def _refuse(what: str) -> str:
    raise Invalid(f"Invalid {what}: must be a UUID")


def assistant_uuid(graph_id: str) -> str:
    """The id of a graph's system assistant (the same on every LangGraph-API server)."""
    return str(uuid5(ASSISTANT_NAMESPACE, graph_id))
