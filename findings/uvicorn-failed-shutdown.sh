#!/usr/bin/env bash
# What the exit code of uvicorn tells about a lifespan that fails, at the start and at the end.
#
# Packages: uvicorn 0.54.0, starlette 1.10.0
# Expected: "Application startup failed. Exiting." and "Application shutdown failed. Exiting." are both told by the exit
#           code: not 0, and not the code of a clean stop.
# Observed: only the start is (3). When the end of a lifespan raises (a flush or a commit that failed), the exit code is
#           that of a clean stop: 0 after SIGINT, 143 after SIGTERM. The traceback in the log is the only trace.
# So: what must not be lost is not left to a lifespan's end, or the program keeps the failure itself and exits with it.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q uvicorn==0.54.0 starlette==1.10.0
cd "$dir"; cat > app.py <<'PYTHON'
import os
from contextlib import asynccontextmanager

from starlette.applications import Starlette


@asynccontextmanager
async def lifespan(app):
    if os.environ["FAIL"] == "start":
        raise RuntimeError("no database")
    print("started", flush=True)
    yield
    if os.environ["FAIL"] == "end":
        raise RuntimeError("flush failed")


app = Starlette(lifespan=lifespan)
PYTHON
venv/bin/python - <<'PYTHON'
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from importlib.metadata import version

for name in ("uvicorn", "starlette"):
    print(name, version(name))


def answer():
    for _ in range(100):
        time.sleep(0.1)
        with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(OSError):
            client.connect("app.sock")
            client.sendall(b"GET / HTTP/1.1\r\nHost: app\r\nConnection: close\r\n\r\n")
            if client.recv(100):
                return
    raise SystemExit("the server doesn't answer")


def run(fail, number):
    command = [sys.executable, "-m", "uvicorn", "app:app", "--uds", "app.sock", "--log-level", "error"]
    environ = {**os.environ, "FAIL": fail}
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        if process.stdout.readline():
            answer()
            process.send_signal(number)
        errors = process.communicate(timeout=30)[1]
    finally:
        process.kill()
    code = process.returncode
    told = [word for word in ("startup", "shutdown") if f"Application {word} failed" in errors]
    return (code if code >= 0 else 128 - code), told


CASES = [
    ("start", signal.SIGINT, "not 0", 3, ["startup"]),
    ("nothing", signal.SIGINT, "0", 0, []),
    ("end", signal.SIGINT, "not 0", 0, ["shutdown"]),
    ("nothing", signal.SIGTERM, "143", 143, []),
    ("end", signal.SIGTERM, "another one than that of a clean stop", 143, ["shutdown"]),
]
changed = 0
for fail, number, expected, code, told in CASES:
    seen = run(fail, number)
    print(f"{fail} fails, {number.name}\n  expected: exit code {expected}")
    print(f"  observed: exit code {seen[0]}, failures in the log {seen[1]}")
    if seen != (code, told):
        print(f"  CHANGED: it was {code}, {told}")
        changed = 1
sys.exit(changed)
PYTHON
