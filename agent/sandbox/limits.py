"""What a command may use."""

from __future__ import annotations

from dataclasses import dataclass

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Of one command: `seconds` it may take, `output_bytes` that are kept of what it prints, `flood_bytes`
    of output after which it is stopped, `processes` and threads at once, `memory_mb` of all of them together,
    `open_files` of each. Of a thread: `disk_mb` and `disk_files` in its folders. `free_mb` of the disk stay
    free for everybody else; `scratch_mb` is the size of `/tmp`. Megabytes are of 1,000,000 bytes.
    """

    seconds: float = 120.0
    output_bytes: int = 400_000
    flood_bytes: int = 50_000_000
    processes: int = 256
    memory_mb: int = 2_000
    open_files: int = 1_024
    disk_mb: int = 2_000
    disk_files: int = 200_000
    free_mb: int = 500
    scratch_mb: int = 256

    def time_for(self, seconds: float | None) -> float:
        """Seconds for a command that asks for so many."""
        return self.seconds if seconds is None else min(seconds, self.seconds)
