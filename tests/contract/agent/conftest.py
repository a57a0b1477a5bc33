"""Shared by the contract tests of the agent half."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from agent.management.routes import management_routes
from tests.harness.agent_process import shared_certificates, spans_on_demand
from tests.harness.local_server import served

__all__ = ["shared_certificates", "spans_on_demand"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of a test's agent."""
    return tmp_path / "home"


@pytest.fixture
def config(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The configuration file of a test: `CONFIG` of its module."""
    path = tmp_path / "config.yaml"
    path.write_text(request.module.CONFIG)
    return path


@pytest.fixture
async def http(folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the management routes that work in the folder of a test."""
    routes = await asyncio.to_thread(management_routes, folder / "home", folder / "config.yaml")
    async with served(routes) as client:
        yield client
