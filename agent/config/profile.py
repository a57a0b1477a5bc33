"""The configuration of a custom agent: `agents/<name>/config.yaml` in the data directory."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import Field

from agent.config.types import ManyIds, OneId, Section, Text

FOLDER = "agents"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class CustomAgentConfig(Section):
    """The settings of a custom agent. Absent keys take the default agent's values."""

    description: Text | None = Field(None, description="What it is for, in a line.")
    model: OneId | None = Field(None, description="The model it uses unless another one is asked for.")
    tool_groups: Annotated[tuple[Text, ...], ManyIds] | None = Field(
        None, description="The groups of tools that it gets; null: all."
    )
    skills: Annotated[tuple[Text, ...], ManyIds] | None = Field(
        None, description="The skills that it is told of, of those that are on; null: all."
    )


def list_custom_agents(home: Path) -> tuple[str, ...]:
    """Return the sorted names of all custom agents in the data directory. Blocking."""
    folder = home / FOLDER
    if not folder.is_dir():
        return ()
    return tuple(
        sorted(path.name for path in folder.iterdir() if path.is_dir() and NAME.fullmatch(path.name))
    )
