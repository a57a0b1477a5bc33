"""Providers of every kind in a folder of a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.sandbox.egress.proxy import EgressProxy
from agent.sandbox.egress.rules import EgressRules
from agent.sandbox.local import Host, LocalSandbox, LocalSandboxProvider
from agent.uploads.folders import ThreadFolders
from agent.uploads.store import UploadStore


def folders(home: Path) -> Any:
    """Where a thread's folders are."""
    return UploadStore(ThreadFolders(home)).folders


def local(home: Path, *, egress: EgressRules | None = None, **given: Any) -> LocalSandboxProvider:
    """The provider with bubblewrap; `egress` are the rules of its network, None for no network."""
    host = Host(egress=EgressProxy(egress) if egress else None)
    return LocalSandboxProvider(folders(home), host=host, **given)


def unprotected(home: Path, **given: Any) -> LocalSandboxProvider:
    """The provider without any protection."""
    return LocalSandboxProvider(folders(home), host=Host(isolation="none"), **given)


async def one(provider: Any, thread_id: str = "thread-1") -> LocalSandbox:
    """The sandbox of a thread."""
    sandbox: LocalSandbox | None = provider.get(await provider.acquire(thread_id))
    assert sandbox is not None
    return sandbox
