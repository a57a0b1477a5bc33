"""A PostgreSQL database that can refuse connections, and pgbouncer in front of one."""

from __future__ import annotations

import os
import pwd
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from psycopg import sql

from tests.harness.free_ports import free_port
from tests.harness.machine import Deadline


class RefusableServer:
    """The database at `url`, whose connections can be refused; `server` is an administrator's URL."""

    def __init__(self, server: str, url: str) -> None:
        self._server, self.url = server, url
        self.name = str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])

    def refuse(self) -> None:
        """End all connections, and refuse new ones."""
        self._allow("false")
        with psycopg.connect(self._server, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [self.name]
            )

    def accept(self) -> None:
        """Accept connections again."""
        self._allow("true")

    @contextmanager
    def outage(self) -> Iterator[None]:
        """Refuse connections within the context."""
        self.refuse()
        try:
            yield
        finally:
            self.accept()

    def _allow(self, value: str) -> None:
        change = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS " + value).format(sql.Identifier(self.name))
        with psycopg.connect(self._server, autocommit=True) as admin:
            admin.execute(change)


@contextmanager
def pgbouncer(server: str, database: str) -> Iterator[str]:
    """Run pgbouncer with transaction pooling; yield a database's URL behind it."""
    with TemporaryDirectory() as folder:
        # Started by root, pgbouncer runs as another user.
        Path(folder).chmod(0o755)
        yield from _serve_pgbouncer(server, database, Path(folder, "pgbouncer.ini"))


def _serve_pgbouncer(server: str, database: str, path: Path) -> Iterator[str]:
    port = free_port()
    host = psycopg.conninfo.conninfo_to_dict(server)["host"]
    path.write_text(
        f"[databases]\n* = host={host} user=postgres\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        "auth_type = any\npool_mode = transaction\n"
    )
    path.chmod(0o644)
    # The server's socket folder belongs to its user; pgbouncer, which refuses root, runs as the same user.
    owner = pwd.getpwuid(Path(str(host)).stat().st_uid).pw_name
    user = ["-u", owner] if os.geteuid() == 0 else []
    process = subprocess.Popen(["pgbouncer", "-q", *user, str(path)], stderr=subprocess.DEVNULL)
    try:
        url = f"postgresql://postgres@127.0.0.1:{port}/{database}"
        deadline = Deadline(10.0)
        while True:
            try:
                psycopg.connect(url).close()
                break
            except psycopg.OperationalError:
                if deadline.passed or process.poll() is not None:
                    raise
                time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(10)
