"""The head of a `SKILL.md`: YAML between two lines of `---`, strict.

---
name: meeting-actions
description: Turns notes into actions. Use it when …
license: Apache-2.0
allowed-tools: read_file bash
---
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from agent.config.document import parse_document
from agent.config.errors import one_error
from agent.config.problems import Problems
from agent.config.types import Section, Text
from agent.config.validate import load_section

SKILL_FILE = "SKILL.md"
MAX_FILE_BYTES = 200_000
MAX_DESCRIPTION = 1_024
NAME = re.compile(r"(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*")
_TOOL = re.compile(r"[A-Za-z][A-Za-z0-9_.:*-]{0,63}(?:\([^()]*\))?")
_SPLIT = re.compile(r"[\s,]+(?![^(]*\))")
_FENCE = "---"


def _check_name(value: str) -> str:
    if not NAME.fullmatch(value):
        raise ValueError("expected lower-case letters, digits and single hyphens, 64 at most")
    return value


def _check_description(value: str) -> str:
    line = " ".join(value.split())
    if len(line) > MAX_DESCRIPTION:
        raise ValueError(f"expected at most {MAX_DESCRIPTION:,} characters, got {len(line):,}")
    return line


def _split_tools(value: object) -> object:
    if isinstance(value, str):
        return tuple(word for word in _SPLIT.split(value.strip()) if word)
    return tuple(value) if isinstance(value, list) else value


def _check_tool_names(value: tuple[str, ...]) -> tuple[str, ...]:
    for name in value:
        if not _TOOL.fullmatch(name):
            raise ValueError(f"expected names of tools split by spaces, got {name[:40]!r}")
    return tuple(dict.fromkeys(value))


def _number_to_text(value: object) -> object:
    """A version such as 1.0 or 2 needs no quotes."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


class FrontMatter(Section):
    """What a skill says about itself."""

    name: Annotated[str, AfterValidator(_check_name)]
    description: Annotated[Text, AfterValidator(_check_description)]
    license: Text | None = None
    allowed_tools: (
        Annotated[tuple[str, ...], BeforeValidator(_split_tools), AfterValidator(_check_tool_names)] | None
    ) = Field(None, alias="allowed-tools")
    version: Annotated[Text, BeforeValidator(_number_to_text)] | None = None
    author: Text | None = None
    compatibility: Text | None = None
    metadata: Mapping[str, Any] = Field(default_factory=dict)


def parse_skill(text: str, file: str) -> tuple[FrontMatter, str]:
    """The head and the instructions below it. Raises ConfigErrors that name the file, line and key."""
    head, body = _split_front_matter(text, file)
    document = parse_document(head, file)
    problems = Problems(document)
    found = load_section(FrontMatter, document.data, document, (), problems)
    problems.raise_if_any()
    assert found is not None
    if not body.strip():
        raise one_error(file, "has no instructions below its front matter; write them")
    return found, body


def _split_front_matter(text: str, file: str) -> tuple[str, str]:
    """Head and body; an empty line stands for the first one, so that lines count as in the file."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        raise one_error(file, "does not begin with front matter; its first line has to be ---", line=1)
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == _FENCE:
            return "\n".join(["", *lines[1:number]]), "\n".join(lines[number + 1 :])
    raise one_error(file, "its front matter has no end; close it with a line of ---", line=1)
