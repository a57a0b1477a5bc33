"""Limit the wait that a provider may request with Retry-After.

A person in a chat sees nothing meanwhile, so beyond `MAX_WAIT` the call fails, and the error says how long
the provider asks to wait.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

MAX_WAIT = 60.0
"""Seconds."""


async def stop_long_retries(response: Any) -> None:
    """Stop a client's own retries if the response asks for a longer wait than MAX_WAIT."""
    if response.status_code >= 400 and (parse_retry_after(response.headers) or 0.0) > MAX_WAIT:
        response.headers["x-should-retry"] = "false"


def limit_own_retries(model: Any) -> None:
    """Install the hook on the model's HTTP client, if it has one that takes hooks."""
    client = getattr(getattr(model, "_async_client", None), "_client", None)
    hooks = getattr(client, "event_hooks", None)
    if isinstance(hooks, dict) and stop_long_retries not in hooks.get("response", ()):
        hooks.setdefault("response", []).append(stop_long_retries)


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response asks to wait; None if it does not say.

    A date is compared with the response's own Date header, so that the local clock does not matter.
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
