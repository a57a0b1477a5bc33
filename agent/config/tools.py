"""The sections about tools: which there are, and in which groups."""

from __future__ import annotations

from pydantic import Field

from agent.config.extra_keys import ImportString, OpenSection
from agent.config.types import Section, Text

DEFERRED_TOOLS_THRESHOLD = 20
"""With more tools than this, those of MCP servers are found by search instead of listed for the model."""


class ToolEntry(OpenSection):
    """One tool of `tools`. Keys that are not named here are kept in `extra` for what `use` names."""

    name: Text = Field(description="The name by which the model calls it.")
    group: Text = Field(description="The group that agents take it by.")
    use: ImportString = Field(
        description="A tool, a class of tools or a function, as package.module:name; further keys go to it."
    )


class ToolGroup(Section):
    """One entry of `tool_groups`."""

    name: Text = Field(description="The name of the group.")
