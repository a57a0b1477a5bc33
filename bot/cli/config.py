"""`roebot config check|schema|upgrade`."""

from __future__ import annotations

import json
import os
from pathlib import Path

from agent.config.errors import ConfigErrors
from agent.config.reader import find_config
from agent.config.upgrade import upgrade_file
from bot.cli.common import configuration, home_folder
from bot.cli.doctor import agent
from bot.config import schema
from bot.errors import StartError


def check_command(home: Path | None, file: Path | None) -> int:
    """Load the configuration as the service would, check everything it refers to and return the exit code.

    Raises ConfigErrors.
    """
    folder = home_folder(home)
    loaded = configuration(file, folder)
    where = loaded.path or "no file, using defaults"
    for warning in loaded.warnings:
        print(f"warning: {warning}")
    foreign = loaded.config.runtime.url is not None
    problems = [] if foreign else agent.find_problems(loaded.path, folder)
    for problem in problems:
        print(f"{'problem' if problem['serious'] else 'warning'}: {agent.format_problem(problem)}")
    if any(problem["serious"] for problem in problems):
        return 1
    accounts, models = len(loaded.config.accounts), len(loaded.config.models)
    named = _count(models, "model") if models else "models detected at startup"
    print(f"ok: {where} ({_count(accounts, 'account')}, {named})")
    return 0


def schema_command() -> None:
    """Print the JSON schema of the configuration."""
    print(json.dumps(schema(), indent=2))


def upgrade_command(file: Path | None) -> None:
    """Upgrade the file in place. Raises ConfigErrors, and StartError if there is no file."""
    path = find_config(file, os.environ, Path.cwd(), home_folder(None))
    if path is None:
        raise StartError("there is no config.yaml to upgrade")
    result = upgrade_file(path)
    if not result.changed:
        print(f"{path} is up to date")
        return
    for old, new in result.renamed:
        print(f"renamed {old} to {new}")
    print(f"upgraded {path}; the old file was saved as {result.backup}")
    try:
        configuration(path)
    except ConfigErrors as errors:
        print(f"the upgraded file still has errors:\n{errors}")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
