"""Requests to calendars: limits, credentials, and errors that give no address away."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.config.oncall import CalendarSource
from bot.features.oncall.calendars import load_calendar
from bot.features.oncall.fetching import MAX_BYTES, fetch
from bot.features.oncall.plan import ScheduleUnavailable
from tests.bot.features.oncall.test_calendars import calendar, event, moment, nobody, spans
from tests.unit.agent.tools.community.local_site import PUBLIC, Site, site


@pytest.fixture
async def here() -> AsyncIterator[Site]:
    async with site() as made:
        yield made


def address(here: Site, path: str = "/s3cret-path") -> str:
    return here.url(path, host=PUBLIC)


@pytest.mark.parametrize(
    ("credential", "header"),
    [
        ("", ""),
        ("t0ken", "authorization: Bearer t0ken"),
        ("ada:pa55word", "authorization: Basic YWRhOnBhNTV3b3Jk"),
    ],
)
async def test_a_calendar_at_an_address(here: Site, credential: str, header: str) -> None:
    here.page("/s3cret-path?key=1", calendar(event("Ada", "DTSTART:20260105T090000Z", "DURATION:PT1H")))
    config = CalendarSource.model_validate(
        {"url": address(here, "/s3cret-path?key=1"), "credential": credential or None}
    )
    found = await load_calendar(config, Path("unused"), "UTC", moment("2026-01-05 00:00"), nobody)
    assert spans(found, "UTC") == ["01-05 09:00-01-05 10:00 Ada"]
    (head,) = here.heads
    assert ("authorization" in head.lower()) == bool(credential)
    assert header.lower() in head.lower()


async def failure(url: str, seconds: float = 20.0) -> str:
    with pytest.raises(ScheduleUnavailable) as caught:
        await fetch(url, {}, seconds=seconds)
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(caught.value.__cause__)
    return str(caught.value)


async def test_an_error_names_the_host_only(here: Site) -> None:
    assert await failure(address(here)) == f"{PUBLIC} returned 404 Not Found"


async def test_redirects_are_not_followed(here: Site) -> None:
    here.leads("/s3cret-path", address(here, "/other"))
    here.page("/other", b"inside")
    assert "redirects to another address" in await failure(address(here))
    assert len(here.heads) == 1


async def test_a_response_has_limits(here: Site) -> None:
    here.page("/s3cret-path", b"x" * (MAX_BYTES + 1))
    assert f"more than {MAX_BYTES:,} bytes" in await failure(address(here))
    here.page("/s3cret-path", gzip.compress(b"x" * 10_000_000), "Content-Encoding: gzip")
    assert "compressed" in await failure(address(here))


async def test_a_silent_server_has_a_limit(here: Site) -> None:
    end = asyncio.Event()

    async def waits(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await end.wait()

    here.pages["/s3cret-path"] = waits
    assert await failure(address(here), 0.2) == f"{PUBLIC} did not respond within 0.2 s"
    end.set()


async def test_a_server_that_is_away(here: Site) -> None:
    assert await failure(f"http://{PUBLIC}:9/s3cret-path") == f"{PUBLIC} can't be reached (ConnectError)"


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/x.ics",
        "webcal://example.org/x.ics",
        "https:///x.ics",
        "https://ada:pa55word@example.org/x.ics",
        "/x.ics",
    ],
)
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="expected an address such as https"):
        CalendarSource.model_validate({"url": url})
