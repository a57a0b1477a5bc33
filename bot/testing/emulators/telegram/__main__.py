"""`python -m bot.testing.emulators.telegram`: an emulated Telegram on loopback."""

from __future__ import annotations

import argparse
import sys

from bot.testing.emulators.telegram.cli import run
from bot.testing.emulators.telegram.workspace import DEFAULT_TOKEN


def main() -> int:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="bot.testing.emulators.telegram", description=__doc__)
    parser.add_argument("--port", type=int, default=8081, help="0 takes a free one")
    parser.add_argument("--token", default=DEFAULT_TOKEN)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="0.1 makes the limits' periods ten times shorter"
    )
    parser.add_argument("--no-limits", action="store_true")
    parser.add_argument("--rich", action="store_true", help="know the rich messages of Bot API 10.1")
    given = parser.parse_args()
    return run(
        port=given.port, token=given.token, scale=given.scale, limits=not given.no_limits, rich=given.rich
    )


if __name__ == "__main__":
    sys.exit(main())
