"""A running account as the dispatcher sees it: its adapter, manifest and rate governor."""

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
    """One account. `ready` is set once it has connected for the first time; `assistant` answers in it
    ("": the one of the whole service), as `agent`, one of the user's own ("": as itself).
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
        """The account of that name, None where the configuration has none any more."""
        ...

    def state(self, account: str) -> AccountState:
        """The live state of one account."""
        ...

    def restart(self, account: str) -> bool:
        """Restart an account. Return False if there is no account of that name."""
        ...

    def states(self) -> Mapping[str, tuple[str, AccountState]]:
        """Platform and live state of every account, by name."""
        ...
