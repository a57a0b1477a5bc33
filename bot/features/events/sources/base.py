"""What all kinds of sources share: how to read a request, and the limits of what is taken from it."""

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

from bot.errors import RoebotError
from bot.features.events.alerts import AlertLink, AlertReport, AlertSeverity, Event
from bot.features.events.credentials import Credential

MAX_LINE: Final = 300
MAX_TEXT: Final = 4_000
MAX_LABELS: Final = 60
"""Characters of a title or a label's value, characters of a text, and labels that are kept of an alert."""
MAX_REPORTS: Final = 1_000
"""Alerts that are read from one event; further ones count as left out."""
MAX_URL: Final = 2_000
MAX_INT: Final = (1 << 63) - 1
"""Largest number that databases and orjson can store; as nanoseconds, it is in the year 2262."""
_BREAKS: Final = re.compile(r"\s+")
# Control characters and halves of surrogate pairs, which JSON can hold and databases can't.
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_NOT_IN_URLS: Final = re.compile(r"[\s<>\"`\\\x00-\x1f\x7f\ud800-\udfff]")
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|z|[+-]\d\d:?\d\d)?")
_SEVERITIES: Final = {
    **dict.fromkeys(
        ("critical", "crit", "fatal", "emergency", "page", "disaster", "sev1", "p1"), AlertSeverity.CRITICAL
    ),
    **dict.fromkeys(("error", "err", "major", "high", "sev2", "p2"), AlertSeverity.ERROR),
    **dict.fromkeys(("warning", "warn", "minor", "average", "medium", "sev3", "p3"), AlertSeverity.WARNING),
    **dict.fromkeys(
        ("info", "information", "none", "low", "debug", "ok", "sev4", "p4", "p5"), AlertSeverity.INFO
    ),
}


class UnreadableEvent(RoebotError):
    """A request that is not one of its source; the message says which field is wrong."""


@dataclass(frozen=True, slots=True)
class EventRequest:
    """A request of a source. Header names are in lower case."""

    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source.

    - `read` returns the events of a request, none if it tells nothing. Raises UnreadableEvent.
    - `sample` makes a request about a problem that began at a time (s), or that ended now if it is given.
    - `credentials` makes its own check from secrets, if it has one.
    - `has_ids`: its requests have ids. Otherwise a request with known content may be news, see `Alert`.
    - `interval`: seconds after which a source repeats what still holds; a tentative alert waits that long.
    - `quiet_after`: seconds without a word after which nothing is known any more (0: it tells every change).
    """

    name: str
    read: Callable[[EventRequest], Sequence[Event]]
    sample: Callable[[float, float | None], EventRequest]
    credentials: Callable[[Sequence[str]], Credential] | None = None
    has_ids: bool = True
    interval: float = 300.0
    quiet_after: float = 0.0


def line(value: object) -> str:
    """Return a value as one bounded line."""
    return shorten(_BREAKS.sub(" ", _CONTROLS.sub("", "" if value is None else str(value))).strip(), MAX_LINE)


def identifier(value: object) -> str:
    """Return a value as a bounded key; a longer one ends with its digest."""
    text = _BREAKS.sub(" ", _CONTROLS.sub("", "" if value is None else str(value))).strip()
    return text if len(text) <= MAX_LINE else f"{text[:200]} {digest_of(text)}"


def paragraphs(value: object) -> str:
    """Return a value as a bounded text with its line breaks."""
    return shorten(_CONTROLS.sub("", "" if value is None else str(value)).strip(), MAX_TEXT)


def make_request(value: object, headers: Mapping[str, str] | None = None) -> EventRequest:
    """Make a request with a JSON body, for samples."""
    return EventRequest({"content-type": "application/json", **(headers or {})}, json.dumps(value).encode())


def format_time(seconds: float) -> str:
    """Return an instant as RFC 3339 writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def shorten(text: str, most: int) -> str:
    """Return a text with at most this many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def read_time(value: str | None) -> int:
    """Return an instant in nanoseconds since the epoch; 0 if there is none, or it is that of year 1.

    Sources drop trailing zeros and use different offsets, so texts can't be compared. Raises ValueError.
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
    """Return a mapping as bounded labels. Raises ValueError if it is none."""
    if not isinstance(value, Mapping | None):
        raise ValueError("expected an object with names and values")
    items = sorted((value or {}).items())[:MAX_LABELS]
    return {line(name): line(text) for name, text in items}


Labels = Annotated[dict[str, str], BeforeValidator(keep_labels)]


class Payload(BaseModel):
    """A part of a request. Unknown fields are ignored, since sources add some with each version."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


P = TypeVar("P", bound=Payload)


def read_json(body: bytes) -> Any:
    """Return the JSON value of a body. Raises UnreadableEvent."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise UnreadableEvent("The body is not JSON.") from None


def read_payload(model: type[P], value: Any) -> P:
    """Return a JSON value as a payload. Raises UnreadableEvent, which names the first wrong field."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"])) or "the body"
        raise UnreadableEvent(line(f"{field}: {first['msg']}.")) from None


def find_severity(*values: object) -> AlertSeverity | None:
    """Return the severity that the first known one of these words means, or None."""
    words = (str(value).strip().lower() for value in values if value is not None)
    return next((_SEVERITIES[word] for word in words if word in _SEVERITIES), None)


def present(labels: Mapping[str, str | None]) -> dict[str, str]:
    """Return the labels that have a value."""
    return {name: value for name, value in labels.items() if value}


def unix_seconds(value: str) -> int:
    """Return seconds since the epoch as nanoseconds; 0 if the text is no such number."""
    is_number = value.isascii() and value.isdigit() and len(value) < 12
    return min(int(value) * 1_000_000_000, MAX_INT) if is_number else 0


def keep_links(links: Iterable[tuple[str, object]]) -> tuple[AlertLink, ...]:
    """Return links of web pages, without those of other schemes."""
    return tuple(AlertLink(label, url) for label, value in links if (url := web_url(value)))


def web_url(value: object) -> str:
    """Return a value if it is a URL of a web page that is safe within a text, otherwise ""."""
    text = str(value or "").strip()
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    is_page = parts.scheme in ("http", "https") and bool(parts.netloc) and not _NOT_IN_URLS.search(text)
    return text if is_page and len(text) <= MAX_URL else ""


def digest_of(*parts: object) -> str:
    """Return a key for what a source sends without an id of its own."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def content_id(group: str, reports: Iterable[AlertReport], *more: object) -> str:
    """Return the key of an event by its content: the same states of the same alerts in the same group."""
    return digest_of(group, sorted((one.key, one.status, one.start, one.end) for one in reports), *more)
