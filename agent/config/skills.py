"""The section about skills."""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from agent.config.types import Section, Text

CONTAINER_PATH = "/mnt/skills"


class SkillsConfig(Section):
    """Skills: folders with instructions for a kind of work."""

    path: Text | None = Field(
        None,
        description="The folder that has public/ and custom/; null: the bundled ones, and skills/custom "
        "below the home.",
    )
    container_path: Text = Field(CONTAINER_PATH, description="Where the agent sees that folder.")

    @field_validator("container_path")
    @classmethod
    def _is_a_plain_folder(cls, value: str) -> str:
        if not re.fullmatch(r"(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)+", value):
            raise ValueError("expected an absolute path such as /mnt/skills")
        return value
