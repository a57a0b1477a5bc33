"""The heap of a process that lives long."""

from __future__ import annotations

import gc
import sys

# Allocations between collections of the youngest generation; 700 were Python's default for scripts.
YOUNGEST = 2_000

_modules_seen: list[int] = [0]


def loading() -> None:
    """No collections until `settle`: while packages load nearly nothing is garbage, and looking costs a tenth
    of the start.
    """
    gc.disable()


def settle() -> None:
    """Collect once, then never look at what stands now again; nothing to do unless modules were loaded since.

    A full collection visits every object, and those of imported packages alone (some 400,000) held the loop
    for 0.18 s at a time. Called after start-up and wherever packages are loaded on demand.
    """
    gc.enable()
    loaded = len(sys.modules)
    if loaded > _modules_seen[-1]:
        _modules_seen[-1] = loaded
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNGEST, *gc.get_threshold()[1:])
