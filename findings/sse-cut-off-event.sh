#!/usr/bin/env bash
# An event stream whose connection ends within an event, read by three clients.
#
# Packages: sseclient-py 1.9.0, httpx-sse 0.4.3, langgraph-sdk 0.4.14
# Expected: what stands after the last blank line is dropped, as the HTML standard says, because only a blank line shows
#           that an event is whole. The id of an event also belongs to later events without one.
# Observed: sseclient-py delivers the first lines of an event as the event: of the lines "drop table" and "old_copy", only
#           the first one, with the type and the id of the whole. Whoever stores that id and resumes after it never gets
#           the rest. It also forgets an id after one event. The others drop the part and keep the id.
# So: end each stream with an event of your own, and treat the last event before it as cut off if it doesn't come.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q sseclient-py==1.9.0 httpx-sse==0.4.3 langgraph-sdk==0.4.14
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

import httpx
from httpx_sse import EventSource
from langgraph_sdk.sse import SSEDecoder, iter_lines_raw
from sseclient import SSEClient

for name in ("sseclient-py", "httpx-sse", "langgraph-sdk"):
    print(name, version(name))


def respond(stream):
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=stream)


def read_sseclient(stream):
    return [(event.id, event.data) for event in SSEClient(iter([stream])).events()]


def read_httpx(stream):
    return [(event.id, event.data) for event in EventSource(respond(stream)).iter_sse()]


def read_langgraph(stream):
    decoder = SSEDecoder()
    parts = [decoder.decode(line) for line in iter_lines_raw(respond(stream))]
    return [(part.id, part.data) for part in parts if part]


CASES = [
    ("cut after a line", b"id: 1\ndata: 1\n\nid: 2\ndata: 5\n", [("1", "1")], [("1", "1"), ("2", "5")]),
    ("cut between two lines", b"id: 2\ndata: drop table\n", [], [("2", "drop table")]),
    ("an id for two events", b"id: 1\ndata: 1\n\ndata: 2\n\n", [("1", "1"), ("1", "2")], [("1", "1"), (None, "2")]),
]
changed = 0
for name, stream, expected, observed in CASES:
    seen = read_sseclient(stream)
    others = [[(id, str(data)) for id, data in read(stream)] for read in (read_httpx, read_langgraph)]
    print(f"{name}\n  expected: {expected}\n  observed: sseclient-py {seen}")
    print(f"            httpx-sse {others[0]}, langgraph-sdk {others[1]}")
    if seen != observed or others != [expected, expected]:
        print(f"  CHANGED: sseclient-py had {observed}, the others what is expected")
        changed = 1
sys.exit(changed)
PYTHON
