"""The simulated week, and its report: `python -m tests.week`. `--minutes 10` is ten real minutes of it,
with the four SDKs against their emulators.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from tests.week.evidence import played
from tests.week.live import minutes
from tests.week.report import judged

SEED = 20261019


def main() -> int:
    """1 where something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.week", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--messages", type=int, default=5000)
    parser.add_argument("--minutes", type=float, default=0.0, help="real ones, against the emulators")
    parser.add_argument("--keep", type=Path, help="folder for the home of the real minutes")
    given = parser.parse_args()
    if given.minutes:
        return asyncio.run(minutes(given.minutes, given.seed, given.keep))
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        days, messages = given.days, given.messages
        report = judged(asyncio.run(played(Path(folder), given.seed, days=days, messages=messages)))
    print(f"{report}\n\nplayed in {time.monotonic() - began:.0f} s")
    return int(not report.sound)


if __name__ == "__main__":
    sys.exit(main())
