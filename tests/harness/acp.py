"""ACP agents as programs, and what hands tasks to them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from agent.acp.runner import AcpRunner
from agent.config.harness import AcpAgent
from agent.uploads.folders import ThreadFolders

PROGRAM = Path(__file__).with_name("acp_agent.py")
PATIENT = 120.0
"""Seconds that a slow machine may take to start a program."""
COMMAND = {"command": sys.executable, "args": ["-S", "-E", str(PROGRAM)]}


def entry(mode: str = "", **more: Any) -> dict[str, Any]:
    """The configuration of our test agent."""
    args = [*COMMAND["args"], *([mode] if mode else [])]
    return {**COMMAND, "args": args, "start_seconds": PATIENT, "timeout_seconds": PATIENT, **more}


def agent(mode: str = "", **more: Any) -> AcpAgent:
    """The same, as it is read."""
    return AcpAgent.model_validate(entry(mode, **more))


def steps(*each: Any) -> str:
    """A prompt that has the test agent do this."""
    return json.dumps([one if isinstance(one, list) else [one] for one in each])


def agents(home: Path, **environ: str) -> AcpRunner:
    """What hands tasks over; the agents get the search path and `environ`."""
    known = {"PATH": os.environ.get("PATH", os.defpath), **environ}
    return AcpRunner(ThreadFolders(home), environ=known)
