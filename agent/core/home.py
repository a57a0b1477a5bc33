"""Where the agent keeps what is its own."""

from __future__ import annotations

import os
from pathlib import Path

HOME_VARIABLE = "ROEBOT_HOME"
DEFAULT_HOME = ".roebot"
FOLDER_MODE = 0o700


def home_from_environment() -> Path:
    """`ROEBOT_HOME`, else `.roebot` in the current folder."""
    return Path(os.environ.get(HOME_VARIABLE) or DEFAULT_HOME)


def make_private_folder(folder: Path) -> None:
    """Make the folder, and those above it that are missing, for their owner alone. Blocking.

    The mode of one that is there stays as it is.
    """
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
