"""What the API is made of: ports and parts that the composition root hands over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import httpx
from fastapi import Depends, Request

from bot.access import AccessPolicy, GrantedRoles, Role
from bot.access.account_overrides import OwnRules
from bot.access.budgets import Budgets
from bot.bus.message_bus import MessageBus
from bot.clock import Clock
from bot.commands.registry import Registry
from bot.config import AccessConfig, AccessEntry
from bot.config.models import ServerConfig
from bot.dispatch.account_channel import AccountRegistry
from bot.domain import IsolationPolicy, Sender
from bot.platforms.base import Inbox
from bot.privacy.retention import RetentionJob
from bot.runtime.interface import AgentRuntime
from bot.schedules.service import ScheduleService
from bot.store import Database
from bot.texts import Texts


@dataclass(frozen=True, slots=True)
class ApiServices:
    """Everything behind the port.

    `runtime_client` makes a client of the agent runtime (address and service token are in it), for calls that
    are passed on; `management_client` one for its management routes where they are elsewhere.
    `runtime_trouble` says why the bundled one ended by itself ("" where it did not, or said nothing),
    `runtime_start` which of its starts this is (0: it is elsewhere). `port` is the one that is listened on
    (0: whatever the connection says). `file_bytes` is the limit of one file, `running` how many runs are
    under way. `access` are the rules that hold for all accounts, `own_rules` those of each, `role` is that of
    somebody who came by a link, `held` the highest that an entry has anywhere, `policy` who may do
    what on an account; `deliver` has a notice delivered that the store has opened. `model` is the model of an
    account ("" for the usual one), `inbox` is where what happens on it comes in (None: there is no such
    account).
    """

    db: Database
    accounts: AccountRegistry
    bus: MessageBus
    runtime: AgentRuntime
    runtime_client: Callable[[], httpx.AsyncClient]
    commands: Registry
    texts: Callable[[str], Texts]
    model: Callable[[str], str]
    isolation: Callable[[str], IsolationPolicy]
    people: GrantedRoles
    budgets: Budgets
    inbox: Callable[[str], Inbox | None]
    desk: ScheduleService
    forgetter: RetentionJob
    access: Callable[[], AccessConfig]
    own_rules: Callable[[], Sequence[OwnRules]]
    role: Callable[[Sender], Role]
    held: Callable[[AccessEntry], Role]
    policy: Callable[[str], AccessPolicy]
    server: ServerConfig
    home: Path
    clock: Clock
    version: str
    running: Callable[[], int]
    deliver: Callable[[int], None]
    new_id: Callable[[], str]
    management_client: Callable[[], httpx.AsyncClient] | None = None
    runtime_trouble: Callable[[], str] = str
    runtime_start: Callable[[], int] = int
    port: int = 0
    file_bytes: int = 20_000_000

    @property
    def token(self) -> str:
        """The token that clients need ("" for none)."""
        return self.server.token.get_secret_value() if self.server.token else ""


def services_of(request: Request) -> ApiServices:
    """The services of the application that answers a request."""
    found: ApiServices = request.app.state.services
    return found


Services = Annotated[ApiServices, Depends(services_of)]
