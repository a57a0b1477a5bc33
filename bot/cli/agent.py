"""`roebot agent serve`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from bot.cli.common import home_folder


def agent_serve_command(
    home: Path | None, file: Path | None, graphs: Path | None, host: str, port: int
) -> NoReturn:
    """Become the runtime's process: the bot's code never imports the agent's."""
    command = [sys.executable, "-m", "agent.serve", "--home", str(home_folder(home))]
    command += ["--host", host, "--port", str(port)]
    command += ["--config", str(file)] if file else []
    command += ["--graphs", str(graphs)] if graphs else []
    os.execv(sys.executable, command)  # noqa: S606 - our own interpreter and module
