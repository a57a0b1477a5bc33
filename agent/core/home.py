"""The agent's data directory."""

from __future__ import annotations

import os
from pathlib import Path

HOME_VARIABLE = "ROEBOT_HOME"
DEFAULT_HOME = ".roebot"
FOLDER_MODE = 0o700


def home_from_environment() -> Path:
    """Return `ROEBOT_HOME`, or `.roebot` in the current directory."""
    return Path(os.environ.get(HOME_VARIABLE) or DEFAULT_HOME)


def make_private_folder(folder: Path) -> None:
    """Create the folder and its missing parents with access for the owner only. Blocking.

    The mode of an existing folder stays unchanged.
    """
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
