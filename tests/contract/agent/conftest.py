"""Shared by the contract tests of the agent half."""

import functools
import gc
import warnings
from collections.abc import AsyncIterator

import httpx2
import pytest_asyncio


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def closed_clients() -> AsyncIterator[None]:
    """Closes what providers' packages keep open for the life of the process, and has them forget it."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        things = gc.get_objects()
        found = [thing for thing in things if _is_client(thing)]
        caches = [thing for thing in things if _is_providers_cache(thing)]
    for cache in caches:
        cache.cache_clear()
    for client in found:
        await client.aclose()


def _is_client(thing: object) -> bool:
    return issubclass(type(thing), httpx2.AsyncClient)


def _is_providers_cache(thing: object) -> bool:
    is_cache = issubclass(type(thing), functools._lru_cache_wrapper)
    return is_cache and str(thing.__module__).startswith(("langchain_openai.", "langchain_anthropic."))
