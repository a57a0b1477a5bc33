"""Implementation of `roebot events backfill`, which recovers events that could not be delivered.

GitHub is asked to redeliver failed deliveries (REST API, repository and organization webhooks: "List
deliveries" and "Redeliver a delivery"). Sentry has no record of deliveries; its issues are read instead (API
reference, "List an Organization's Issues") and sent to the service as if Sentry reported them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import httpx

from bot.errors import StartError
from bot.features.events.source_commands import HOUR, SECONDS, open_source, send_event
from bot.features.events.sources.base import EventRequest, make_request

Send = Callable[[EventRequest], None]
"""Sends a request to the service. Raises StartError if it is refused."""
MAX_PAGES: Final = 50
"""Maximum number of pages to read, of 100 items each."""
_ACTIONS: Final = {"unresolved": "unresolved", "resolved": "resolved", "ignored": "archived"}


def backfill_command(name: str, home: Path | None, file: Path | None, *, hours: float) -> int:
    """Recover undelivered events of a source and return the exit code. Raises ConfigErrors and StartError."""
    service, whole, source = open_source(name, home, file)
    config = whole.events.sources[name]
    fetch = _FETCHERS.get(config.type)
    if fetch is None:
        needing = " and ".join(_FETCHERS)
        raise StartError(f"backfill is not available for {config.type}; only {needing} require it")
    if config.api_url is None or config.api_token is None:
        raise StartError(f"events.sources.{name}: api_url and api_token are required for backfill")
    headers = {"authorization": f"Bearer {config.api_token.get_secret_value()}"}
    send = partial(send_event, service, source)
    try:
        with httpx.Client(trust_env=False, timeout=SECONDS, headers=headers) as client:
            count = fetch(client, config.api_url.rstrip("/"), send, time.time() - hours * HOUR)
    except httpx.HTTPStatusError as error:
        raise StartError(f"{config.type} responded with {error.response.status_code}") from error
    except httpx.HTTPError as error:
        raise StartError(f"{config.type} does not respond ({type(error).__name__})") from error
    print(f"Recovered {count} events of {name}." if count else f"{name} has no events to recover.")
    return 0


def _fetch_github(client: httpx.Client, webhook: str, _send: Send, since: float) -> int:
    """Have GitHub redeliver the events since a time (s) that were never delivered."""
    url = f"{webhook}/deliveries"
    failed: dict[str, int] = {}
    delivered: set[str] = set()
    for one in _pages(client, f"{url}?per_page=100"):
        if _seconds(one["delivered_at"]) < since:
            break
        if HTTPStatus.OK <= one["status_code"] < HTTPStatus.MULTIPLE_CHOICES:
            delivered.add(one["guid"])
        failed.setdefault(one["guid"], one["id"])
    waiting = [number for guid, number in failed.items() if guid not in delivered]
    for number in reversed(waiting):
        client.post(f"{url}/{number}/attempts").raise_for_status()
    return len(waiting)


def _fetch_sentry(client: httpx.Client, organization: str, send: Send, since: float) -> int:
    """Send the issues that changed since a time (s) to the service."""
    url = f"{organization}/issues/?query=&sort=date&limit=100"
    count = 0
    for issue in _pages(client, url):
        at = _seconds(issue["lastSeen"])
        if at < since:
            break
        if issue.get("status") not in _ACTIONS:
            continue
        headers = {
            "sentry-hook-resource": "issue",
            "sentry-hook-timestamp": f"{at:.0f}",
            "request-id": f"backfill-{issue['id']}-{issue['status']}-{at:.0f}",
        }
        body = {"action": _ACTIONS[issue["status"]], "data": {"issue": issue}}
        send(make_request(body, headers))
        count += 1
    return count


def _pages(client: httpx.Client, url: str) -> Iterator[Mapping[str, Any]]:
    """Yield the items of all pages. The header Link names the next one (RFC 8288)."""
    for _ in range(MAX_PAGES):
        answer = client.get(url).raise_for_status()
        yield from answer.json()
        following = answer.links.get("next", {})
        # Sentry names the next page even if it is empty.
        if not following.get("url") or following.get("results") == "false":
            return
        url = following["url"]


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


_FETCHERS: Final = {"github": _fetch_github, "sentry": _fetch_sentry}
