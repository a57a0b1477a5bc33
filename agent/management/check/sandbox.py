"""Check of the configured sandbox."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from tempfile import mkdtemp

from agent.config.harness import SandboxConfig
from agent.core.interfaces import SandboxProvider, SandboxUnavailable
from agent.sandbox.options import Surroundings, load_provider
from agent.shared.schemas import ConfigProblem
from agent.uploads.folders import ThreadFolders
from agent.uploads.store import UploadStore

SECTION = "sandbox"


async def sandbox_problems(config: SandboxConfig, home: Path) -> list[ConfigProblem]:
    """List what prevents commands from running. Without a provider, no run can start."""
    if not config.enabled:
        return []
    # The check must not leave anything in the folders of threads.
    folder = await asyncio.to_thread(mkdtemp, prefix="roebot-check-")
    try:
        why = await _missing(await asyncio.to_thread(_provider, config, home, Path(folder)))
    except SandboxUnavailable as error:
        return [ConfigProblem(where=SECTION, what=str(error))]
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    return [ConfigProblem(where=SECTION, what=why, serious=False)] if why else []


def _provider(config: SandboxConfig, home: Path, folder: Path) -> SandboxProvider:
    around = Surroundings(UploadStore(ThreadFolders(folder)).folders, home.absolute())
    return load_provider(config.use, around, config.extra_arguments())


async def _missing(provider: SandboxProvider) -> str:
    """Return what the provider lacks, or "". Only providers with a method `missing`, as ours, can tell."""
    ask = getattr(provider, "missing", None)
    try:
        return str(await ask()) if ask else ""
    except SandboxUnavailable as error:
        return str(error)
