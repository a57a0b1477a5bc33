"""Leases of runs: which process executes a run, and proof that it still does when it writes.

A run belongs to the process that created it, or to the one that has the unfinished runs of its thread, so
that one process decides the order of a thread's runs. On PostgreSQL, a process renews its row in
`agent_processes`, by the database's clock. `EXPIRES_AFTER` seconds after the last renewal, another process
takes its runs over and raises their fence. Each write of a run names the fence, so that one by a process that
was paused meanwhile is refused. A SQLite file has a single owner, which takes over all runs when it starts.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from agent.errors import AgentError
from agent.runtime.domain import Run
from agent.runtime.store.schema_version import NEWEST
from agent.runtime.store.statements import execute_sql, is_sqlite
from agent.shared.metrics import count_refused_write

RENEW_EVERY: Final = 1.0
EXPIRES_AFTER: Final = 7.0
"""Seconds without a renewal after which other processes take over the runs of a process."""
FIRST_FENCE: Final = 1
"""Fence of a run that no process has taken over."""
TAKEOVER_LOCK: Final = 5_207_744_902
"""Key of the advisory lock under which one process at a time takes runs over, and so whole threads."""
_NOW = "extract(epoch FROM clock_timestamp())"
_RENEW: Final = (
    f"INSERT INTO agent_processes (owner, until, version) VALUES (?, {_NOW} + ?, {NEWEST}) "  # noqa: S608
    "ON CONFLICT (owner) DO UPDATE SET until = excluded.until, version = excluded.version"
)
_RELEASE: Final = "DELETE FROM agent_processes WHERE owner = ?"
_UNFINISHED = "status IN ('pending', 'running')"
_TAKE_ALL: Final = f"UPDATE runs SET owner = ?, fence = fence + 1 WHERE {_UNFINISHED}"  # noqa: S608
_TAKE_EXPIRED: Final = (
    f"UPDATE runs SET owner = ?, fence = fence + 1 WHERE {_UNFINISHED} "  # noqa: S608
    f"AND NOT EXISTS (SELECT 1 FROM agent_processes WHERE owner = runs.owner AND until >= {_NOW})"
)
_SELECT_OWNED: Final = f"SELECT run_id, fence, stop FROM runs WHERE owner = ? AND {_UNFINISHED}"  # noqa: S608
_SELECT_OWNER: Final = (
    f"SELECT owner FROM runs WHERE thread_id = ? AND {_UNFINISHED} "  # noqa: S608
    'ORDER BY "order" LIMIT 1'
)
_SELECT_LIVE: Final = f"SELECT owner FROM agent_processes WHERE until >= {_NOW} LIMIT 1"  # noqa: S608
SELECT_HOLDER: Final = "SELECT owner, fence FROM runs WHERE run_id = ?"


class LeaseLost(AgentError):
    """Another process executes the run; nothing was written. Each one counts as a refused write."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        count_refused_write("run")
        super().__init__("Another process has taken over this run.")


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of a process to write the state of a run."""

    run_id: str
    owner: str
    fence: int


def name_owner(home: Path) -> str:
    """Return the name of the process of this data directory. Blocking.

    It is the same after a restart, so that a process continues its own runs at once.
    """
    about = home.stat()
    return f"{socket.gethostname()} {home.resolve()} #{about.st_dev}-{about.st_ino}"


def lease_of(run: Run) -> Lease:
    return Lease(run.run_id, run.owner, run.fence)


def check_lease(connection: Connection, lease: Lease) -> None:
    """Raise `LeaseLost` if another process executes the run; none takes it over before the commit.

    A run that has been deleted has no other process.
    """
    # The shared lock delays a takeover.
    statement = SELECT_HOLDER if is_sqlite(connection) else f"{SELECT_HOLDER} FOR SHARE"
    row = execute_sql(connection, statement, (lease.run_id,)).fetchone()
    if row is not None and tuple(row) != (lease.owner, lease.fence):
        raise LeaseLost(lease.run_id)


def find_owner(connection: Connection, thread_id: str) -> str | None:
    """Return the process that has the unfinished runs of a thread, dead or alive; None if there are none."""
    row = execute_sql(connection, _SELECT_OWNER, (thread_id,)).fetchone()
    return None if row is None else str(row[0])


@dataclass(frozen=True, slots=True)
class OwnedRun:
    """An unfinished run of a process, and how other processes have asked to stop it."""

    run_id: str
    fence: int
    stop: str | None


def start_owner(connection: Connection, owner: str) -> None:
    """Take over the unfinished runs that belong to nobody alive; the earlier process of this name is not."""
    if is_sqlite(connection):
        execute_sql(connection, _TAKE_ALL, (owner,))
        return
    execute_sql(connection, _RELEASE, (owner,))
    _take_expired(connection, owner)
    execute_sql(connection, _RENEW, (owner, EXPIRES_AFTER))


def renew_owner(connection: Connection, owner: str) -> Sequence[OwnedRun]:
    """Renew the process's lease, take over runs of expired ones, and return all its unfinished runs."""
    if not is_sqlite(connection):
        execute_sql(connection, _RENEW, (owner, EXPIRES_AFTER))
        _take_expired(connection, owner)
    return [OwnedRun(*row) for row in execute_sql(connection, _SELECT_OWNED, (owner,)).fetchall()]


def find_live_process(connection: Connection) -> str | None:
    """Return the name of a process that uses this PostgreSQL database, or None."""
    row = execute_sql(connection, _SELECT_LIVE).fetchone()
    return row and str(row[0])


def release_owner(connection: Connection, owner: str) -> None:
    """Let other processes take over at once."""
    if not is_sqlite(connection):
        execute_sql(connection, _RELEASE, (owner,))


def _take_expired(connection: Connection, owner: str) -> None:
    execute_sql(connection, "SELECT pg_advisory_xact_lock(?)", (TAKEOVER_LOCK,))
    execute_sql(connection, _TAKE_EXPIRED, (owner,))
