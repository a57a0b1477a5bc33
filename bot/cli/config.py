"""`roebot config check|schema|upgrade`."""

from __future__ import annotations

import json
import os
from pathlib import Path

from agent.config.reader import find_config
from agent.config.upgrade import upgrade
from bot.cli.common import configuration
from bot.config import schema
from bot.errors import StartError


def check_command(file: Path | None) -> None:
    """Load the configuration as a start would. Raises ConfigErrors."""
    loaded = configuration(file)
    where = loaded.path or "no file: the zero configuration"
    for warning in loaded.warnings:
        print(f"warning: {warning}")
    print(f"ok: {where} ({len(loaded.config.accounts)} accounts, {len(loaded.config.models)} models)")


def schema_command() -> None:
    """Print the schema."""
    print(json.dumps(schema(), indent=2))


def upgrade_command(file: Path | None) -> None:
    """Upgrade in place. Raises ConfigErrors, StartError where there is no file."""
    path = find_config(file, os.environ, Path.cwd())
    if path is None:
        raise StartError("there is no config.yaml to upgrade; the zero configuration needs none")
    result = upgrade(path)
    if not result.changed:
        print(f"{path} is up to date")
        return
    for old, new in result.renamed:
        print(f"renamed {old} to {new}")
    for key in result.added:
        print(f"added {key}")
    print(f"{path} upgraded; the old one is {result.backup}")
