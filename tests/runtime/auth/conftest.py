"""A server of a project with users, and clients of two of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from langgraph_sdk.client import LangGraphClient

from tests.runtime.auth.project import serve_project, signed_in
from tests.runtime.serving import Served


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serve_project(tmp_path) as served:
        yield served


@pytest.fixture
async def people(served: Served) -> AsyncIterator[tuple[LangGraphClient, LangGraphClient]]:
    """Clients of Alice and Bob."""
    async with signed_in(served, "alice", "bob") as (alice, bob):
        yield alice, bob
