"""Implementation of `roebot events list`, `test` and `replay`, and the check of event sources."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy.exc import ArgumentError, DatabaseError

from agent.config.errors import ConfigErrors
from bot.app.home import RunningService, find_service
from bot.cli.common import bearer_headers, configuration, error_detail, home_folder, no_service, service_token
from bot.cli.doctor import Finding
from bot.cli.doctor.network import open_engine
from bot.config import Config
from bot.config.events import EventRoute, EventsConfig
from bot.errors import StartError
from bot.features.events.card_store import find_outcome
from bot.features.events.receiver import Source, make_source
from bot.features.events.sources.base import EventRequest
from bot.store.connection import SqlAlchemyConnection

SOURCES = "/api/events/sources"
SECONDS = 10.0
TEST_SECONDS = 30.0
REPLAY_SECONDS = 600.0
HOUR = 3_600.0
CLOCK_OFF = 60.0
"""Difference between the clocks of a sender and this machine from which it is reported (s)."""
REMEDIES = {
    "not_found": "it does not exist, or the bot is not in it; correct events.routes, or add the bot",
    "permission": "the bot may not write there; add it to the chat, or allow it to post",
    "auth": "the platform rejected the credentials of the account; correct them under channels",
}
"""Remedies by the reason of a failed delivery."""


def list_command(home: Path | None, file: Path | None) -> int:
    """Print the sources of the running service and return the exit code. Raises ConfigErrors, StartError."""
    folder = home_folder(home)
    service = connect_service(folder)
    sources = read_api(service, folder, file, "GET", SOURCES)["sources"]
    for one in sources:
        last = (
            f"last {_format_age(time.time() - one['last'])}" if one["last"] else "no events in the last day"
        )
        route = "" if one["has_route"] else ", no route"
        print(f"{one['name']}  {one['type']}  {service.url}{one['path']}  {last}{route}")
    if not sources:
        print("No event sources. Add one under events.sources in config.yaml.")
    return 0


def try_command(name: str, home: Path | None, file: Path | None) -> int:
    """Have the running service receive a test event, and return the exit code.

    Raises ConfigErrors and StartError.
    """
    folder = home_folder(home)
    path = f"{SOURCES}/{name}/test"
    found = read_api(connect_service(folder), folder, file, "POST", path, TEST_SECONDS)
    accepted = f"The service accepted the test event of {name}"
    where = f"the chat {found['chat']} of {found['account']}"
    if found["card"] == "failed":
        raise StartError(f"the card could not be posted in {where}; {_remedy(found['reason'])}")
    results = {
        "posted": f", and its card is in {where}.",
        "unrouted": ", but no route takes its events; add one under events.routes.",
        "pending": f"; check {where}.",
    }
    print(accepted + results[found["card"]])
    return 0


def replay_command(name: str, home: Path | None, file: Path | None, *, hours: float) -> int:
    """Have the running service apply stored events again, and return the exit code.

    Raises ConfigErrors and StartError.
    """
    folder = home_folder(home)
    path = f"{SOURCES}/{name}/replay?since={max(0.0, time.time() - hours * HOUR)}"
    replayed = read_api(connect_service(folder), folder, file, "POST", path, REPLAY_SECONDS)
    print(f"Applied {replayed['requests']} requests of {name} again.")
    return 0


def open_source(name: str, home: Path | None, file: Path | None) -> tuple[RunningService, Config, Source]:
    """Return the running service, its configuration, and one of its sources.

    Raises ConfigErrors and StartError.
    """
    folder = home_folder(home)
    service = connect_service(folder)
    running = Path(service.config) if service.config else None
    config = configuration(file or running, folder).config
    sources = config.events.sources
    if name not in sources:
        raise StartError(
            f"the configuration has no event source {name}; known: {', '.join(sources) or 'none'}"
        )
    return service, config, make_source(name, sources[name])


def send_event(service: RunningService, source: Source, request: EventRequest) -> None:
    """Send a request to the running service as the source would. Raises StartError if it is refused."""
    proof = source.credential.prove(request.body, time.time()) if source.credential else {}
    url, headers = f"{service.url}/events/{source.name}", {**request.headers, **proof}
    answer = call_service("POST", url, headers=headers, content=request.body)
    if answer.status_code != HTTPStatus.ACCEPTED:
        raise StartError(f"the service refused the event: {error_detail(answer, unauthorized='')}")


def check_home(folder: Path) -> Iterator[Finding]:
    """Check the event sources of a data directory: their routes, and what the running service received."""
    try:
        loaded = configuration(None, folder)
    except ConfigErrors:
        return
    yield from check_routes(loaded.config.events)
    yield from check_cards(loaded.config, folder)
    service = find_service(folder) if loaded.config.events.sources else None
    if service is None:
        return
    with suppress(StartError):
        for one in read_api(service, folder, None, "GET", SOURCES)["sources"]:
            yield from check_requests(one)


def check_routes(events: EventsConfig) -> Iterator[Finding]:
    """Report which sources have a route."""
    for name in events.sources:
        if events.routes_of(name):
            yield Finding(True, f"events: {name} has a route")
        else:
            yield Finding(None, f"events: no route takes events of {name}; add one under events.routes")


def check_cards(config: Config, home: Path) -> Iterator[Finding]:
    """Report routes with a disabled account, and chats in which the newest card could not be posted."""
    accounts = {route.account for route in config.events.routes}
    for account in sorted(one for one in accounts if not config.channels[one].enabled):
        remedy = f"enable it under channels.{account}, or correct events.routes"
        yield Finding(False, f"events: the account {account} of a route is disabled; {remedy}")
    for route, outcome in _find_outcomes(config, config.events.routes, home):
        if outcome:
            text = f"events: the newest card for the chat {route.chat} of {route.account} was not posted"
            yield Finding(False, f"{text}; {_remedy(outcome)}")


def _find_outcomes(
    config: Config, routes: Sequence[EventRoute], home: Path
) -> Iterator[tuple[EventRoute, str | None]]:
    """Yield a route for each chat, with the outcome of the chat's newest card."""
    url = config.database.url.get_secret_value() if config.database.url else ""
    places = {(route.account, route.chat, route.topic or ""): route for route in routes}
    # If the database can't be read, its own checks report the reason.
    with suppress(DatabaseError, ArgumentError, ModuleNotFoundError), open_engine(url, home).connect() as one:
        for place, route in places.items():
            yield route, find_outcome(SqlAlchemyConnection(one), *place)


