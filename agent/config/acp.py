"""The section about agents of other makers, which are reached by the Agent Client Protocol."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from agent.config.extensions import SERVER_NAME, SecretLine
from agent.config.types import Number, Section, Switch, Text


class AcpAgent(Section):
    """An agent that speaks ACP over its standard input and output, and is started for each task."""

    enabled: Switch = Field(True, description="Whether tasks may be handed to it.")
    command: Text = Field(description="The program; it has to speak ACP.")
    args: tuple[str, ...] = Field((), description="Its arguments.")
    env: Mapping[str, SecretLine] = Field(default_factory=dict, description="Its environment variables.")
    description: Text | None = Field(None, description="What it is good for, in a line; the agent reads it.")
    auto_approve_permissions: Switch = Field(
        False, description="Whether it may do what it asks permission for; else that is denied."
    )
    timeout_seconds: Number = Field(
        900.0, gt=0, le=86_400, description="Seconds after which a task is stopped."
    )
    start_seconds: Number = Field(60.0, gt=0, le=600, description="Seconds to start and open a session.")


def check_agent_names(agents: Mapping[str, AcpAgent]) -> Mapping[str, AcpAgent]:
    """The same. Raises ValueError for a name that is none."""
    for name in agents:
        if not SERVER_NAME.fullmatch(name):
            raise ValueError(
                f"{name[:40]!r} is no name for an agent: letters, digits, - and _, 32 at most; rename it"
            )
    return agents
