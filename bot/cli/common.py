"""Shared by several commands: data directory, configuration and event loop."""

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
    """Return the data directory from the option, the environment or the working directory."""
    return find_home(explicit, os.environ, Path.cwd())


def configuration(explicit: Path | None, home: Path | None = None) -> LoadedConfig:
    """Load and check the configuration, with the custom agents in `home` if given. Raises ConfigErrors."""
    return load_config(explicit, os.environ, Path.cwd(), home)


def service_token(explicit: Path | None) -> str | None:
    """Return the token that clients of the running service send. Raises ConfigErrors."""
    token = load_server(explicit, os.environ, Path.cwd()).token
    return token.get_secret_value() if token else None


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run on uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)