def _remedy(reason: str) -> str:
    return REMEDIES.get(reason, f"look for delivery_failed in the log (reason: {reason})")


def check_requests(source: Mapping[str, Any]) -> Iterator[Finding]:
    """Report a source that sends nothing, wrong credentials or unreadable events, or whose clock is off."""
    name = source["name"]
    if not source["last"]:
        hint = f"check the address in its settings, or run `roebot events test {name}`"
        yield Finding(None, f"events: {name} has sent nothing in the last day; {hint}")
    if count := source["unauthorized"]:
        hint = "compare its secret with the one in the sender's settings"
        yield Finding(None, f"events: requests of {name} with wrong credentials: {count}; {hint}")
    if count := source["unreadable"]:
        hint = "compare its type and mapping with what the sender sends"
        yield Finding(None, f"events: requests of {name} that are not valid for its type: {count}; {hint}")
    off = source["clock_difference"] or 0.0
    if abs(off) > CLOCK_OFF:
        where = "ahead of" if off > 0 else "behind"
        hint = "synchronize both; beyond five minutes, requests are refused"
        yield Finding(None, f"events: the clock of {name} is {abs(off):.0f} s {where} this machine's; {hint}")


def connect_service(home: Path) -> RunningService:
    """Return the running service. Raises StartError."""
    service = find_service(home)
    if service is None:
        raise no_service(home)
    return service


def read_api(
    service: RunningService, folder: Path, file: Path | None, method: str, path: str, seconds: float = SECONDS
) -> Any:
    """Return the response of the running service's API. Raises StartError if it refuses the request."""
    headers = bearer_headers(service_token(file, folder))
    answer = call_service(method, f"{service.url}{path}", headers=headers, seconds=seconds)
    if answer.status_code != HTTPStatus.OK:
        raise StartError(error_detail(answer))
    return answer.json()


def call_service(
    method: str, url: str, headers: Mapping[str, str], content: bytes | None = None, seconds: float = SECONDS
) -> httpx.Response:
    """Send a request to the running service. Raises StartError."""
    try:
        with httpx.Client(trust_env=False, timeout=seconds) as client:
            return client.request(method, url, headers=headers, content=content)
    except httpx.HTTPError as error:
        raise StartError(f"the service does not respond: {error}") from error


def _format_age(seconds: float) -> str:
    if seconds < 120:
        return f"{max(0.0, seconds):.0f} s ago"
    return f"{seconds / 60:.0f} min ago" if seconds < 7_200 else f"{seconds / 3_600:.0f} h ago"
