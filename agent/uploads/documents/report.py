"""What the process that reads a document says in the end: one line of JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

DAMAGED = "It is damaged, or not what its name says."
LOCKED = "It is protected by a password; send a copy without one."
MACROS = "It has macros; they are never run."


class Unreadable(Exception):
    """Why a document can't be read: a sentence for people."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the Markdown, and its line, from 1 on."""

    title: str
    line: int


@dataclass(frozen=True, slots=True)
class Report:
    """`problem` says why there is no Markdown ("" where there is), `notes` what is missing in it.

    `fault` is for the log: the class of an error that nobody expected.
    """

    problem: str = ""
    notes: list[str] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    lines: int = 0
    fault: str = ""

    def dumps(self) -> bytes:
        """As the line of JSON."""
        return json.dumps(asdict(self)).encode()
