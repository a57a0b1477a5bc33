"""Extensions of the command line by features, found in the entry point group `roebot.commands`.

It is apart from the `Feature`, which takes seconds to import: the module that the entry point names, and the
packages around it, import nothing but Typer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from bot.cli.doctor import Finding
    from bot.cli.security import Installation, SecurityFinding

GROUP = "roebot.commands"


@dataclass(frozen=True, slots=True)
class CliAdditions:
    """A feature's commands, its checks of the data directory for `roebot doctor` by name, and its checks for
    `roebot security audit`.
    """

    commands: typer.Typer
    checks: Mapping[str, Callable[[Path], Iterable[Finding]]] = field(default_factory=dict)
    security_checks: Sequence[Callable[[Installation], Iterable[SecurityFinding]]] = ()


@cache
def load_additions() -> Sequence[CliAdditions]:
    """Return the features' additions, ordered by entry point name. An addition that can't be loaded is
    skipped with a line on stderr.
    """
    additions: list[CliAdditions] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            additions.append(point.load())
        except Exception as error:  # noqa: BLE001 - others' code, which must not stop the other commands
            print(f"roebot: commands of {point.name} skipped: {error!r}", file=sys.stderr)
    return additions
