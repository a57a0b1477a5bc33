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

    description: Text | None = Field(None, description="Purpose in one line.")
    model: OneId | None = Field(None, description="Model to use unless another one is selected.")
    tool_groups: Annotated[tuple[Text, ...], ManyIds] | None = Field(
        None, description="Tool groups that it can use; null: all."
    )
    skills: Annotated[tuple[Text, ...], ManyIds] | None = Field(
        None, description="Enabled skills that it can use; null: all."
    )


def list_custom_agents(home: Path) -> tuple[str, ...]:
    """Return the sorted names of all custom agents in the data directory. Blocking."""
    folder = home / FOLDER
    if not folder.is_dir():
        return ()
    return tuple(
        sorted(path.name for path in folder.iterdir() if path.is_dir() and NAME.fullmatch(path.name))
    )
