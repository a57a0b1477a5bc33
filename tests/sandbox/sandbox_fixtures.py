"""Providers of every kind in a folder of a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.sandbox.local import Host, LocalSandbox, LocalSandboxProvider
from agent.uploads.folders import ThreadFolders
from agent.uploads.store import UploadStore


def folders(home: Path) -> Any:
    """Where a thread's folders are."""
    return UploadStore(ThreadFolders(home)).folders


def local(home: Path, *, network: bool = False, **given: Any) -> LocalSandboxProvider:
    """The provider with bubblewrap."""
    return LocalSandboxProvider(folders(home), host=Host(network=network), **given)


def unprotected(home: Path, **given: Any) -> LocalSandboxProvider:
    """The provider without any protection."""
    return LocalSandboxProvider(folders(home), host=Host(isolation="none"), **given)


async def one(provider: Any, thread_id: str = "thread-1") -> LocalSandbox:
    """The sandbox of a thread."""
    sandbox: LocalSandbox | None = provider.get(await provider.acquire(thread_id))
    assert sandbox is not None
    return sandbox
