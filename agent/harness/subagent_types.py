"""Configured subagent types."""

from __future__ import annotations

from dataclasses import replace

from agent.config.harness import SubagentsConfig, SubagentTypeConfig
from agent.subagents.kinds import SUBAGENT_TYPES, SubagentType


def configure_types(config: SubagentsConfig) -> list[SubagentType]:
    """Return the built-in types with their configuration, followed by the new ones."""
    found = {kind.name: kind for kind in SUBAGENT_TYPES}
    for name, wanted in config.types.items():
        if not wanted.enabled:
            found.pop(name, None)
        else:
            found[name] = _apply_settings(found.get(name) or SubagentType(name, "", ""), wanted)
    return list(found.values())


def _apply_settings(kind: SubagentType, wanted: SubagentTypeConfig) -> SubagentType:
    return replace(
        kind,
        description=" ".join((wanted.description or kind.description).split()),
        prompt=wanted.prompt or kind.prompt,
        turns=wanted.max_turns or kind.turns,
        turn_cap=wanted.max_turns or kind.turn_cap,
        tools=kind.tools if wanted.tools is None else wanted.tools,
        skills=kind.skills if wanted.skills is None else wanted.skills,
        model_name=wanted.model_name,
        tokens=wanted.max_tokens,
        seconds=wanted.timeout_seconds,
    )
