"""The loop that the service runs on; programs are started on Python's own as well."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import uvloop

from tests.harness.agent_process import shared_certificates, spans_on_demand

__all__ = ["shared_certificates", "spans_on_demand"]


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    plain = {"asyncio": asyncio.new_event_loop} if item.path.name == "test_program.py" else {}
    return {**plain, "uvloop": uvloop.new_event_loop}
