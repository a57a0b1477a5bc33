"""From a service to what its API needs."""

from __future__ import annotations

import uuid
from importlib.metadata import version
from typing import TYPE_CHECKING

import httpx

from bot.api.passing import TIMEOUT
from bot.api.services import ApiServices
from bot.domain import Isolation, IsolationPolicy

if TYPE_CHECKING:
    from bot.service import Service

MEGABYTE = 1_000_000
VERSION = version("roebot")


def api_services(service: Service, *, port: int) -> ApiServices:
    """What `create_app` takes, of a service that listens on `port`."""
    config = service.config
    return ApiServices(
        store=service.store,
        database=service.store.database,
        accounts=service.accounts,
        bus=service.bus,
        runtime=service.runtime,
        runtime_client=lambda: _runtime_client(service),
        management_client=(lambda: _management_client(service)) if config.runtime.management_url else None,
        runtime_trouble=lambda: service.child.trouble if service.child else "",
        commands=service.commands,
        texts=service.texts,
        isolation=lambda account: _isolation(service, account),
        people=service.people,
        desk=service.desk,
        forgetter=service.forgetter,
        access=lambda: service.config.access,
        role=service.role_at_home,
        held=service.held,
        server=config.server,
        home=service.settings.home,
        clock=service.clock,
        version=VERSION,
        running=lambda: service.dispatcher.running,
        deliver=service.dispatcher.control.wake,
        new_id=_new_id,
        port=port,
        file_bytes=config.limits.file_mb * MEGABYTE,
    )


def _runtime_client(service: Service) -> httpx.AsyncClient:
    """A client of the LangGraph API; for the bundled runtime it stays valid over restarts of the process."""
    if service.child is not None:
        return service.child.client(timeout=TIMEOUT)
    return _client(service, service.config.runtime.url)


def _management_client(service: Service) -> httpx.AsyncClient:
    return _client(service, service.config.runtime.management_url)


def _client(service: Service, url: str | None) -> httpx.AsyncClient:
    assert url is not None
    key = service.config.runtime.api_key
    headers = {"x-api-key": key.get_secret_value()} if key else {}
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=32)
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=TIMEOUT, limits=limits, trust_env=False)


def _isolation(service: Service, account: str) -> IsolationPolicy:
    found = service.config.channels.get(account)
    return IsolationPolicy(Isolation(found.isolation)) if found else IsolationPolicy()


def _new_id() -> str:
    return str(uuid.uuid4())
