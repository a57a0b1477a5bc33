"""Loads the agent's half of config.yaml; the bot's sections are left to the bot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path

from agent.config.document import Document, read_document
from agent.config.env import resolve_env
from agent.config.errors import ConfigWarning
from agent.config.models import AgentConfig
from agent.config.problems import Problems
from agent.config.reader import find_config, shown
from agent.config.unavailable import AGENT_KEYS, AGENT_VALUES, Pattern, refuse_unavailable
from agent.config.validate import load, unknown_key
from agent.config.versions import modernized

BOT_SECTIONS = frozenset(
    {"server", "runtime", "database", "channels", "access", "budgets", "schedules", "retention"}
)
"""Sections of the same file that belong to the bot: neither read nor refused here."""


@dataclass(frozen=True, slots=True)
class LoadedAgentConfig:
    """The checked sections, where they came from, and what to log at the start."""

    config: AgentConfig
    path: Path | None
    warnings: tuple[ConfigWarning, ...]
    fingerprint: str


def load_agent_config(explicit: Path | None, env: Mapping[str, str], cwd: Path) -> LoadedAgentConfig:
    """Find and read the file for the agent runtime. Raises ConfigErrors.

    `fingerprint` names the content of the file (empty without a file).
    """
    path = find_config(explicit, env, cwd)
    if path is None:
        return LoadedAgentConfig(AgentConfig(), None, (), "")
    whole = read_document(path, shown=shown(path, cwd))
    own = {key: value for key, value in whole.data.items() if key not in BOT_SECTIONS}
    problems = Problems(whole)
    document, warnings = prepared(replace(whole, data=own), problems, AGENT_KEYS, AGENT_VALUES)
    take_out_unknown(document, BOT_SECTIONS | AgentConfig.model_fields.keys(), problems)
    document = resolve_env(document, env, problems=problems)
    config = load(AgentConfig, document.data, document, (), problems)
    problems.raise_if_any()
    assert config is not None
    return LoadedAgentConfig(config, path, warnings, whole.fingerprint)


def prepared(
    document: Document,
    problems: Problems,
    keys: Sequence[Pattern],
    values: Mapping[Pattern, frozenset[str]],
) -> tuple[Document, tuple[ConfigWarning, ...]]:
    """The document in today's words, without what this release does not have; with what to log."""
    document, warnings = modernized(document, problems)
    refuse_unavailable(document, keys, values, problems)
    return document, warnings


def take_out_unknown(document: Document, known: AbstractSet[str], problems: Problems) -> None:
    """Note each top-level key that is not known, and take it out."""
    for key in [key for key in document.data if key not in known]:
        problems.add((key,), unknown_key(key, sorted(known)))
        del document.data[key]
