"""Code shared by all kinds of sources: reading requests, and limits on their contents."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from agent.shared.text import shorten, to_one_line
from bot.errors import RoebotError
from bot.features.events.alerts import AlertLink, AlertReport, AlertSeverity, Event
from bot.features.events.credentials import Credential

MAX_LINE: Final = 300
MAX_TEXT: Final = 4_000
MAX_LABELS: Final = 60
"""Limits for an alert: characters of a title or label, characters of a text, and number of labels."""
MAX_REPORTS: Final = 1_000
"""Maximum number of alerts read from one event; further ones count as omitted."""
MAX_URL: Final = 2_000
MAX_INT: Final = (1 << 63) - 1
"""Largest number that databases and orjson can store; in nanoseconds, a time in the year 2262."""
# Control characters and halves of surrogate pairs, which JSON can hold and databases can't.
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_NOT_IN_URLS: Final = re.compile(r"[\s<>\"`\\\x00-\x1f\x7f\ud800-\udfff]")
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|z|[+-]\d\d:?\d\d)?")
_WORDS: Final = {
    AlertSeverity.CRITICAL: "critical crit fatal emergency page disaster sev1 p1",
    AlertSeverity.ERROR: "error err major high sev2 p2",
    AlertSeverity.WARNING: "warning warn minor average medium sev3 p3",
    AlertSeverity.INFO: "info information none low debug ok sev4 p4 p5",
}
_SEVERITIES: Final = {word: severity for severity, words in _WORDS.items() for word in words.split()}


class UnreadableEvent(RoebotError):
    """A request that is not valid for its source; the message names the wrong field."""


@dataclass(frozen=True, slots=True)
class EventRequest:
    """A request of a source. Header names are in lower case."""

    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source.

    - `read` returns the events of a request; none if it is about something else. Raises UnreadableEvent.
    - `sample` creates a request about a problem that began at one time and, if given, ended at another (s).
    - `credentials` creates the kind's check of signatures from secrets, if it has one.
    - `has_ids`: its requests have ids. Otherwise, a request with known content may still be new, see `Alert`.
    - `interval`: seconds after which a source repeats an unchanged state; an alert is tentative that long.
    - `quiet_after`: seconds without a request after which the state is unknown (0: it reports every change).
    """

    name: str
    read: Callable[[EventRequest], Sequence[Event]]
    sample: Callable[[float, float | None], EventRequest]
    credentials: Callable[[Sequence[str]], Credential] | None = None
    has_ids: bool = True
    interval: float = 300.0
    quiet_after: float = 0.0


def line(value: object) -> str:
    """Return a value as one line of limited length."""
    return shorten(to_one_line(_clean(value)), MAX_LINE)


def identifier(value: object) -> str:
    """Return a value as a key of limited length; a longer one is cut and ends with its digest."""
    text = to_one_line(_clean(value))
    return text if len(text) <= MAX_LINE else f"{text[:200]} {digest_of(text)}"


def paragraphs(value: object) -> str:
    """Return a value as a text of limited length with its line breaks."""
    return shorten(_clean(value).strip(), MAX_TEXT)


def _clean(value: object) -> str:
    return _CONTROLS.sub("", "" if value is None else str(value))


def make_request(value: object, headers: Mapping[str, str] | None = None) -> EventRequest:
    """Create a sample request with a JSON body."""
    return EventRequest({"content-type": "application/json", **(headers or {})}, json.dumps(value).encode())


def format_time(seconds: float) -> str:
    """Format a time (s since the epoch) as in RFC 3339."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def read_time(value: str | None) -> int:
    """Return a time in nanoseconds since the epoch; 0 without one, or for one before 1970.

    Sources omit trailing zeros and use different offsets, so texts can't be compared. Raises ValueError.
    """
    if not value:
        return 0
    if not (found := _TIME.fullmatch(value.strip())):
        raise ValueError("expected a time such as 2026-01-31T09:30:00Z")
    moment = datetime.fromisoformat(f"{found[1].upper()}{(found[3] or 'Z').upper()}")
    if moment.year < 1970:
        return 0
    nanoseconds = int(moment.timestamp()) * 1_000_000_000 + int((found[2] or "0")[:9].ljust(9, "0"))
    return min(nanoseconds, MAX_INT)


Number = Annotated[int, Field(ge=0, le=MAX_INT)]
Instant = Annotated[
    Number, BeforeValidator(lambda value: read_time(value) if isinstance(value, str | None) else value)
]
Key = Annotated[str, BeforeValidator(identifier)]
Line = Annotated[str, BeforeValidator(line)]
Paragraphs = Annotated[str, BeforeValidator(paragraphs)]


def keep_labels(value: object) -> dict[str, str]:
    """Return a mapping as labels of limited number and length. Raises ValueError for other values."""
    if not isinstance(value, Mapping | None):
        raise ValueError("expected an object with names and values")
    items = sorted((value or {}).items())[:MAX_LABELS]
    return {line(name): line(text) for name, text in items}


Labels = Annotated[dict[str, str], BeforeValidator(keep_labels)]


class Payload(BaseModel):
    """A part of a request. Unknown fields are ignored, since new versions of sources add some."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


P = TypeVar("P", bound=Payload)


def read_json(body: bytes) -> Any:
    """Return the JSON value of a body. Raises UnreadableEvent."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise UnreadableEvent("The body is not JSON.") from None


def read_payload(model: type[P], value: Any) -> P:
    """Return a JSON value as a payload. Raises UnreadableEvent with the first wrong field."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"])) or "the body"
        raise UnreadableEvent(line(f"{field}: {first['msg']}.")) from None


def find_severity(*values: object) -> AlertSeverity | None:
    """Return the severity of the first known word, or None."""
    words = (str(value).strip().lower() for value in values if value is not None)
    return next((_SEVERITIES[word] for word in words if word in _SEVERITIES), None)


def present(labels: Mapping[str, str | None]) -> dict[str, str]:
    """Return the labels that have a value."""
    return {name: value for name, value in labels.items() if value}


def unix_seconds(value: str) -> int:
    """Convert a text with seconds since the epoch to nanoseconds; 0 if it is not such a number."""
    is_number = value.isascii() and value.isdigit() and len(value) < 12
    return min(int(value) * 1_000_000_000, MAX_INT) if is_number else 0


def keep_links(links: Iterable[tuple[str, object]]) -> tuple[AlertLink, ...]:
    """Return the links to web pages, without those of other schemes."""
    return tuple(AlertLink(label, url) for label, value in links if (url := web_url(value)))


def web_url(value: object) -> str:
    """Return a value if it is the URL of a web page and safe within a text, otherwise ""."""
    text = str(value or "").strip()
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    is_page = parts.scheme in ("http", "https") and bool(parts.netloc) and not _NOT_IN_URLS.search(text)
    return text if is_page and len(text) <= MAX_URL else ""


def digest_of(*parts: object) -> str:
    """Return a key for content that a source sends without an id."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def delivery_key(identity: str, kind: str, body: bytes) -> str:
    """Return the key of a request from the id that its source assigned ("": from its content)."""
    return identifier(identity or digest_of(kind, body.decode(errors="replace")))


def content_id(group: str, reports: Iterable[AlertReport], *more: object) -> str:
    """Return a key derived from an event's content: its group, and the states of its alerts."""
    return digest_of(group, sorted((one.key, one.status, one.start, one.end) for one in reports), *more)
