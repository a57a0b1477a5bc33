"""Copy a runtime's data and be killed at a step: HOME URL TO STEP COUNT."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from agent.runtime.migration.command import migrate
from agent.shared.table_copy import CopyStep


def main(home: str, url: str, to: str, step: str, count: str) -> None:
    """Copy and kill this process when the step is reached for the count-th time."""
    left = int(count)

    def reach(reached: CopyStep) -> None:
        nonlocal left
        left -= reached == step
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    migrate(Path(home), url, to, print, reach)


if __name__ == "__main__":
    main(*sys.argv[1:])
