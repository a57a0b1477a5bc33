"""`roebot agent serve` and `roebot agent acp`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from bot.cli.common import home_folder


def agent_serve_command(
    home: Path | None,
    file: Path | None,
    graphs: Path | None,
    host: str,
    port: int,
    allowed_hosts: Sequence[str],
) -> NoReturn:
    """Replace this process with the agent runtime; the bot's code never imports the agent's."""
    command = [sys.executable, "-m", "agent.serve", "--home", str(home_folder(home))]
    command += ["--host", host, "--port", str(port)]
    command += ["--config", str(file)] if file else []
    command += ["--graphs", str(graphs)] if graphs else []
    for name in allowed_hosts:
        command += ["--allowed-host", name]
    os.execv(sys.executable, command)  # noqa: S606 - our own interpreter and module


def agent_acp_command(home: Path | None, file: Path | None) -> NoReturn:
    """Replace this process with the ACP agent that a client talks to."""
    command = [sys.executable, "-m", "agent.acp_server.serve", "--home", str(home_folder(home))]
    command += ["--config", str(file)] if file else []
    os.execv(sys.executable, command)  # noqa: S606 - our own interpreter and module
