"""How long a model's client waits for a provider that asks it to come again later.

The clients obey Retry-After: OpenAI's up to two minutes, Anthropic's whatever it says. A person in a chat
would hear nothing meanwhile, so beyond `PATIENCE` the client is told to give up, and the failure says how
long the provider wants.
"""

from __future__ import annotations

from typing import Any

PATIENCE = 60.0
"""Seconds."""


async def give_up(response: Any) -> None:
    """A response hook of an HTTP client: marks an answer that asks for too long as not worth a retry."""
    if response.status_code >= 400 and _asked(response.headers) > PATIENCE:
        response.headers["x-should-retry"] = "false"


def bounded(model: Any) -> None:
    """Let the model's own HTTP client, if it has one that takes hooks, give up in time."""
    client = getattr(getattr(model, "_async_client", None), "_client", None)
    hooks = getattr(client, "event_hooks", None)
    if isinstance(hooks, dict) and give_up not in hooks.get("response", ()):
        hooks.setdefault("response", []).append(give_up)


def _asked(headers: Any) -> float:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return float(headers.get(name, "")) * unit
        except ValueError:
            continue
    return 0.0
