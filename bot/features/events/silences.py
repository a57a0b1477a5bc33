"""Silences in Alertmanager and Grafana, which stop the notifications about an incident for a while.

Both have the same API: `POST /api/v2/silences` of Alertmanager's OpenAPI document (version 0.34), which
Grafana serves under `/api/alertmanager/grafana`.
"""

from __future__ import annotations

from typing import Any, Final

import httpx

from agent.shared.tls import tls_context
from bot.config.events import SILENCING, EventSource
from bot.errors import RoebotError
from bot.features.events.alerts import Status
from bot.features.events.incident import Incident, find_common_labels
from bot.features.events.sources.base import format_time

SECONDS: Final = 10.0
_PATHS: Final = {"alertmanager": "/api/v2/silences", "grafana": "/api/alertmanager/grafana/api/v2/silences"}


class SilenceFailed(RoebotError):
    """A silence that was not created; the message says why."""


def can_silence(source: EventSource | None) -> bool:
    """Return whether alerts of a source can be silenced from the chat."""
    return source is not None and source.type in SILENCING and source.api_url is not None


async def create_silence(
    source: EventSource, incident: Incident, author: str, now: float, seconds: float
) -> None:
    """Silence the unresolved alerts of an incident from `now` (s) on. Raises SilenceFailed."""
    group = incident.group
    active = [one for one in group.alerts.values() if group.status_of(one) is not Status.RESOLVED]
    labels = find_common_labels(active)
    if not labels:
        raise SilenceFailed("the alerts have no label in common")
    exact = {"isRegex": False, "isEqual": True}
    silence = {
        "matchers": [{"name": name, "value": value, **exact} for name, value in labels.items()],
        "startsAt": format_time(now),
        "endsAt": format_time(now + seconds),
        "createdBy": author,
        "comment": f"Silenced in the chat (incident {incident.id})",
    }
    await _post(source, silence)


async def _post(source: EventSource, silence: dict[str, Any]) -> None:
    token = source.api_token.get_secret_value() if source.api_token else ""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    url = f"{(source.api_url or '').rstrip('/')}{_PATHS[source.type]}"
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=SECONDS, verify=tls_context()) as client:
            answer = await client.post(url, json=silence, headers=headers)
    except httpx.HTTPError as error:
        raise SilenceFailed(f"{source.type} does not respond ({type(error).__name__})") from error
    if not answer.is_success:
        raise SilenceFailed(f"{source.type} responded with {answer.status_code}")
