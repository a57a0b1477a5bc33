"""Run documented programs in a process of their own, next to the files of their page."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.docs.blocks import Block, blocks
from tests.harness.forks import Program, run

# The log shares the stream with the output of the program.
LOG = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[.*\n", re.MULTILINE)


def on_page(page: Path, info: str) -> list[Block]:
    """Return the page's blocks with this info string."""
    return [block for block in blocks(info) if block.page == page]


def expected(program: Block) -> str:
    """Return the documented output: the first text block after the program."""
    return next(text.body for text in on_page(program.page, "text") if text.line > program.line)


def printed(program: Block, folder: Path) -> str:
    """Run the program in the folder and return its output. Fails on warnings and on stderr."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("ROEBOT_")}
    done = run(Program(folder=folder, env=env, source=program.body, warnings_are_errors=True))
    assert done.stderr == ""
    return LOG.sub("", done.stdout)
