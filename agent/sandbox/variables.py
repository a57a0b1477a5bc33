"""Configured environment variables for commands: for all, or for those that use a skill.

A command gets a skill's variables if its text contains the path of the skill's folder, since nothing else
says to which skill it belongs. This reduces accidents but is no boundary: the agent can name any folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

MAX_NAME = 100
RESERVED_VARIABLES = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "IFS", "ENV", "BASH_ENV"}
)
"""Variables that the sandbox sets itself, or that change which programs run."""
_NAME = re.compile(rf"[A-Za-z_][A-Za-z0-9_]{{0,{MAX_NAME - 1}}}")
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
_END = r"(?![\w.-])"


def check_variable(name: str, value: str) -> None:
    """Raise ValueError unless a command can receive the variable."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"expected names of letters, digits and _, got {name[:40]!r}")
    if name in RESERVED_VARIABLES or name.startswith(("LD_", "ROEBOT_")):
        raise ValueError(f"{name} cannot be set")
    if "\0" in value:
        raise ValueError(f"the value of {name} contains a null character")


@dataclass(frozen=True, slots=True)
class CommandVariables:
    """The variables `for_all` commands, and those `by_skill` (the name of the skill's folder)."""

    for_all: Mapping[str, str] = field(default_factory=dict)
    by_skill: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def select(self, command: str, roots: Iterable[str]) -> dict[str, str]:
        """Return a command's variables.

        A command uses a skill if it names the skill's folder below one of the `roots`, the virtual paths of
        read-only folders. A variable of the skill replaces one for all commands.
        """
        found = dict(self.for_all)
        if self.by_skill:
            places = "|".join(re.escape(root) for root in roots)
            for folder, variables in self.by_skill.items():
                # Skills may be in a folder of several: ROOT/GROUP/SKILL.
                path = rf"(?:{places})(?:/[^\s/'\"]+)*/{re.escape(folder)}{_END}"
                if places and re.search(path, command):
                    found |= variables
        return found

    def add(self, variables: Mapping[str, str]) -> CommandVariables:
        """Return these variables with additional ones for all commands."""
        return CommandVariables({**self.for_all, **variables}, self.by_skill)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Iterate over all names and values, including skills' variables."""
        yield from self.for_all.items()
        for variables in self.by_skill.values():
            yield from variables.items()
