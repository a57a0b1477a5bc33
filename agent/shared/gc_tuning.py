"""Garbage collection in a long-lived process."""

from __future__ import annotations

import gc
import sys

YOUNGEST_THRESHOLD = 2_000
"""Allocations per collection of the youngest generation. Python's default of 700 is meant for scripts."""

_modules_seen: list[int] = [0]


def pause_gc() -> None:
    """Disable collection until `freeze_heap`.

    While packages are imported nearly nothing is garbage, and collecting takes a tenth of the start-up time.
    """
    gc.disable()


def freeze_heap() -> None:
    """Collect once, then exclude every live object from later collections.

    A full collection visits every object; those of imported packages alone (some 400,000) held the event loop
    for 0.18 s at a time. Call it after start-up and after packages were imported on demand. It does nothing
    unless modules were imported since the last call.
    """
    gc.enable()
    loaded = len(sys.modules)
    if loaded > _modules_seen[-1]:
        _modules_seen[-1] = loaded
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNGEST_THRESHOLD, *gc.get_threshold()[1:])
