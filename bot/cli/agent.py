"""`roebot agent serve`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bot.cli.common import home_folder


def agent_serve_command(
    home: Path | None, file: Path | None, graphs: Path | None, host: str, port: int
) -> int:
    """Serve until signalled: the runtime is a process of its own, so that the bot never imports the agent."""
    command = [sys.executable, "-m", "agent.serve", "--home", str(home_folder(home))]
    command += ["--host", host, "--port", str(port)]
    command += ["--config", str(file)] if file else []
    command += ["--graphs", str(graphs)] if graphs else []
    if sys.platform != "win32":
        os.execv(sys.executable, command)  # noqa: S606
    return subprocess.call(command)  # noqa: S603
