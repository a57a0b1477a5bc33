"""Implementation of `roebot events`, and the check of event sources."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path

import httpx

from agent.config.errors import ConfigErrors
from bot.app.home import RunningService, find_service
from bot.cli.common import bearer_headers, configuration, error_detail, home_folder, no_service, service_token
from bot.cli.doctor import Finding
from bot.config.events import EventsConfig
from bot.errors import StartError
from bot.features.events.receiver import make_source

SECONDS = 10.0
TEST_LASTS = 600.0
"""Seconds for which test events share a start time, so that `--resolve` ends the same incident."""


def list_command(home: Path | None, file: Path | None) -> int:
    """Print the sources of the running service and return the exit code. Raises ConfigErrors, StartError."""
    folder = home_folder(home)
    service = _find_service(folder)
    headers = bearer_headers(service_token(file, folder))
    answer = _call("GET", f"{service.url}/api/events/sources", headers=headers)
    if answer.status_code != HTTPStatus.OK:
        print(f"roebot events: {error_detail(answer)}", file=sys.stderr)
        return 1
    sources = answer.json()["sources"]
    for one in sources:
        last = (
            f"last {_format_age(time.time() - one['last'])}" if one["last"] else "no events in the last day"
        )
        route = "" if one["has_route"] else ", no route"
        print(f"{one['name']}  {one['type']}  {service.url}{one['path']}  {last}{route}")
    if not sources:
        print("No event sources. Add one under events.sources in config.yaml.")
    return 0


def try_command(name: str, home: Path | None, file: Path | None, *, resolve: bool) -> int:
    """Send a test event to the running service and return the exit code.

    Raises ConfigErrors and StartError.
    """
    folder = home_folder(home)
    service = _find_service(folder)
    running = Path(service.config) if service.config else None
    config = configuration(file or running, folder).config.events
    if name not in config.sources:
        known = ", ".join(config.sources) or "none"
        raise StartError(f"the configuration has no event source {name}; known: {known}")
    source = make_source(name, config.sources[name])
    now = time.time()
    sample = source.kind.sample(now - now % TEST_LASTS, now if resolve else None)
    proof = source.credential.prove(sample.body, now) if source.credential else {}
    answer = _call(
        "POST",
        f"{service.url}/events/{name}",
        headers={**sample.headers, **proof},
        content=sample.body,
    )
    if answer.status_code != HTTPStatus.ACCEPTED:
        print(f"roebot events: {answer.status_code} {_detail(answer)}", file=sys.stderr)
        return 1
    missing = "but no route takes its events; add one under events.routes"
    where = "check the chat of its route" if config.has_route(name) else missing
    print(f"The service accepted the test event of {name}; {where}.")
    return 0


def check_home(folder: Path) -> Iterator[Finding]:
    """Check the routes in the configuration of a data directory, if it can be loaded."""
    try:
        events = configuration(None, folder).config.events
    except ConfigErrors:
        return
    yield from check_routes(events)


def check_routes(events: EventsConfig) -> Iterator[Finding]:
    """Report the sources whose events no route takes."""
    for name in events.sources:
        if events.has_route(name):
            yield Finding(True, f"events: {name} has a route")
        else:
            yield Finding(None, f"events: no route takes events of {name}; add one under events.routes")


def _find_service(home: Path) -> RunningService:
    service = find_service(home)
    if service is None:
        raise no_service(home)
    return service


def _call(method: str, url: str, headers: Mapping[str, str], content: bytes | None = None) -> httpx.Response:
    try:
        with httpx.Client(trust_env=False, timeout=SECONDS) as client:
            return client.request(method, url, headers=headers, content=content)
    except httpx.HTTPError as error:
        raise StartError(f"the service does not respond: {error}") from error


def _detail(answer: httpx.Response) -> str:
    """Return why an event was refused."""
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return answer.reason_phrase


def _format_age(seconds: float) -> str:
    if seconds < 120:
        return f"{max(0.0, seconds):.0f} s ago"
    return f"{seconds / 60:.0f} min ago" if seconds < 7_200 else f"{seconds / 3_600:.0f} h ago"
