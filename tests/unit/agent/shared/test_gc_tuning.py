"""Garbage collection after start-up skips what start-up allocated."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc
from agent.shared.gc_tuning import YOUNGEST_THRESHOLD, freeze_heap, pause_gc
before = gc.get_freeze_count()
freeze_heap()
settled = gc.get_freeze_count()
kept = [[] for _ in range(100)]
freeze_heap()
assert before == 0 and settled > 1000, (before, settled)
assert gc.get_freeze_count() == settled, "nothing was loaded since"
pause_gc()
assert not gc.isenabled()
import wave
freeze_heap()
assert gc.get_freeze_count() > settled + 100, "a module was loaded"
pause_gc()
freeze_heap()
assert gc.get_threshold()[0] == YOUNGEST_THRESHOLD and gc.isenabled()
"""


def test_freezing_collects_only_after_new_imports() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
