"""The loop that the service runs on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import uvloop

from tests.harness.agent_process import shared_certificates, spans_on_demand

__all__ = ["shared_certificates", "spans_on_demand"]


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop}
