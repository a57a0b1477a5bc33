"""`python -m bot.testing.emulators.discord`: an emulated Discord on loopback."""

from __future__ import annotations

import argparse
import sys

from bot.testing.emulators.discord.cli import run
from bot.testing.emulators.discord.workspace import DEFAULT_TOKEN


def main() -> int:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="bot.testing.emulators.discord", description=__doc__)
    parser.add_argument("--port", type=int, default=8084, help="0 takes a free one")
    parser.add_argument("--token", default=DEFAULT_TOKEN)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="0.1 makes the limits' periods ten times shorter"
    )
    parser.add_argument("--no-limits", action="store_true")
    given = parser.parse_args()
    return run(port=given.port, token=given.token, scale=given.scale, limits=not given.no_limits)


if __name__ == "__main__":
    sys.exit(main())
