"""The check of on-call schedules by `roebot doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.config import Config
from bot.features.oncall.checks import check_home, check_schedule
from tests.bot.features.oncall.test_calendars import event, moment
from tests.bot.features.oncall.test_on_call import NOW, config, rota, shift, write

pytestmark = pytest.mark.may_block


def check(home: Path, people: dict[str, Any], schedule: dict[str, Any]) -> list[tuple[bool | None, str]]:
    oncall = config(people, team=schedule)
    whole = Config().model_copy(update={"oncall": oncall})
    return [
        (one.good, one.text.removeprefix("on call: "))
        for one in check_schedule(whole, "team", oncall.schedules["team"], home, NOW)
    ]


def test_a_schedule_that_can_be_used(tmp_path: Path) -> None:
    ids = {"Ada": "telegram:1", "Bo": "telegram:2"}
    assert check(tmp_path, ids, rota("Ada", "Bo")) == [
        (True, "team is readable, and all its people have ids")
    ]


def test_people_without_an_id(tmp_path: Path) -> None:
    assert check(tmp_path, {"Ada": "telegram:1"}, rota("Ada", "Bo", "Cy")) == [
        (None, "team: add to oncall.people: Bo, Cy")
    ]


def test_a_provider_that_fails(tmp_path: Path) -> None:
    ical = {"ical": {"file": "team.ics"}}
    assert check(tmp_path, {}, ical) == [(False, "team: team.ics is not a file in the data directory")]
    write(tmp_path, event("Di", "DTSTART:20260105T080000Z", "RRULE:FREQ=SECONDLY"))
    assert check(tmp_path, {}, ical) == [
        (False, "team: Di: repetitions like FREQ=SECONDLY are not supported"),
        (False, "team has nobody on call now; admins are mentioned instead"),
    ]


def test_gaps(tmp_path: Path) -> None:
    days = [f"202601{day:02}" for day in (5, 7, 9)]
    write(tmp_path, *(shift("Ada", f"{day}T000000Z", f"{day}T230000Z") for day in days))
    assert check(tmp_path, {"Ada": "telegram:1"}, {"ical": {"file": "team.ics"}}) == [
        (None, "team has a gap from 2026-01-05 23:00 to 2026-01-07 00:00 UTC; gaps in all: 2"),
        (True, "team is readable, and all its people have ids"),
    ]
    assert moment("2026-01-05 12:00", "UTC") == NOW


def test_the_configuration_of_a_data_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ROEBOT_CONFIG", raising=False)
    assert [*check_home(tmp_path)] == []
    (tmp_path / "config.yaml").write_text(
        "oncall: {schedules: {team: {rota: {people: Ada, start: 2026-01-05 09:00}}}}"
    )
    (found,) = check_home(tmp_path)
    assert found.text == "on call: team: add to oncall.people: Ada"
    (tmp_path / "config.yaml").write_text("oncall: {schedules: {team: {}}}")
    assert [*check_home(tmp_path)] == []
