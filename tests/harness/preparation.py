"""Setup done once, before the test processes are forked."""

from __future__ import annotations

from bot.app.features import load_features
from bot.config.platforms import installed_platforms
from tests.harness.forks import start_server


def prepare() -> None:
    """Start the server of forks, and load the platforms and features."""
    start_server()
    installed_platforms()
    load_features()
