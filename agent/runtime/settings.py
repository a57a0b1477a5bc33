"""Settings of the runtime: times in seconds, sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent.shared.connection_limits import ConnectionLimits
from agent.shared.tokens import AGENT_TOKEN_FILE

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from agent.runtime.auth import ProjectAuth
    from agent.runtime.http_keys import ConfigurableHeaders
    from agent.runtime.webhook_settings import WebhookSettings


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Limits of the event log and of a stream's memory."""

    tail_bytes: int = 262_144
    """Maximum size of one resumable run's events in memory; older events are read from the log."""
    live_tail_bytes: int = 8_388_608
    """The same for a run without a log; a reader that lags further behind gets a `gap` event."""
    flush_every: float = 0.008
    """Minimum time between two writes of a run's events."""
    flush_every_run: float = 0.0005
    """The same for each active run, up to `flush_every_most`: with many, events are written together."""
    flush_every_most: float = 0.03
    pending_bytes: int = 1_048_576
    """Maximum size of a run's unwritten events; at the limit its graph waits."""
    keep_seconds: float = 86_400.0
    """Retention of the log of an ended run."""
    keep_events: int = 500_000
    """Maximum number of events in the logs of all ended runs; the oldest logs are pruned first."""
    prune_every: float = 60.0

    def flush_pause(self, runs: int) -> float:
        """Return the minimum time between two writes of a run's events with this number of active runs."""
        return max(self.flush_every, min(runs * self.flush_every_run, self.flush_every_most))


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """Settings of a `langgraph.json`."""

    webhooks: WebhookSettings | None = None
    """None: no run may name a webhook."""
    webhook_secret: bytes | None = field(default=None, repr=False)
    disabled: frozenset[str] = frozenset()
    """Families of routes that are not served; `webhooks`: those that runs name are not called."""
    headers: ConfigurableHeaders | None = None
    """Request headers that are copied to `configurable`; None: none."""
    app: Starlette | None = None
    """Application whose routes take precedence over the runtime's, and whose middleware wraps them."""
    has_open_app: bool = False
    """True if `auth` does not apply to the routes of `app`."""
    auth: ProjectAuth | None = None
    """Handlers that identify users; None: everybody needs the token."""
    thread_ttl: tuple[str, float] | None = None
    """Strategy and minutes of the expiry of new threads that have none of their own."""


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    """Settings of one runtime process."""

    home: Path
    database_url: str | None = field(default=None, repr=False)
    """PostgreSQL database of threads, runs, events, items and checkpoints; None: SQLite files in `home`."""
    replica: str = ""
    """Name of this process among those that share `home` ("": it has `home` to itself)."""
    max_runs: int = 256
    """Maximum number of simultaneous runs."""
    max_attempts: int = 3
    """Maximum number of attempts to execute a run, including those that a crash ended."""
    heartbeat: float = 5.0
    """Interval of comments on an idle stream and of white space on an idle wait."""
    drain: float = 1.0
    """Time that running graphs have to reach their next checkpoint when the process stops."""
    cancel_grace: float = 0.8
    """Time that a cancelled graph has to stop before its run is ended."""
    body_bytes: int = 64_000_000
    """Maximum size of a request, without uploaded files."""
    body_seconds: float = 20.0
    """Time in which a request's body must arrive; each kilobyte adds a second."""
    log: LogSettings = field(default_factory=LogSettings)
    signing_key: str | None = field(default=None, repr=False)
    """Key with which the bot signs its requests; None: everybody with the token is trusted."""
    project: ProjectSettings = ProjectSettings()

    @property
    def database(self) -> Path:
        """SQLite database of threads, runs and events."""
        return self.home / "agent.db"

    @property
    def checkpoints(self) -> Path:
        """SQLite database of checkpoints."""
        return self.home / "checkpoints.db"

    @property
    def items(self) -> Path:
        """SQLite database of store items."""
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
    database_url: str | None = field(default=None, repr=False)
    """As in `RuntimeSettings`."""
    replica: str = ""
    """As in `RuntimeSettings`."""
    token: str | None = None
    """Token that clients must send; None: the one in `token_file`."""
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    """Origins whose web pages may call, in addition to those in `graphs`; `*` matches any part."""
    max_runs: int = 256
    body_bytes: int = 64_000_000
    """Maximum size of a request, without uploaded files."""
    connections: ConnectionLimits = field(default_factory=lambda: ConnectionLimits(total=1024))
    """Limits of connections; those to a Unix socket are not counted."""
    signing_key: str | None = field(default=None, repr=False)
    """Key with which the bot signs its requests; None: everybody with the token is trusted."""
    port_file: Path | None = None
    """The port is written here as text when the server accepts connections."""
    ready_fd: int | None = None
    """The port is written here as a line when the server accepts connections."""
    parent_pid: int | None = None
    """The process exits when its parent's process id differs from this, because the parent has ended."""
    until_stdin_closes: bool = False

    @property
    def token_file(self) -> Path:
        """Token file of a process that was started without a token."""
        return self.home / AGENT_TOKEN_FILE
