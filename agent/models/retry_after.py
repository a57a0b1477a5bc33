"""How long a provider that asks to come again later is waited for.

Providers say it in Retry-After. A person in a chat hears nothing meanwhile, so beyond `PATIENCE` the call is
given up, and the failure says how long the provider wants.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

MAX_WAIT = 60.0
"""Seconds."""


async def stop_long_retries(response: Any) -> None:
    """A response hook of an HTTP client: a class that retries by itself gives up where it takes too long."""
    if response.status_code >= 400 and (parse_retry_after(response.headers) or 0.0) > MAX_WAIT:
        response.headers["x-should-retry"] = "false"


def limit_own_retries(model: Any) -> None:
    """Let the model's own HTTP client, if it has one that takes hooks, give up in time."""
    client = getattr(getattr(model, "_async_client", None), "_client", None)
    hooks = getattr(client, "event_hooks", None)
    if isinstance(hooks, dict) and stop_long_retries not in hooks.get("response", ()):
        hooks.setdefault("response", []).append(stop_long_retries)


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that an answer asks to wait; None where it says nothing that can be read.

    A date is taken against the answer's own Date, so that no clock of ours counts.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    try:
        until, now = (parsedate_to_datetime(headers.get(name, "")) for name in ("retry-after", "date"))
        return max((until - now).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None
