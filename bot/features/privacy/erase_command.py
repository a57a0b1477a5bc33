"""`roebot erase`: erase a person's data through the running service, and report what was erased."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from bot.app.home import find_service
from bot.cli.common import bearer_headers, confirm, error_detail, home_folder, no_service, service_token
from bot.errors import StartError

TIMEOUT = httpx.Timeout(600.0, connect=5.0)
PLACES = {
    "messages": "messages and their answers",
    "deleted_threads": "deleted conversations",
    "shared_threads": "conversations with other people",
    "quotations": "masked quotations in stored answers and messages",
    "files": "files waiting for the agent",
    "schedules": "schedules",
    "audit_events": "masked audit events",
}
"""What is counted, in the order of the report."""


def erase_command(person: str, home: Path | None, file: Path | None, *, yes: bool, as_json: bool) -> int:
    """Erase a person, print the report and return exit code 1 if it is not finished.

    Raises ConfigErrors and StartError.
    """
    if re.fullmatch(r"[^:/]+:[^/]+", person) is None:
        raise StartError("person: expected platform:id (the command whoami shows it)")
    folder = home_folder(home)
    found = find_service(folder)
    if found is None:
        raise no_service(folder)
    question = f"Erase the data of {person}? This can't be undone."
    if not yes and not confirm(question, default=False):
        print("roebot: nothing was erased", file=sys.stderr)
        return 1
    headers = bearer_headers(service_token(file, folder))
    try:
        with httpx.Client(base_url=found.url, headers=headers, timeout=TIMEOUT, trust_env=False) as client:
            answer = client.delete(f"/api/people/{quote(person, safe=':')}/data")
    except httpx.HTTPError as error:
        raise StartError(f"the service at {found.url} did not answer: {type(error).__name__}") from error
    if not answer.is_success:
        raise StartError(f"not erased: {error_detail(answer)}")
    report = answer.json()
    print(json.dumps(report, indent=2) if as_json else "\n".join(describe_report(report)))
    return int(not report["done"])


def describe_report(report: Mapping[str, Any]) -> Sequence[str]:
    """Return the lines of a report: what was erased where, and what is left."""
    counts = report["erased"]
    lines = [
        f"{place[0].upper()}{place[1:]}: {counts[name]}" for name, place in PLACES.items() if counts.get(name)
    ]
    lines = lines or ["Nothing was stored."]
    if report["open_messages"]:
        lines.append(f"Messages in progress, erased later: {report['open_messages']}")
    if report["remembers"]:
        lines.append("The agent runtime is busy or not responding; the service will retry.")
    lines += [f"Not supported by the agent runtime: {place}" for place in report["unsupported"]]
    lines += [f"Backup that still contains the data: {path}" for path in report["backups"]]
    return [*lines, "Finished." if report["done"] else "Not finished yet; the service continues by itself."]
