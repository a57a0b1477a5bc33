"""How thorough the tests are: `make test` tries less of the same than `make test-all`."""

from __future__ import annotations

import os

VARIABLE = "ROEBOT_TEST_ALL"
QUICK = 3


def thorough() -> bool:
    """Whether this is a run of everything."""
    return bool(os.environ.get(VARIABLE))


def examples(most: int) -> int:
    """How many examples a property is tried on."""
    return most if thorough() else max(10, most // QUICK)
