"""Check that the bot's database is reachable and has a known schema version, without changing it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import create_engine
from sqlalchemy.engine import Engine
from sqlalchemy.exc import ArgumentError, DatabaseError
from sqlalchemy.pool import NullPool

from agent.shared.install_hints import install_command, own_extra
from bot.cli.doctor.finding import Finding
from bot.store.schema import HEAD, REVISIONS, current

SECONDS = 5


def look(url: str, home: Path) -> Finding:
    """Check the database at `url`, or the one in the data directory."""
    place = f"database at {urlsplit(url).hostname}" if url else f"database {home / 'bot.db'}"
    try:
        engine = _remote(url) if url else _local(home / "bot.db")
        with engine.connect() as connection:
            found = current(connection)
    except ModuleNotFoundError as error:
        command = install_command(own_extra("postgres"))
        return Finding(False, f"{place} needs the package {error.name}; install it: {command}")
    except ArgumentError:
        return Finding(
            False, f"{place}: database.url is no address; expected postgresql://user:password@host/name"
        )
    except DatabaseError as error:
        why = " ".join(str(error.orig or type(error).__name__).split())
        return Finding(False, f"{place} cannot be read: {why}; look whether it runs, and at database.url")
    if found and found not in REVISIONS:
        return Finding(
            False,
            f"{place} was made by a newer version of Roebot (schema {found}, this one knows {HEAD}); "
            "install that version again, or put back a backup from before",
        )
    behind = f", brought from schema {found} to {HEAD} at the next start" if found not in {"", HEAD} else ""
    return Finding(True, f"{place} can be read{behind}")


def _remote(url: str) -> Engine:
    scheme, _, rest = url.partition("://")
    full = f"postgresql+psycopg://{rest}" if scheme in {"postgres", "postgresql"} else url
    return create_engine(full, poolclass=NullPool, connect_args={"connect_timeout": SECONDS})


def _local(path: Path) -> Engine:
    def connect() -> sqlite3.Connection:
        return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)

    return create_engine("sqlite://", creator=connect, poolclass=NullPool)
