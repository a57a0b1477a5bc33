"""Report of problems with a runtime's current or future configuration, and with its sandbox."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from tempfile import mkdtemp

from agent.catalog.preflight import tried
from agent.catalog.source import ModelSource
from agent.config.custom_agents import AvailableOptions, describe_custom_agents
from agent.config.errors import ConfigError, ConfigErrors, ConfigWarning
from agent.config.extensions_file import ExtensionsSource
from agent.config.harness import SandboxConfig
from agent.config.models import AgentConfig
from agent.config.profile import FOLDER, list_custom_agents
from agent.config.transcriber import TranscriberConfig
from agent.core.interfaces import SandboxProvider, SandboxUnavailable
from agent.errors import TranscriberUnavailable
from agent.management.check.subagents import subagent_problems
from agent.sandbox.options import Surroundings, load_provider
from agent.shared.schemas import ConfigProblem, ConfigReport
from agent.skills.discovery import SkillDiscovery
from agent.skills.skill import SkillSet, resolve_roots
from agent.transcription.loading import load_transcriber
from agent.uploads.folders import ThreadFolders
from agent.uploads.store import UploadStore

SECTION = "sandbox"


async def offer_of(source: ModelSource) -> AvailableOptions:
    """Return the models and tool groups currently available to custom agents. Raises ConfigErrors."""
    return AvailableOptions((await source.catalog()).names, await source.config())


async def report(
    source: ModelSource, home: Path, env: Mapping[str, str], extensions: ExtensionsSource
) -> ConfigReport:
    """Check the configuration including its subagent types, the extensions file, the skills and the custom
    agents in the data directory.

    The errors of a refused change come first. Raises ConfigErrors if there was never a valid configuration.
    """
    loaded = await source.loaded()
    refusal = source.refusal.errors if source.refusal else ()
    found = [_problem(error) for error in (*refusal, *await asyncio.to_thread(tried, loaded))]
    if await asyncio.to_thread(list_custom_agents, home):
        agents = await asyncio.to_thread(describe_custom_agents, home, env, await offer_of(source))
        found += [
            ConfigProblem(where=f"{FOLDER}/{one.name}", what=one.problem)
            for one in agents.agents
            if one.problem
        ]
    if unmet := (await source.catalog()).unmet_choice:
        found.append(ConfigProblem(where="", what=unmet))
    found += await asyncio.to_thread(_of_extensions, extensions)
    skills = await asyncio.to_thread(_find_skills, loaded.config, home)
    found += [
        ConfigProblem(where="skill", what=f"{one.path}: {one.error}. Correct it, or remove its folder.")
        for one in skills.broken
    ]
    found += subagent_problems(loaded.config, skills.by_name, await _server_names(extensions))
    found += await asyncio.to_thread(_of_transcriber, loaded.config.transcriber)
    found += await sandbox_problems(loaded.config.sandbox, home)
    return ConfigReport(problems=found, kept=source.refusal is not None)


def _of_extensions(extensions: ExtensionsSource) -> list[ConfigProblem]:
    """Return the problems with the extensions file, whose last valid version may still be active."""
    try:
        extensions.reload()
    except ConfigErrors as errors:
        return [_problem(error) for error in errors.errors]
    return []


async def _server_names(extensions: ExtensionsSource) -> Collection[str]:
    """Return the names of the MCP servers; empty if there has never been a valid file."""
    try:
        return (await extensions.get_extensions()).mcpServers
    except ConfigErrors:
        return ()


def _find_skills(config: AgentConfig, home: Path) -> SkillSet:
    return SkillDiscovery(resolve_roots(config.skills, home)).find_skills()


def _of_transcriber(config: TranscriberConfig) -> list[ConfigProblem]:
    """Return why the transcriber can't be created. Answers go on without transcripts."""
    try:
        load_transcriber(config)
    except TranscriberUnavailable as error:
        return [ConfigProblem(where="transcriber", what=str(error), serious=False)]
    return []


def _problem(error: ConfigError) -> ConfigProblem:
    place = f"{error.file}:{error.line}" if error.line else error.file
    where = ": ".join(filter(None, (place, error.key)))
    return ConfigProblem(where=where, what=error.message, serious=not isinstance(error, ConfigWarning))


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
    """Return what the provider lacks, or "". Only providers with a `missing` method, such as ours, report
    this.
    """
    ask = getattr(provider, "missing", None)
    try:
        return str(await ask()) if ask else ""
    except SandboxUnavailable as error:
        return str(error)
