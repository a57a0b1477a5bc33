"""What several commands need: home, configuration, a loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from bot.app.home import find_home
from bot.config import LoadedConfig, load_config
from bot.config.loader import load_server

T = TypeVar("T")


def home_folder(explicit: Path | None) -> Path:
    """The home folder that the command line, the environment or the working folder names."""
    return find_home(explicit, os.environ, Path.cwd())


def configuration(explicit: Path | None, home: Path | None = None) -> LoadedConfig:
    """The checked configuration, with the agents below `home` where it is given. Raises ConfigErrors."""
    return load_config(explicit, os.environ, Path.cwd(), home)


def service_token(explicit: Path | None) -> str | None:
    """What a client of the running service has to send. Raises ConfigErrors."""
    token = load_server(explicit, os.environ, Path.cwd()).token
    return token.get_secret_value() if token else None


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run on the fast loop where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)
