"""Tools for runs that do not end by themselves."""

from __future__ import annotations

from itertools import count

from langchain_core.tools import tool

_polled = count(1)


@tool
async def lookup(word: str) -> str:
    """Look a word up."""
    return f"{word} means 42"


@tool
async def poll() -> str:
    """Return how far the work is, which is different each time."""
    return f"step {next(_polled)} is done"


@tool
async def wait() -> str:
    """Return how far the work is, which never changes."""
    return "still waiting"
