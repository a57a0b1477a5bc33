"""The section about agents that the agent hands work to."""

from __future__ import annotations

from pydantic import Field

from agent.config.types import Count, Number, Section, Switch


class SubagentsConfig(Section):
    """Agents that the agent hands parts of its work to."""

    enabled: Switch = Field(True, description="Whether the agent may hand work to subagents.")
    max_concurrent: Count = Field(3, le=16, description="Subagents of one conversation at the same time.")
    timeout_seconds: Number = Field(
        900.0, gt=0, le=86_400, description="Seconds after which a subagent is stopped."
    )
