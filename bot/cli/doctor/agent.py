"""Check which parts of the configuration the agent can't use, through the running service or a subprocess."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import orjson

from bot.cli.doctor.finding import Finding

TRY_SECONDS = 60.0
MODULE = "agent.management.check"
ROUTE = "/api/config/problems"
MODELS = "models["
"""What stands at the front of the key of a problem of one model."""
SAID_ELSEWHERE = frozenset({httpx.codes.NOT_FOUND, httpx.codes.SERVICE_UNAVAILABLE})
"""A runtime without the route, and one that is away, which the state of the service tells."""


def served(url: str, headers: Mapping[str, str]) -> Iterator[Finding]:
    """Return the problems the running service reports; models are checked separately."""
    try:
        answer = httpx.get(f"{url}{ROUTE}", headers=dict(headers), timeout=TRY_SECONDS, trust_env=False)
    except httpx.HTTPError as error:
        yield Finding(False, f"configuration, not tried: {type(error).__name__}")
        return
    if answer.is_success:
        yield from findings(answer.json()["problems"])
        if answer.json().get("kept"):
            yield Finding(None, "the running service goes on with the configuration before that change")
    elif answer.status_code not in SAID_ELSEWHERE:
        yield Finding(False, f"configuration, not tried: the agent runtime answered {answer.status_code}")


def here(config: Path | None, home: Path, *, seconds: float = TRY_SECONDS) -> list[dict[str, Any]]:
    """Return the problems a service started here would have: `where`, `what` and `serious` of each."""
    command = [sys.executable, "-m", MODULE, "--home", str(home)]
    command += ["--config", str(config)] if config else []
    try:
        # Third-party packages may print secrets, so none of their output is shown.
        done = subprocess.run(  # noqa: S603 - our own interpreter and module
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [_untried(f"it did not end within {seconds:.0f} s")]
    try:
        found: list[dict[str, Any]] = orjson.loads(done.stdout)["problems"]
    except (ValueError, KeyError, TypeError):
        return [_untried(f"the process that tries it ended with {done.returncode}")]
    return found


def findings(problems: list[dict[str, Any]]) -> Iterator[Finding]:
    """Convert problems to findings, except those of a single model, which its own check reports."""
    for problem in problems:
        if problem["serious"]:
            yield Finding(False, told(problem))
        elif not problem["where"].rpartition(": ")[2].startswith(MODELS):
            yield Finding(None, told(problem))


def told(problem: Mapping[str, Any]) -> str:
    """Format a problem as one line."""
    return ": ".join(filter(None, (problem["where"], problem["what"])))


def _untried(why: str) -> dict[str, Any]:
    return {"where": "", "what": f"what the configuration names was not tried: {why}", "serious": True}
