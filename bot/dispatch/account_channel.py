"""A running account, for the dispatcher: its adapter, manifest and rate governor."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from bot.dispatch.pacing.governor import RateGovernor
from bot.domain import AccountState
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


class AccountRegistry(Protocol):
    """The accounts that the service runs."""

    def get(self, account: str) -> AccountChannel | None:
        """Return the account of that name, None if the configuration no longer has it."""
        ...

    def state(self, account: str) -> AccountState:
        """Return the live state of an account."""
        ...

    def restart(self, account: str) -> bool:
        """Restart an account. Return False if there is no account of that name."""
        ...

    def states(self) -> Mapping[str, tuple[str, AccountState]]:
        """Return platform and live state of every account, by name."""
        ...
