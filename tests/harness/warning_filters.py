"""Other processes of tests treat warnings as pytest does: as errors, except those that the project lists."""

from __future__ import annotations

import builtins
import re
import tomllib
import warnings
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def list_filters() -> list[str]:
    """Return the project's filters, in the form of Python's option `-W`."""
    settings = tomllib.loads(PROJECT.read_text())["tool"]["pytest"]["ini_options"]
    return list(settings["filterwarnings"])


def apply_filters() -> None:
    """Filter the warnings of this process."""
    for line in list_filters():
        action, message, category, module = [*line.split(":"), "", "", ""][:4]
        kind = getattr(builtins, category or "Warning")
        warnings.filterwarnings(action, re.escape(message), kind, re.escape(module))
