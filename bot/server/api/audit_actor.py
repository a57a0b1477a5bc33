"""Build the audit log's actor for a caller of the API."""

from __future__ import annotations

from bot.server.api.auth import Principal
from bot.server.api.dependencies import ApiServices
from bot.store.audit import Actor


def audit_actor(services: ApiServices, by: Principal, key: str = "") -> Actor:
    """Return the caller as an actor; events with the same key are recorded once."""
    return Actor(key or f"api:{services.core.new_id()}", by.person, by.sender.name, by.account, "")
