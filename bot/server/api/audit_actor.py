"""What a caller does, as the audit writes it down."""

from __future__ import annotations

from bot.server.api.auth import Principal
from bot.server.api.dependencies import ApiServices
from bot.store.audit import Actor


def audit_actor(services: ApiServices, by: Principal, key: str = "") -> Actor:
    """Who does a deed; deeds with the same key are written down once."""
    return Actor(key or f"api:{services.new_id()}", by.person, by.sender.name, by.account, "")
