"""Wire a service to its API."""

from __future__ import annotations

import uuid
from importlib.metadata import version
from typing import TYPE_CHECKING

import httpx

from agent.shared.tls import tls_context
from bot.access.account_overrides import AccountRules
from bot.domain import Isolation, IsolationPolicy
from bot.platforms.base import Inbox
from bot.server.api.dependencies import ApiServices
from bot.server.api.runtime_proxy import TIMEOUT

if TYPE_CHECKING:
    from bot.app.service import BotService

MEGABYTE = 1_000_000
VERSION = version("roebot")


def api_services(service: BotService, *, port: int) -> ApiServices:
    """Return the services that `create_app` takes, for a service that listens on `port`."""
    config = service.config
    return ApiServices(
        db=service.db,
        accounts=service.accounts,
        bus=service.bus,
        runtime=service.runtime,
        runtime_client=lambda: _runtime_client(service),
        management_client=(lambda: _management_client(service)) if config.runtime.management_url else None,
        runtime_trouble=lambda: service.child.failure if service.child else "",
        runtime_start=lambda: service.child.starts if service.child else 0,
        commands=service.commands,
        texts=service.texts,
        model=lambda account: _model(service, account),
        isolation=lambda account: _isolation(service, account),
        people=service.people,
        budgets=service.budgets,
        inbox=lambda account: _inbox(service, account),
        schedules=service.desk,
        retention=service.forgetter,
        access=lambda: service.config.access,
        own_rules=lambda: _own_rules(service),
        role=service.role_on_home_account,
        held=service.highest_role,
        policy=service.policy,
        server=config.server,
        home=service.settings.home,
        clock=service.clock,
        version=VERSION,
        running=lambda: service.dispatcher.run_count,
        deliver=service.dispatcher.control.wake,
        new_id=_new_id,
        port=port,
        file_bytes=config.limits.file_mb * MEGABYTE,
    )


def _runtime_client(service: BotService) -> httpx.AsyncClient:
    """Return a client of the LangGraph API; for the bundled runtime it stays valid over restarts of the
    process.
    """
    if service.child is not None:
        return service.child.client(timeout=TIMEOUT)
    return _client(service, service.config.runtime.url)


def _management_client(service: BotService) -> httpx.AsyncClient:
    return _client(service, service.config.runtime.management_url)


def _client(service: BotService, url: str | None) -> httpx.AsyncClient:
    assert url is not None
    key = service.config.runtime.api_key
    headers = {"x-api-key": key.get_secret_value()} if key else {}
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=32)
    return httpx.AsyncClient(
        base_url=url, headers=headers, timeout=TIMEOUT, limits=limits, trust_env=False, verify=tls_context()
    )


def _own_rules(service: BotService) -> list[AccountRules]:
    config = service.config
    return [
        AccountRules(name, account.platform, account.access, config.access_for(name))
        for name, account in config.channels.items()
    ]


def _isolation(service: BotService, account: str) -> IsolationPolicy:
    found = service.config.channels.get(account)
    return IsolationPolicy(Isolation(found.isolation)) if found else IsolationPolicy()


def _model(service: BotService, account: str) -> str:
    found = service.config.channels.get(account)
    return (found.model or "") if found else ""


def _inbox(service: BotService, account: str) -> Inbox | None:
    for one in service.config.accounts:
        if one.name == account:
            return service.bus.open_inbox(account, service.make_admission_policy(one))
    return None


def _new_id() -> str:
    return str(uuid.uuid4())
