"""Fixtures of the runtime's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.harness.agent_process import shared_certificates, spans_on_demand
from tests.runtime import graphs
from tests.runtime.serving import Served, serve

__all__ = ["shared_certificates", "spans_on_demand"]


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """A server with the test graphs."""
    async with serve(tmp_path) as server:
        yield server


@pytest.fixture(autouse=True)
def fresh_gates() -> Iterator[None]:
    """Gates belong to one test."""
    graphs.gates.clear()
    graphs.entered.clear()
    yield
