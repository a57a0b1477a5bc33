"""Commands that are refused even if approved: a tripwire for accidents and obvious attacks.

The sandbox is the boundary. A command that hides what it does (decoded text, another interpreter, a script
that was written before) passes this check.

A rule is a line of words: the program, then arguments that the command must all have, in any order. Words can
contain `*`, and `-r` also means `-rf`, `-R` and `--recursive`. `{data}` is the service's data directory and
`{config}` its configuration file; they also match files below and text that contains the path. `{system}` is
the root or a top-level folder of the system, `{disk}` a disk's device.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from agent.config.forbidden_commands import DEFAULT_RULES
from agent.guardrails.shell_commands import ShellCommand, list_commands

COMMAND_ARGUMENTS = ("command", "cmd", "script")
"""Names of the arguments in which tools take a shell script."""
_FOLDERS = ("bin", "boot", "dev", "etc", "home", "lib", "lib64", "mnt", "opt", "root", "sbin", "srv", "usr")
_SYSTEM = frozenset(f"/{name}" for name in ("", *_FOLDERS, "var"))
_DISKS = tuple(f"/dev/{name}" for name in ("sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "mapper/"))


class ForbiddenCommands:
    """Finds calls with forbidden commands. Raises ValueError for a rule without a program."""

    def __init__(
        self, rules: Iterable[str] = DEFAULT_RULES, *, data: Path | None = None, config: Path | None = None
    ) -> None:
        self._paths = {"{data}": _spellings(data, "ROEBOT_HOME"), "{config}": _spellings(config, "")}
        self._exact: dict[str, list[tuple[str, list[str]]]] = {}
        self._wide: list[tuple[str, list[str]]] = []
        for rule in rules:
            words = shlex.split(rule)
            if not words:
                raise ValueError("a rule needs a program")
            is_wide = any(wildcard in words[0] for wildcard in "*?[")
            (self._wide if is_wide else self._exact.setdefault(words[0], [])).append((rule, words))

    def find_rule(self, args: Mapping[str, Any]) -> str:
        """Return the rule that forbids a tool call with these arguments, or "" if there is none."""
        for name in COMMAND_ARGUMENTS:
            value = args.get(name)
            if isinstance(value, list) and all(isinstance(word, str) for word in value):
                value = shlex.join(value)
            if isinstance(value, str) and (rule := self._find_in(value)):
                return rule
        return ""

    def _find_in(self, script: str) -> str:
        for command in dict.fromkeys(list_commands(script)):
            rules: list[tuple[str, list[str]]] = [*self._exact.get(command.program, ()), *self._wide]
            for rule, words in rules:
                if self._matches(words, command):
                    return rule
        return ""

    def _matches(self, rule: Sequence[str], command: ShellCommand) -> bool:
        program, *wanted = rule
        if not fnmatchcase(command.program, program):
            return False
        # A rule for any program also covers a program inside of the path: `/data/run.sh`.
        given = [command.program, *command.arguments] if program == "*" else command.arguments
        return all(any(self._fits(word, argument) for argument in given) for word in wanted)

    def _fits(self, word: str, argument: str) -> bool:
        if word in self._paths:
            return any(path in argument for path in self._paths[word])
        if word == "{system}":
            return _plain_path(argument) in _SYSTEM
        if word.endswith("{disk}"):
            before = word.removesuffix("{disk}")
            return argument.startswith(tuple(f"{before}{disk}" for disk in _DISKS))
        if len(word) == 2 and word[0] == "-" and argument[:1] == "-":
            letters = argument[2:3] if argument[:2] == "--" else argument[1:]
            return word[1].lower() in letters.lower()
        return any(fnmatchcase(one, word) for one in (argument, _plain_path(argument)))


def _plain_path(argument: str) -> str:
    """Return the shortest spelling of a path; `/etc/*` counts as `/etc`."""
    if not argument.startswith("/"):
        return argument
    path = "/" + posixpath.normpath(argument).lstrip("/")
    while path.endswith(("/*", "/.*")):
        path = path.rpartition("/")[0] or "/"
    return path


def _spellings(path: Path | None, variable: str) -> tuple[str, ...]:
    """Return the forms in which a command can refer to a path of the service."""
    if path is None:
        return ()
    named = (f"${variable}", f"${{{variable}}}") if variable else ()
    return tuple(dict.fromkeys([str(path.absolute()), str(path.resolve()), *named]))
