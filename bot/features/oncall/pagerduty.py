"""Schedules of PagerDuty, by `GET /oncalls` of its REST API v2.

It lists the shifts of schedules that an escalation policy uses, once for each policy and level, at most 90
days ahead: https://github.com/PagerDuty/api-schema, `reference/REST/openapiv3.json`.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlencode

from pydantic import AwareDatetime, BaseModel, ValidationError

from bot.config.oncall import PagerDutySchedule
from bot.features.oncall.fetching import fetch
from bot.features.oncall.plan import AHEAD, PAST, Holder, Plan, ScheduleUnavailable, Shift, make_plan

PAGE: Final = 100
MAX_PAGES: Final = 20


class _User(BaseModel):
    summary: str = ""
    email: str = ""


class _Entry(BaseModel):
    user: _User
    start: AwareDatetime | None = None
    end: AwareDatetime | None = None

    def to_shift(self) -> Shift:
        """Return the shift. Somebody who is always on call has neither start nor end."""
        start = self.start.timestamp() if self.start else -math.inf
        end = self.end.timestamp() if self.end else math.inf
        return Shift((Holder(self.user.summary, self.user.email),), start, end)


class _Page(BaseModel):
    oncalls: list[_Entry]
    more: bool = False


async def load_pagerduty(config: PagerDutySchedule, now: float) -> Plan:
    """Read a schedule. Raises ScheduleUnavailable."""
    since, until = now - PAST, now + AHEAD
    shifts: list[Shift] = []
    for number in range(MAX_PAGES):
        page = await _load_page(config, since, until, number * PAGE)
        shifts += [one.to_shift() for one in page.oncalls]
        if not page.more:
            return make_plan(shifts, since, until)
    raise ScheduleUnavailable(f"PagerDuty returned more than {MAX_PAGES * PAGE:,} shifts")


async def _load_page(config: PagerDutySchedule, since: float, until: float, offset: int) -> _Page:
    query = {
        "schedule_ids[]": config.schedule,
        "include[]": "users",
        "time_zone": "UTC",
        "since": datetime.fromtimestamp(int(since), UTC).isoformat(),
        "until": datetime.fromtimestamp(int(until), UTC).isoformat(),
        "limit": PAGE,
        "offset": offset,
    }
    headers = {
        "accept": "application/vnd.pagerduty+json;version=2",
        "content-type": "application/json",
        "authorization": f"Token token={config.token.get_secret_value()}",
    }
    body = await fetch(f"{config.url}/oncalls?{urlencode(query)}", headers)
    try:
        return _Page.model_validate_json(body)
    except ValidationError:
        raise ScheduleUnavailable("the response of PagerDuty has an unknown format") from None
