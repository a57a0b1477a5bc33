"""The section `oncall`: on-call schedules, and the ids of people on chat platforms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from agent.config.types import Count, ManyIds, OneId, Secret, Section, Text, Timezone, Url
from agent.shared.client_address import is_loopback
from bot.config.access import AccessEntry, Entries
from bot.config.events import NAME


def _check_wall_time(value: str) -> str:
    try:
        is_local = datetime.fromisoformat(value).tzinfo is None
    except ValueError:
        is_local = False
    if not is_local:
        raise ValueError("expected a date and time such as 2026-01-05 09:00, without a time zone")
    return value


WallTime = Annotated[str, AfterValidator(_check_wall_time)]


class RotaOverride(Section):
    """A period in which another person is on call. If several overlap, the last one takes effect."""

    person: Text = Field(description="Name of the person.")
    start: WallTime = Field(description="Start, in local time.")
    end: WallTime = Field(description="End, in local time.")

    @model_validator(mode="after")
    def _has_length(self) -> RotaOverride:
        if datetime.fromisoformat(self.end) <= datetime.fromisoformat(self.start):
            raise ValueError("end: expected a time after the start")
        return self


class Rota(Section):
    """People who take turns."""

    people: Annotated[tuple[Text, ...], ManyIds] = Field(
        min_length=1, description="Names of the people, in the order of their shifts."
    )
    start: WallTime = Field(
        description="A handover to the first person, in local time. It sets the time of day, and for shifts "
        "of whole weeks the weekday, of all handovers."
    )
    days: Count = Field(7, le=366, description="Length of a shift in days.")
    hours: Count | None = Field(None, le=8_784, description="Length of a shift in hours, instead of `days`.")
    overrides: tuple[RotaOverride, ...] = Field((), description="Exceptions to the order.")


class CalendarSource(Section):
    """A calendar in the iCalendar format whose events are shifts, from `file` or `url`."""

    file: Text | None = Field(None, description="File in the data directory.")
    url: Secret | None = Field(None, description="https address; a secret, since it often contains one.")
    credential: Secret | None = Field(
        None, description="`name:password`, or a bearer token, for requests to `url`."
    )

    @model_validator(mode="after")
    def _has_one_place(self) -> CalendarSource:
        if (self.file is None) == (self.url is None):
            raise ValueError("expected either file or url")
        parts = urlsplit(self.url.get_secret_value() if self.url else "https://file")
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
        if not is_safe or not parts.hostname or parts.username is not None:
            raise ValueError("url: expected an address such as https://host/path, without a user name")
        return self


class PagerDutySchedule(Section):
    """A schedule of PagerDuty that an escalation policy uses."""

    schedule: OneId = Field(description="Id of the schedule from its address, such as PI7DH85.")
    token: Secret = Field(description="API key; a read-only key is sufficient.")
    url: Url = Field("https://api.pagerduty.com", description="Address of the API.")


GROUPS: Final = ("usergroup", "department")
"""Kinds of groups whose members can be on call."""


class OnCallSchedule(Section):
    """A schedule from one provider."""

    timezone: Timezone | None = Field(
        None, description="Time zone of local times, as an IANA name; null: `schedules.timezone`."
    )
    rota: Rota | None = Field(None, description="People who take turns.")
    ical: CalendarSource | None = Field(None, description="Calendar in the iCalendar format.")
    pagerduty: PagerDutySchedule | None = Field(None, description="Schedule of PagerDuty.")
    members: AccessEntry | None = Field(
        None,
        description="Group whose members are on call, as platform:usergroup:id or platform:department:id.",
    )

    @model_validator(mode="after")
    def _has_one_provider(self) -> OnCallSchedule:
        if [self.rota, self.ical, self.pagerduty, self.members].count(None) != 3:
            raise ValueError("expected exactly one of rota, ical, pagerduty and members")
        if self.members and self.members.kind not in GROUPS:
            raise ValueError("members: expected platform:usergroup:id or platform:department:id")
        return self


class OnCallConfig(Section):
    """On-call schedules and people."""

    schedules: Mapping[Text, OnCallSchedule] = Field(default_factory=dict, description="Schedules by name.")
    people: Mapping[Text, Entries] = Field(
        default_factory=dict,
        description="Ids of people, as platform:id or account:id, by the names or e-mail addresses in the "
        "schedules.",
    )
    refresh_minutes: Count = Field(15, description="Minutes between refreshes of a schedule.")

    @model_validator(mode="after")
    def _has_valid_names(self) -> OnCallConfig:
        for name in self.schedules:
            if not NAME.fullmatch(name):
                raise ValueError(f"schedules.{name}: expected lowercase letters, digits, - and _")
        for name, entries in self.people.items():
            if any(entry.kind for entry in entries):
                raise ValueError(f"people.{name}: expected ids of people, such as platform:id")
        return self

    def list_entries(self) -> Iterator[tuple[tuple[str | int, ...], AccessEntry]]:
        """Yield the ids of people and groups, each with its path in the section."""
        for name, ids in self.people.items():
            yield from ((("people", name, index), entry) for index, entry in enumerate(ids))
        for name, schedule in self.schedules.items():
            if schedule.members:
                yield ("schedules", name, "members"), schedule.members

    def find_person(self, name: str, email: str = "", entry: AccessEntry | None = None) -> str:
        """Return the key in `people` of an id, an e-mail address or a name, or "" if there is none."""
        by_id = next((key for key, ids in self.people.items() if entry in ids), "")
        keys = {_fold(key): key for key in self.people}
        return by_id or keys.get(_fold(email)) or keys.get(_fold(name)) or ""


def _fold(name: str) -> str:
    return " ".join(name.casefold().split())
