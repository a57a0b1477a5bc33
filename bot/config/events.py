"""The section `events`: sources that report problems, and the chats where these become incidents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Final, Literal, get_args
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, field_validator, model_validator

from agent.config.types import Count, ManyIds, OneId, Secret, Section, Switch, Text, Timezone, Url

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_Signing = Literal["grafana", "pagerduty", "github", "sentry"]
ISSUING: Final = ("pagerduty", "sentry")
"""Types whose system generates the secret."""
Kind = Literal["alertmanager", _Signing, "datadog", "opsgenie", "cloudevents", "generic"]
Scheme = Literal["signature", "bearer", "basic", "header", "hmac-sha256", "standard-webhooks"]
SIGNED: tuple[Kind, ...] = get_args(_Signing)
"""Types whose senders sign requests in a format specific to the type."""
SILENCING: tuple[Kind, ...] = ("alertmanager", "grafana")
WITH_API: tuple[Kind, ...] = (*SILENCING, "github", "sentry")
"""Types whose API can silence alerts, or list what the system sent."""
MAPPED: tuple[Kind, ...] = ("cloudevents", "generic")
SeverityName = Literal["info", "warning", "error", "critical"]
SEVERITY_LABELS = ("severity", "priority", "level", "urgency")


def _clock_time(value: object) -> object:
    # YAML reads an unquoted 22:00 as a number of minutes.
    return f"{value // 60:02}:{value % 60:02}" if type(value) is int and 0 <= value < 24 * 60 else value


ClockTime = Annotated[str, BeforeValidator(_clock_time), Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]
Words = Annotated[tuple[Text, ...], ManyIds]


class EventFields(Section):
    """Paths to the values of an alert in JSON, such as `data.alert.id` or `items.0.name`."""

    id: Text | None = Field(None, description="Id of the event, used to recognize repetitions.")
    group: Text | None = Field(None, description="Id of the problem, which all events about it share.")
    title: Text = Field("title", description="One-line summary of the problem.")
    text: Text = Field("text", description="Details.")
    status: Text = Field("status", description="State of the problem.")
    severity: Text = Field("severity", description="Severity.")
    time: Text | None = Field(
        None, description="Time of the event: RFC 3339, or seconds since the epoch; null: time of arrival."
    )
    link: Text | None = Field(None, description="Page about the problem.")
    runbook: Text | None = Field(None, description="Page with instructions for the problem.")
    labels: Mapping[Text, Text] = Field(default_factory=dict, description="Paths by label name.")
    resolved: Words = Field(
        ("resolved", "ok", "closed", "recovered", "success", "up", "normal", "done"),
        description="Values of `status` that end the problem, in lower case.",
    )
    acknowledged: Words = Field(
        ("acknowledged", "acked", "ack"),
        description="Values of `status` that mean that somebody is working on the problem, in lower case.",
    )


class EventSource(Section):
    """A system that sends events to `POST /events/NAME`."""

    type: Kind = Field(description="Type of the system.")
    secrets: Annotated[tuple[Secret, ...], ManyIds] = Field(
        (), description="Accepted secrets; several while one is being replaced."
    )
    auth: Scheme | None = Field(
        None,
        description="How requests authenticate; null: the type's signature if it has one, otherwise bearer.",
    )
    header: Text | None = Field(
        None, description="Header with the secret (header) or signature (hmac-sha256)."
    )
    prefix: str = Field("", description="Text before the secret or signature in the header.")
    encoding: Literal["hex", "base64"] = Field("hex", description="Encoding of the signature (hmac-sha256).")
    signed: Text = Field(
        "{body}", description="Signed content (hmac-sha256), such as `{time}.{body}` or `{id}.{time}.{body}`."
    )
    time_header: Text | None = Field(
        None, description="Header with the signed time, in seconds (hmac-sha256)."
    )
    id_header: Text | None = Field(None, description="Header with the signed id (hmac-sha256).")
    family: Literal["webhook", "svix"] = Field(
        "webhook", description="Prefix of the header names (standard-webhooks)."
    )
    mapping: EventFields = Field(
        default_factory=EventFields, description="Paths to the values of an alert (cloudevents, generic)."
    )
    api_url: Url | None = Field(
        None,
        description="API of the system: its base URL (alertmanager, grafana), or the URL of a webhook"
        " (github) or an organization (sentry).",
    )
    api_token: Secret | None = Field(None, description="Token for the API.")
    interval_minutes: Count | None = Field(
        None, description="Minutes until the source repeats an unchanged state; null: default of the type."
    )

    @property
    def scheme(self) -> Scheme:
        """Return how requests authenticate."""
        return self.auth or ("signature" if self.type in SIGNED else "bearer")

    @model_validator(mode="after")
    def _is_consistent(self) -> EventSource:
        if self.auth == "signature" and self.type not in SIGNED:
            raise ValueError(f"auth: {self.type} does not sign requests; use bearer, basic or header")
        if self.auth in ("hmac-sha256", "standard-webhooks") and self.type not in MAPPED:
            raise ValueError(f"auth: {self.auth} requires the type generic or cloudevents")
        if self.auth in ("header", "hmac-sha256") and not self.header:
            raise ValueError(f"header: {self.auth} requires the name of a header")
        if self.api_url and self.type not in WITH_API:
            raise ValueError(f"api_url: the API of {self.type} is not used")
        keys = [one.get_secret_value().removeprefix("whsec_") for one in self.secrets]
        if self.auth == "standard-webhooks" and not all(_BASE64.fullmatch(key) for key in keys):
            raise ValueError("secrets: expected base64, usually after whsec_; copy the value again")
        if "{body}" not in self.signed:
            raise ValueError("signed: expected a text that contains {body}")
        return self


class EventWork(Section):
    """Automatic work of the agent on incidents, with the permissions of a member."""

    task: Text = Field(
        "Find out what is wrong and how serious it is. Say what to do next.",
        description="Task for the agent.",
    )
    agent: OneId | None = Field(
        None, description="Custom agent that works on the incidents; null: the one that answers in the chat."
    )
    per_hour: Count = Field(6, description="Maximum number of starts per hour in a chat.")


class QuietHours(Section):
    """Hours of each day during which cards of less severe incidents are not posted."""

    start: ClockTime = Field(description="Start, as HH:MM.")
    end: ClockTime = Field(description="End, as HH:MM; before `start`: on the next day.")
    timezone: Timezone | None = Field(None, description="IANA name; null: `schedules.timezone`.")
    severity: SeverityName = Field(
        "critical", description="Lowest severity of incidents whose card is posted anyway."
    )

    def end_after(self, now: float, zone: str) -> float:
        """Return when the quiet hours at `now` end (s; 0.0: it is outside them). `zone` is the default."""
        here = ZoneInfo(self.timezone or zone)
        local = datetime.fromtimestamp(now, here)
        start, end = time.fromisoformat(self.start), time.fromisoformat(self.end)
        clock = local.time()
        is_quiet = start <= clock < end if start <= end else clock >= start or clock < end
        if not is_quiet:
            return 0.0
        day = local.date() + timedelta(days=int(clock >= end))
        return datetime.combine(day, end, here).timestamp()


class EventRoute(Section):
    """The chat in which matching events open incidents, and how these are handled."""

    source: Annotated[tuple[Text, ...], ManyIds] = Field((), description="Names of sources; empty: all.")
    match: Mapping[Text, Words] = Field(
        default_factory=dict,
        description="Values by label name, with * for any text. Each label must match one of its values.",
    )
    account: Text = Field(description="Account that posts the incidents.")
    chat: Text = Field(description="Platform id of the chat.")
    private: Switch = Field(False, description="Set if the chat is private.")
    topic: Text | None = Field(None, description="Topic in the chat, on platforms with topics.")
    group: Literal["group", "alert"] = Field(
        "group", description="Scope of an incident: a group of alerts from the source, or a single alert."
    )
    severity: Mapping[Text, SeverityName] = Field(
        default_factory=dict,
        description="Severities by the value of the label severity, priority, level or urgency.",
    )
    quiet: QuietHours | None = Field(None, description="Quiet hours; null: none.")
    work: EventWork | None = Field(
        None, description="Automatic work of the agent; null: it works only on request."
    )
    oncall: Text | None = Field(None, description="Schedule in `oncall` whose person the card mentions.")

    def find_severity(self, labels: Mapping[str, str]) -> SeverityName | None:
        """Return the severity that the route assigns to an alert with these labels, or None."""
        words = (labels.get(name, "") for name in SEVERITY_LABELS)
        return next((self.severity[word] for word in words if word in self.severity), None)

    def takes(self, source: str) -> bool:
        """Return whether the route is open to events of a source."""
        return not self.source or source in self.source

    def matches(self, source: str, labels: Mapping[str, str]) -> bool:
        """Return whether an event of a source with these labels takes this route."""
        return self.takes(source) and all(
            any(fnmatchcase(labels.get(name, ""), pattern) for pattern in patterns)
            for name, patterns in self.match.items()
        )


def event_app(source: str) -> str:
    """Return the app id as which a source starts work. It can't collide with the ids of a platform."""
    return f"events-{source}"


class EventsConfig(Section):
    """Events from other systems."""

    sources: Mapping[Text, EventSource] = Field(
        default_factory=dict, description="Sources by the name in their address, `/events/NAME`."
    )
    routes: tuple[EventRoute, ...] = Field(
        (), description="Routes; an event takes the first one that matches."
    )
    storm_limit: Count = Field(
        20, description="Maximum number of incidents with their own card in a chat within five minutes."
    )
    kept_days: Count = Field(7, ge=3, le=365, description="Days for which received events are stored.")

    def routes_of(self, source: str) -> Sequence[EventRoute]:
        """Return the routes that are open to events of a source."""
        return [route for route in self.routes if route.takes(source)]

    @field_validator("sources")
    @classmethod
    def _are_names(cls, sources: Mapping[str, EventSource]) -> Mapping[str, EventSource]:
        for name in sources:
            if not NAME.fullmatch(name):
                raise ValueError(f"{name}: expected lowercase letters, digits, - and _")
        return sources

    @model_validator(mode="after")
    def _know_their_sources(self) -> EventsConfig:
        for route in self.routes:
            if unknown := set(route.source) - set(self.sources):
                raise ValueError(f"routes: unknown source {min(unknown)}")
        return self
