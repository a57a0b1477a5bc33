"""`roebot` with a wrong clock (ROEBOT_TEST_CLOCK, in seconds) or without fences (ROEBOT_TEST_MUTANT)."""

from __future__ import annotations

import os
import time

OFF = float(os.environ.get("ROEBOT_TEST_CLOCK", "0"))

if __name__ == "__main__":
    real = time.time
    time.time = lambda: real() + OFF
    from bot.cli import main
    from bot.store import database, ownership

    if os.environ.get("ROEBOT_TEST_MUTANT"):
        for module in (database, ownership):
            module.check_lease = lambda *_: None  # type: ignore[attr-defined]
    main()
