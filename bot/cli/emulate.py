"""Emulators of chat platforms, which are part of the package roebot-testing."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

EMULATORS = "roebot_testing.emulators.cli"
MISSING = "The emulators are not installed. Run: pip install roebot-testing (in a clone: make install-dev)"


def run_emulator(platform: str, arguments: Sequence[str]) -> int:
    """Serve the emulator of a platform until SIGINT or SIGTERM, and return the exit code.

    Without the package the exit code is 2.
    """
    try:
        emulators = importlib.import_module(EMULATORS)
    except ModuleNotFoundError as error:
        if not EMULATORS.startswith(str(error.name)):
            raise
        print(MISSING)
        return 2
    code: int = emulators.main(platform, arguments)
    return code
