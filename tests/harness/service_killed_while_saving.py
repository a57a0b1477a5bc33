"""`roebot`, killed at the n-th step of saving its configuration: before or after a file is replaced.

`STEP` is n. Other files than the configuration, its secrets and its versions are no steps.
"""

from __future__ import annotations

import os
import pathlib
import signal
from pathlib import Path

from bot.cli import main
from bot.config.versions import FOLDER

STEP = "TEST_KILLED_AT"
FILES = ("config.yaml", "secrets.env")


class _Steps:
    def __init__(self, left: int) -> None:
        self._left = left
        self._replace = pathlib.Path.replace

    def replace(self, path: Path, target: Path) -> Path:
        counts = Path(target).name in FILES or Path(target).parent.name == FOLDER
        self._reach(counts)
        found = self._replace(path, target)
        self._reach(counts)
        return found

    def _reach(self, counts: bool) -> None:
        self._left -= counts
        if counts and self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    steps = _Steps(int(os.environ[STEP]))
    pathlib.Path.replace = lambda path, target: steps.replace(path, target)  # type: ignore[method-assign,assignment]
    main()
