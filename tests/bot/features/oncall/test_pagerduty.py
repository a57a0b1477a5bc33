"""Schedules of PagerDuty, as its API describes them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from bot.config.oncall import PagerDutySchedule
from bot.features.oncall.pagerduty import load_pagerduty
from bot.features.oncall.plan import ScheduleUnavailable
from tests.bot.features.oncall.test_calendars import moment, spans
from tests.unit.agent.tools.community.local_site import PUBLIC, Site, site

NOW = moment("2026-01-05 12:00", "UTC")


@pytest.fixture
async def here() -> AsyncIterator[Site]:
    async with site() as made:
        yield made


def entry(name: str, start: str | None, end: str | None, level: int = 1) -> dict[str, Any]:
    """A member of `oncalls`, with its user included."""
    return {
        "user": {
            "id": f"P{name.upper()}",
            "type": "user",
            "summary": name,
            "name": name,
            "email": f"{name.lower()}@example.org",
        },
        "schedule": {"id": "PI7DH85", "type": "schedule_reference", "summary": "Primary"},
        "escalation_policy": {"id": "PT20YPA", "type": "escalation_policy_reference", "summary": "Policy"},
        "escalation_level": level,
        "start": start,
        "end": end,
    }


def answers(here: Site, *pages: list[dict[str, Any]]) -> None:
    """Answer each page by its offset."""
    for number, found in enumerate(pages):
        body = {"oncalls": found, "limit": 100, "offset": number * 100, "more": number + 1 < len(pages)}
        path = (
            "/oncalls?schedule_ids%5B%5D=PI7DH85&include%5B%5D=users&time_zone=UTC"
            "&since=2025-12-28T12%3A00%3A00%2B00%3A00&until=2026-03-06T12%3A00%3A00%2B00%3A00"
            f"&limit=100&offset={number * 100}"
        )
        here.page(path, json.dumps({**body, "total": None}))


def schedule(here: Site) -> PagerDutySchedule:
    return PagerDutySchedule.model_validate(
        {"schedule": "PI7DH85", "token": "t0ken", "url": here.url("", host=PUBLIC)}
    )


async def test_shifts_of_all_pages_and_policies(here: Site) -> None:
    first = [
        entry("Ada", "2026-01-05T09:00:00+01:00", "2026-01-12T09:00:00+01:00"),
        entry("Ada", "2026-01-05T09:00:00+01:00", "2026-01-12T09:00:00+01:00", level=2),
    ]
    answers(here, first, [entry("Bo", "2026-01-12T08:00:00Z", "2026-01-19T08:00:00Z")])
    found = await load_pagerduty(schedule(here), NOW)
    assert spans(found) == ["01-05 09:00-01-12 09:00 Ada", "01-12 09:00-01-19 09:00 Bo"]
    assert {one.email for period in found.periods for one in period.holders} == {
        "ada@example.org",
        "bo@example.org",
    }
    for head in here.heads:
        assert "authorization: Token token=t0ken\r\n" in head
        assert "accept: application/vnd.pagerduty+json;version=2\r\n" in head
    asked = [parse_qs(urlsplit(head.split()[1]).query)["offset"] for head in here.heads]
    assert asked == [["0"], ["100"]]


async def test_somebody_who_is_always_on_call(here: Site) -> None:
    answers(here, [entry("Ada", None, None)])
    found = await load_pagerduty(schedule(here), NOW)
    assert spans(found)[0].endswith(" Ada")
    assert len(found.periods) == 1


async def test_a_schedule_without_shifts_is_a_gap(here: Site) -> None:
    answers(here, [])
    assert spans(await load_pagerduty(schedule(here), NOW)) == []


@pytest.mark.parametrize(
    "body", ["", "[]", '{"error": {}}', '{"oncalls": [{"user": {}, "start": "2026-01-05T09:00:00"}]}']
)
async def test_an_unknown_format(here: Site, body: str) -> None:
    answers(here, [])
    (path,) = here.pages
    here.page(path, body)
    with pytest.raises(ScheduleUnavailable, match="unknown format"):
        await load_pagerduty(schedule(here), NOW)


async def test_a_wrong_token(here: Site) -> None:
    answers(here, [])
    (path,) = here.pages
    here.page(path, '{"error": {"message": "t0ken"}}', status="401 Unauthorized")
    with pytest.raises(ScheduleUnavailable) as caught:
        await load_pagerduty(schedule(here), NOW)
    assert str(caught.value) == f"{PUBLIC} returned 401 Unauthorized"


async def test_pages_without_end(here: Site) -> None:
    answers(here, *([] for _ in range(25)))
    with pytest.raises(ScheduleUnavailable, match="more than 2,000 shifts"):
        await load_pagerduty(schedule(here), NOW)
