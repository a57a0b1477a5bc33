"""Addresses of PostgreSQL databases and what their connections are opened with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

TCP_LIMITS: Mapping[str, int] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""Connection parameters of libpq (s, the last one in ms), so that a connection to a lost host doesn't hang
for hours.
"""


END_IF_IDLE = "SET LOCAL idle_in_transaction_session_timeout = 2000"
"""Makes the server end the current transaction once its client has been silent for two seconds. The locks of
a paused process would otherwise keep others from taking over its work.
"""


def connect_arguments(url: str) -> dict[str, Any]:
    """Return psycopg's arguments for a connection to `url`, whose own parameters take precedence.

    Prepared statements are off: they belong to a connection, and pgbouncer changes it between transactions.
    """
    chosen = parse_qs(urlsplit(url).query)
    limits = {name: value for name, value in TCP_LIMITS.items() if name not in chosen}
    return {**limits, "prepare_threshold": None}


def sqlalchemy_url(url: str) -> str:
    """Return the URL as SQLAlchemy reads it, with psycopg as the driver."""
    scheme, _, rest = url.partition("://")
    return f"postgresql+psycopg://{rest}" if scheme in {"postgres", "postgresql"} else url


def libpq_url(url: str) -> str:
    """Return the URL as libpq reads it, without the name of a driver."""
    _, _, rest = url.partition("://")
    return f"postgresql://{rest}"
