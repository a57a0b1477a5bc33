"""How the parts of one process learn at once that another part changed skills or extensions."""

from __future__ import annotations

import threading


class ExtensionChanges:
    """Counts what this process changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0

    def record(self) -> None:
        """Something was changed."""
        with self._lock:
            self.count += 1


CHANGES = ExtensionChanges()
"""Those of the process."""
