"""Removal of Roebot's containers in every engine: `python -m agent.sandbox.stop [--home HOME]`."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from agent.sandbox.container import remove_all


def main(arguments: Sequence[str]) -> int:
    """Remove the containers, and print their number."""
    parser = argparse.ArgumentParser(prog="python -m agent.sandbox.stop", description=__doc__)
    parser.add_argument("--home", type=Path, default=Path(os.environ.get("ROEBOT_HOME") or ".roebot"))
    home: Path = parser.parse_args(arguments).home
    removed = asyncio.run(remove_all(home))
    if removed:
        print(f"Removed {len(removed)} sandbox container{'s' if len(removed) > 1 else ''}.")  # noqa: T201
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
