"""Every process collects the same tests: parameters don't depend on the order of a set."""

from __future__ import annotations

import os
import subprocess
import sys
from difflib import unified_diff

import pytest

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif("ROEBOT_TEST_ALL" not in os.environ, reason="imports every test file twice"),
    pytest.mark.timeout(600),
]


def collect_tests(seed: str) -> list[str]:
    """Return the ids of all tests, in the order in which a process with this seed of hashes collects them."""
    options = ("-q", "--collect-only", "-n0", "-p", "no:cacheprovider", "-m", "", "tests")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        env={**os.environ, "PYTHONHASHSEED": seed},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3_000:]
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_every_process_collects_the_same_tests() -> None:
    one, other = collect_tests("1"), collect_tests("2")
    assert len(one) > 1_000
    assert list(unified_diff(one, other, lineterm="")) == []
