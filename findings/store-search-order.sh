#!/usr/bin/env bash
# Which items `search(limit=2)` returns, in two stores of LangGraph.
#
# Packages: langgraph 1.2.22, langgraph-checkpoint 4.3.2 (InMemoryStore), langgraph-checkpoint-sqlite 3.1.2 (SqliteStore)
# Expected: the same two items of four from both stores, the newest or the oldest.
# Observed: InMemoryStore returns the two that were put first, SqliteStore the two that were written last: nothing in
#           common. A later write to the oldest item moves it to the front in SQLite and not at all in memory. And
#           SqliteStore's times have whole seconds, so within one second its order is the order of insertion, oldest first.
# So: code that was tried with InMemoryStore and takes "the first ten" loses exactly the others on SQLite; a page that is
#     read by offset while items are written skips some. Ask for all and sort by a field of your own.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q langgraph==1.2.22 langgraph-checkpoint==4.3.2 langgraph-checkpoint-sqlite==3.1.2
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
import time
from importlib.metadata import version

from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

for name in ("langgraph-checkpoint", "langgraph-checkpoint-sqlite"):
    print(name, version(name))


def keys(store, **options):
    return [item.key for item in store.search(("notes",), **options)]


memory = InMemoryStore()
seen = {}
with SqliteStore.from_conn_string(":memory:") as sqlite:
    sqlite.setup()
    time.sleep(1 - time.time() % 1 + 0.1)  # four writes in the same second
    for key in "abcd":
        sqlite.put(("notes",), key, {"n": 1})
    seen["one second, SqliteStore, limit=2"] = keys(sqlite, limit=2)
with SqliteStore.from_conn_string(":memory:") as sqlite:
    sqlite.setup()
    for key in "abcd":
        for store in (memory, sqlite):
            store.put(("notes",), key, {"n": 1})
        time.sleep(1.2)
    for store in (memory, sqlite):
        seen[f"a second apart, {type(store).__name__}, limit=2"] = keys(store, limit=2)
    for store in (memory, sqlite):
        store.put(("notes",), "a", {"n": 2})
        seen[f"after a is written again, {type(store).__name__}"] = keys(store)
observed = {
    "one second, SqliteStore, limit=2": ["a", "b"],
    "a second apart, InMemoryStore, limit=2": ["a", "b"],
    "a second apart, SqliteStore, limit=2": ["d", "c"],
    "after a is written again, InMemoryStore": ["a", "b", "c", "d"],
    "after a is written again, SqliteStore": ["a", "d", "c", "b"],
}
print("items a, b, c, d are put in this order\nexpected: the same items from both stores")
for name, found in seen.items():
    print(f"observed, {name}: {found}" + ("" if found == observed[name] else f"  CHANGED: it was {observed[name]}"))
sys.exit(seen != observed)
PYTHON
