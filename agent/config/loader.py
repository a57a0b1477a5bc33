"""Loading of the agent's sections of `config.yaml`. The bot handles its own sections."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from agent.config.document import ConfigDocument, read_document
from agent.config.errors import ConfigWarning, Problems
from agent.config.models import AgentConfig
from agent.config.reader import check_section, display_path, find_config, unknown_key_message
from agent.config.secrets_file import read_secrets
from agent.config.upgrade import UNSUPPORTED_KEYS, UNSUPPORTED_VALUES, modernize_document, reject_unsupported

BOT_SECTIONS = frozenset(
    {
        "server",
        "runtime",
        "database",
        "channels",
        "access",
        "approvals",
        "budgets",
        "events",
        "oncall",
        "profiles",
        "schedules",
        "retention",
    }
)
"""Sections of the same file that belong to the bot. They are neither read nor rejected here."""
ConfigT = TypeVar("ConfigT", bound=BaseModel)
OVERRIDES = "the given configuration"
"""The name of configuration given in code, for messages."""


@dataclass(frozen=True, slots=True)
class LoadedAgentConfig:
    """The validated sections, their file, and the warnings to log at startup."""

    config: AgentConfig
    path: Path | None
    warnings: tuple[ConfigWarning, ...]
    fingerprint: str
    source: ConfigDocument = field(
        default_factory=lambda: ConfigDocument(OVERRIDES, {}), compare=False, repr=False
    )
    """The lines of the file, without its data."""


def load_agent_config(
    explicit: Path | None,
    env: Mapping[str, str],
    cwd: Path,
    *,
    overrides: Mapping[str, Any] | None = None,
    read_file: bool = True,
    may_be_empty: bool = True,
    home: Path | None = None,
) -> LoadedAgentConfig:
    """Find, read and validate the agent's configuration. Raises ConfigErrors.

    `overrides` are merged over the file, mapping by mapping; a list replaces the whole list. Without
    `read_file` they are the whole configuration. `fingerprint` identifies the content of the file ("" without
    one). A blank file is rejected unless it `may_be_empty`. A file in the data directory `home` is the last
    choice.
    """
    path = find_config(explicit, env, cwd, home) if read_file else None
    if path is None and not overrides:
        return LoadedAgentConfig(AgentConfig(), None, (), "")
    whole = ConfigDocument(OVERRIDES, {})
    if path:
        whole = read_document(path, display_name=display_path(path, cwd), may_be_empty=may_be_empty)
        whole = replace(whole, secrets=read_secrets(path))
    if overrides:
        whole = replace(whole, data=merge_mappings(whole.data, overrides))
    own = {key: value for key, value in whole.data.items() if key not in BOT_SECTIONS}
    config, warnings = check_document(AgentConfig, replace(whole, data=own), env, other_sections=BOT_SECTIONS)
    return LoadedAgentConfig(config, path, warnings, whole.fingerprint, replace(whole, data={}))


def check_document(
    model: type[ConfigT],
    document: ConfigDocument,
    env: Mapping[str, str],
    *,
    other_sections: AbstractSet[str] = frozenset(),
) -> tuple[ConfigT, tuple[ConfigWarning, ...]]:
    """Check a document against the sections of `model`.

    Returns the checked sections and the warnings to log. `other_sections` are not in the document, but
    messages name them among the known keys. Raises ConfigErrors with every problem.
    """
    problems = Problems(document)
    document, warnings = modernize_document(document, problems)
    reject_unsupported(document, UNSUPPORTED_KEYS, UNSUPPORTED_VALUES, problems)
    _reject_unknown_keys(document, other_sections | model.model_fields.keys(), problems)
    return check_section(model, document, env, problems, idle=_idle_sections(document)), warnings


def _idle_sections(document: ConfigDocument) -> frozenset[str]:
    """Return the sections that don't apply because the runtime is another server."""
    runtime = document.data.get("runtime")
    is_remote = isinstance(runtime, dict) and runtime.get("url") is not None
    return (
        frozenset({"models", "checkpointer", "tools", "guardrails", "transcriber"})
        if is_remote
        else frozenset()
    )


def _reject_unknown_keys(document: ConfigDocument, known: AbstractSet[str], problems: Problems) -> None:
    """Report each unknown top-level key, and remove it from the data."""
    for key in [key for key in document.data if key not in known]:
        problems.add((key,), unknown_key_message(key, sorted(known)))
        del document.data[key]


def merge_mappings(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Merge `overrides` over `base`, mapping by mapping."""
    result = copy.deepcopy(dict(base))
    for key, value in overrides.items():
        under = result.get(key)
        if isinstance(under, dict) and isinstance(value, Mapping):
            result[key] = merge_mappings(under, value)
        else:
            result[key] = to_plain(value)
    return result


def to_plain(value: Any) -> Any:
    """Convert mappings and sequences to the types that a file yields, leaving other values unchanged."""
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    return [to_plain(item) for item in value] if isinstance(value, list | tuple) else value
