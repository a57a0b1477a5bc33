"""`python -m bot.testing.emulators.feishu`: an emulated Feishu on loopback."""

from __future__ import annotations

import argparse
import sys

from bot.testing.emulators.feishu.cli import run
from bot.testing.emulators.feishu.workspace import DEFAULT_APP_ID, DEFAULT_APP_SECRET


def main() -> int:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="bot.testing.emulators.feishu", description=__doc__)
    parser.add_argument("--port", type=int, default=8083, help="0 takes a free one")
    parser.add_argument("--app-id", default=DEFAULT_APP_ID)
    parser.add_argument("--app-secret", default=DEFAULT_APP_SECRET)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="0.1 makes limits and life times ten times shorter"
    )
    parser.add_argument("--no-limits", action="store_true")
    given = parser.parse_args()
    return run(
        port=given.port,
        app_id=given.app_id,
        app_secret=given.app_secret,
        scale=given.scale,
        limits=not given.no_limits,
    )


if __name__ == "__main__":
    sys.exit(main())
