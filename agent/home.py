"""Where the agent keeps what is its own."""

from __future__ import annotations

import os
from pathlib import Path

HOME_VARIABLE = "ROEBOT_HOME"
DEFAULT_HOME = ".roebot"


def home_from_environment() -> Path:
    """`ROEBOT_HOME`, else `.roebot` in the current folder."""
    return Path(os.environ.get(HOME_VARIABLE) or DEFAULT_HOME)
