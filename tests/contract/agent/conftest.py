"""Shared by the contract tests of the agent half."""

import asyncio
import gc
import importlib
import warnings
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import httpx2
import pytest
import pytest_asyncio

from agent.management.routes import management_routes
from tests.harness.local_server import served

KEPT_BY = ("langchain_openai.chat_models._client_utils", "langchain_anthropic._client_utils")


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


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def closed_clients() -> AsyncIterator[None]:
    """Closes what providers' packages keep open for the life of the process, and has them forget it.

    Nothing is collected meanwhile: with a client that became garbage, its open connection would go too.
    """
    gc.disable()
    yield
    for name in KEPT_BY:
        for thing in vars(importlib.import_module(name)).values():
            if hasattr(thing, "cache_clear"):
                thing.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [thing for thing in gc.get_objects() if _is_client(thing)]
    gc.enable()
    for client in found:
        await client.aclose()


def _is_client(thing: object) -> bool:
    return issubclass(type(thing), httpx2.AsyncClient)
