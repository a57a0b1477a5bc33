"""Services that the composition root passes to the API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import httpx
from fastapi import Depends, Request

from bot.access import AccessPolicy, GrantedRoles, Role
from bot.access.account_overrides import AccountRules
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
    """Services that the routes use.

    `runtime_client` creates an HTTP client of the agent runtime (with its address and the service token) for
    proxied calls, `management_client` one of its management routes if they are served elsewhere.
    `runtime_trouble` returns why the bundled runtime exited ("" if it did not, or gave no reason),
    `runtime_start` the number of its current start (0: an external runtime). `port` is the port that is
    listened on (0: taken from the connection), `file_bytes` the size limit of one file, `running` the number
    of active runs.

    `access` returns the rules of all accounts, `own_rules` those of each, `role` the role of a caller with a
    sign-in link, `held` the highest role of an entry on any account, `policy` the access policy of an
    account. `deliver` sends a notice that the store has opened. `model` returns the model of an account (""
    for the default), `inbox` where its messages are accepted (None: unknown account).
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
    schedules: ScheduleService
    retention: RetentionJob
    access: Callable[[], AccessConfig]
    own_rules: Callable[[], Sequence[AccountRules]]
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
        """Return the token that clients need ("" for none)."""
        return self.server.token.get_secret_value() if self.server.token else ""


def services_of(request: Request) -> ApiServices:
    """Return the services of the application that handles a request."""
    found: ApiServices = request.app.state.services
    return found


Services = Annotated[ApiServices, Depends(services_of)]
