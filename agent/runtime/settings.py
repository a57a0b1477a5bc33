"""Settings of the runtime. Times in seconds, sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Bounds of the event log and of what a stream holds in memory."""

    tail_bytes: int = 262_144
    """Of one resumable run, kept in memory for its readers; the rest is read from the log."""
    live_tail_bytes: int = 8_388_608
    """Of one run without a log, for readers that lag; beyond it they get a `gap`."""
    flush_every: float = 0.008
    """A run's events are written and sent together at most this often; the first goes at once."""
    pending_bytes: int = 1_048_576
    """Produced but not yet written; then the graph waits."""
    keep_seconds: float = 86_400.0
    """A finished run's log is pruned after this time."""
    keep_events: int = 500_000
    """Of finished runs together; the oldest logs go first."""
    prune_every: float = 60.0


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    """How one runtime process works."""

    home: Path
    max_runs: int = 256
    """Simultaneous runs of the process."""
    max_attempts: int = 3
    """Executions of one run, counting those that a crash cut off."""
    heartbeat: float = 5.0
    """A comment on an idle stream, white space on an idle wait."""
    drain: float = 1.0
    """How long a stop waits for running graphs to reach their next checkpoint."""
    cancel_grace: float = 0.8
    """How long a cancelled graph may take before its run is declared ended."""
    log: LogSettings = field(default_factory=LogSettings)

    @property
    def database(self) -> Path:
        """The runtime's own rows."""
        return self.home / "agent.db"

    @property
    def checkpoints(self) -> Path:
        """The saver's database."""
        return self.home / "checkpoints.db"

    @property
    def items(self) -> Path:
        """The store's items."""
        return self.home / "agent.db"


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """The address and graphs of a runtime process; without `graphs` it serves the lead agent."""

    home: Path
    host: str = "127.0.0.1"
    port: int = 2024
    """0 means any free port; `port_file` and `ready_fd` announce it."""
    uds: Path | None = None
    """A Unix socket to use instead of host and port."""
    graphs: Path | None = None
    """A `langgraph.json` as the LangGraph CLI reads it."""
    config: Path | None = None
    token: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    max_runs: int = 256
    port_file: Path | None = None
    """The port is written here as text when the server accepts connections."""
    ready_fd: int | None = None
    """The port is written here as a line when the server accepts connections."""
    parent_pid: int | None = None
    """The process ends when its parent has another id."""
    until_stdin_closes: bool = False
