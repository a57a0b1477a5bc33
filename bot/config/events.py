"""The section `events`: sources that report problems, and the chats in which these become incidents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from agent.config.types import Count, ManyIds, Secret, Section, Switch, Text

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
Kind = Literal[
    "alertmanager",
    "grafana",
    "pagerduty",
    "github",
    "sentry",
    "datadog",
    "opsgenie",
    "cloudevents",
    "generic",
]
Scheme = Literal["signature", "bearer", "basic", "header", "hmac-sha256", "standard-webhooks"]
SIGNED: tuple[Kind, ...] = ("grafana", "pagerduty", "github", "sentry")
"""Types whose senders sign requests in a way of their own."""
MAPPED: tuple[Kind, ...] = ("cloudevents", "generic")
Words = Annotated[tuple[Text, ...], ManyIds]


class EventFields(Section):
    """Paths to the values of an alert in JSON, such as `data.alert.id` or `items.0.name`."""

    id: Text | None = Field(None, description="Identifies a delivery, so that a repeated one is recognized.")
    group: Text | None = Field(None, description="Identifies the problem; the events of one have the same.")
    title: Text = Field("title", description="A line about the problem.")
    text: Text = Field("text", description="Details.")
    status: Text = Field("status", description="State of the problem.")
    severity: Text = Field("severity", description="Severity.")
    time: Text | None = Field(None, description="Time of the event: RFC 3339, or seconds since the epoch.")
    link: Text | None = Field(None, description="Page about the problem.")
    runbook: Text | None = Field(None, description="Page that says what to do.")
    labels: Mapping[Text, Text] = Field(default_factory=dict, description="Paths by the names of labels.")
    resolved: Words = Field(
        ("resolved", "ok", "closed", "recovered", "success", "up", "normal", "done"),
        description="Values of `status` that end the problem, in lower case.",
    )
    acknowledged: Words = Field(
        ("acknowledged", "acked", "ack"),
        description="Values of `status` that say that somebody takes care of it, in lower case.",
    )


class EventSource(Section):
    """A system that sends events to `POST /events/NAME`."""

    type: Kind = Field(description="Kind of system.")
    secrets: Annotated[tuple[Secret, ...], ManyIds] = Field(
        (), description="Secrets that a request may prove; several while a secret is replaced."
    )
    auth: Scheme | None = Field(
        None,
        description="How a request proves a secret; null: the type's signature if it has one, else bearer.",
    )
    header: Text | None = Field(None, description="Header of the secret (header) or signature (hmac-sha256).")
    prefix: str = Field("", description="Text before the secret or signature in the header.")
    encoding: Literal["hex", "base64"] = Field("hex", description="Encoding of the signature (hmac-sha256).")
    signed: Text = Field(
        "{body}", description="What is signed (hmac-sha256), such as `{time}.{body}` or `{id}.{time}.{body}`."
    )
    time_header: Text | None = Field(None, description="Header with the signed time in s (hmac-sha256).")
    id_header: Text | None = Field(None, description="Header with the signed id (hmac-sha256).")
    family: Literal["webhook", "svix"] = Field(
        "webhook", description="Start of the names of the headers (standard-webhooks)."
    )
    mapping: EventFields = Field(
        default_factory=EventFields, description="Where the values are (cloudevents, generic)."
    )
    interval_minutes: Count | None = Field(
        None, description="Minutes after which the source repeats a group; null: as usual for the type."
    )

    @property
    def scheme(self) -> Scheme:
        """Return how a request proves a secret."""
        return self.auth or ("signature" if self.type in SIGNED else "bearer")

    @model_validator(mode="after")
    def _is_consistent(self) -> EventSource:
        if self.auth == "signature" and self.type not in SIGNED:
            raise ValueError(f"auth: {self.type} does not sign requests; use bearer, basic or header")
        if self.auth in ("hmac-sha256", "standard-webhooks") and self.type not in MAPPED:
            raise ValueError(f"auth: {self.auth} is for the types generic and cloudevents")
        if self.auth in ("header", "hmac-sha256") and not self.header:
            raise ValueError(f"header: {self.auth} needs the name of the header")
        keys = [one.get_secret_value().removeprefix("whsec_") for one in self.secrets]
        if self.auth == "standard-webhooks" and not all(_BASE64.fullmatch(key) for key in keys):
            raise ValueError("secrets: expected base64, as a rule after whsec_; copy the value again")
        if "{body}" not in self.signed:
            raise ValueError("signed: expected text with {body}")
        return self


class EventWork(Section):
    """Work of the agent on incidents, with the rights of a member."""

    task: Text = Field(
        "Find out what is wrong and how serious it is. Say what to do next.",
        description="What the agent is asked to do.",
    )
    per_hour: Count = Field(6, description="Maximum number of times per hour that work starts in a chat.")


class EventRoute(Section):
    """The chat for the events of a source that match, and what happens there."""

    source: Annotated[tuple[Text, ...], ManyIds] = Field((), description="Names of sources; empty: all.")
    match: Mapping[Text, Words] = Field(
        default_factory=dict,
        description="Values by the names of labels, with * for any text. Each label has to match a value.",
    )
    account: Text = Field(description="Account in whose chat incidents are opened.")
    chat: Text = Field(description="Id of the chat on its platform.")
    private: Switch = Field(False, description="The chat is a private one.")
    topic: Text | None = Field(None, description="Topic of the chat, on platforms that have topics.")
    group: Literal["group", "alert"] = Field(
        "group", description="An incident for each group of the source, or for each alert."
    )
    work: EventWork | None = Field(None, description="Work of the agent; null: people ask for it.")

    def takes(self, source: str) -> bool:
        """Return whether the events of a source can take this route."""
        return not self.source or source in self.source

    def matches(self, source: str, labels: Mapping[str, str]) -> bool:
        """Return whether an event of a source with these labels takes this route."""
        return self.takes(source) and all(
            any(fnmatchcase(labels.get(name, ""), pattern) for pattern in patterns)
            for name, patterns in self.match.items()
        )


def event_app(source: str) -> str:
    """Return the id of the app as which a source starts work; no platform has such an id."""
    return f"events-{source}"


class EventsConfig(Section):
    """Events of other systems."""

    sources: Mapping[Text, EventSource] = Field(
        default_factory=dict, description="Sources by the name in their address, `/events/NAME`."
    )
    routes: tuple[EventRoute, ...] = Field((), description="Routes; the first one that matches decides.")
    kept_days: Count = Field(7, ge=3, le=365, description="Days for which deliveries are stored.")

    def has_route(self, source: str) -> bool:
        """Return whether there is a route for a source."""
        return any(route.takes(source) for route in self.routes)

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
                raise ValueError(f"routes: there is no source {min(unknown)}")
        return self
