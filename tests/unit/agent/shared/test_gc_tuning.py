"""Garbage collection after start-up skips what start-up allocated."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc
from agent.shared.gc_tuning import THRESHOLDS, freeze_heap, pause_gc
before = gc.get_freeze_count()
freeze_heap()
settled = gc.get_freeze_count()
kept = [[] for _ in range(100)]
freeze_heap()
assert settled > before + 1000, (before, settled)
assert gc.get_freeze_count() == settled, "nothing was loaded since"
pause_gc()
assert not gc.isenabled()
import wave
freeze_heap()
assert gc.get_freeze_count() > settled + 100, "a module was loaded"
pause_gc()
freeze_heap()
assert gc.get_threshold() == THRESHOLDS and gc.isenabled()
"""


OLD_GARBAGE = """
import collections, gc, weakref
heap = [[] for _ in range(600_000)]
from agent.shared.gc_tuning import freeze_heap
freeze_heap()
class Turn:
    def __init__(self):
        self.parts = [[self] for _ in range(50)]
running, ended = collections.deque(), []
for _ in range(4_000):
    running.append(Turn())
    ended.append(weakref.ref(running[0]))
    if len(running) > 500:
        running.popleft()
alive = len({id(turn) for reference in ended if (turn := reference()) is not None})
assert alive < 1_500, alive
"""


def test_objects_of_ended_work_do_not_wait_for_the_frozen_heap() -> None:
    done = subprocess.run([sys.executable, "-c", OLD_GARBAGE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_freezing_collects_only_after_new_imports() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
