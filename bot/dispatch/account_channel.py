"""A running account, for the dispatcher: its adapter, manifest and rate governor."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from bot.dispatch.pacing.governor import RateGovernor
from bot.platforms.base import Adapter, Manifest


@dataclass(slots=True)
class AccountChannel:
    """One account. `ready` is set once it has connected for the first time. `assistant` answers in it ("":
    the service's default), as the custom agent `agent` ("": as itself).
    """

    account: str
    adapter: Adapter
    manifest: Manifest
    governor: RateGovernor
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    assistant: str = ""
    agent: str = ""


class ChannelRegistry(Protocol):
    """The accounts that the service runs."""

    def get(self, account: str) -> AccountChannel | None:
        """Return a running account, or None if the configuration has none of that name."""
        ...
