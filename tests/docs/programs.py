"""Runs the programs of the documentation as people do: beside the page's files, each in a process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import ROOT, Block, blocks

# What the log says is on the same stream, and not what a page is about.
LOG = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[.*\n", re.MULTILINE)


def on_page(page: Path, info: str) -> list[Block]:
    """The page's blocks with this info string."""
    return [block for block in blocks(info) if block.page == page]


def expected(program: Block) -> str:
    """What stands as the output below the program."""
    return next(text.body for text in on_page(program.page, "text") if text.line > program.line)


def printed(program: Block, folder: Path) -> str:
    """What the program prints in the folder; it neither fails nor warns."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("ROEBOT_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program.body],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**env, "PYTHONPATH": f"{ROOT}{os.pathsep}."},
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return LOG.sub("", done.stdout)
