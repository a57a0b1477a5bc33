"""What stands after the start is not searched again."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOOK = """
import gc
from {package}.heap import YOUNGEST, loading, settle
before = gc.get_freeze_count()
settle()
settled = gc.get_freeze_count()
kept = [[] for _ in range(100)]
settle()
assert before == 0 and settled > 1000, (before, settled)
assert gc.get_freeze_count() == settled, "nothing was loaded since"
loading()
assert not gc.isenabled()
import wave
settle()
assert gc.get_freeze_count() > settled + 100, "a module was loaded"
loading()
settle()
assert gc.get_threshold()[0] == YOUNGEST and gc.isenabled()
"""


@pytest.mark.parametrize("package", ["bot", "agent"])
def test_the_heap_is_settled_when_modules_were_loaded(package: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK.format(package=package)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
