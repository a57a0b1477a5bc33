"""`python -m bot.testing.emulators.slack`: an emulated Slack on loopback."""

from __future__ import annotations

import argparse
import sys

from bot.testing.emulators.slack.cli import run


def main() -> int:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="bot.testing.emulators.slack", description=__doc__)
    parser.add_argument("--port", type=int, default=8082, help="0 takes a free one")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="0.1 makes limits and streams ten times shorter"
    )
    parser.add_argument("--no-limits", action="store_true")
    given = parser.parse_args()
    return run(port=given.port, scale=given.scale, limits=not given.no_limits)


if __name__ == "__main__":
    sys.exit(main())
