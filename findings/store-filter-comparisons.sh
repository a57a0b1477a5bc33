#!/usr/bin/env bash
# `$gt` and `$ne` on texts, absent keys and large ids, in two stores of LangGraph.
#
# Packages: langgraph 1.2.22, langgraph-checkpoint 4.3.2 (InMemoryStore), langgraph-checkpoint-sqlite 3.1.2 (SqliteStore)
# Expected: `$gt` compares dates written as ISO texts as texts, leaves out items without the key, and `$ne` has one meaning.
# Observed: InMemoryStore turns both sides into float. One item without the key, or with a text that is no number, makes
#           the whole search raise (TypeError, ValueError); ISO dates can't be compared at all; "10" > "3" is true in memory
#           and false in SQLite, which compares texts. `$ne: "done"` finds items without the key (or with null) in memory
#           only: SQLite's `!=` is neither true nor false for null. Neither store sees that 2**60 + 1 is more than 2**60:
#           both compare floats, so "everything after this id" loses ids of 19 digits, although `$eq` tells them apart.
# So: store what is compared as small numbers in every item, and write the default value rather than leaving a key out.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q langgraph==1.2.22 langgraph-checkpoint==4.3.2 langgraph-checkpoint-sqlite==3.1.2
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

for name in ("langgraph-checkpoint", "langgraph-checkpoint-sqlite"):
    print(name, version(name))


def ask(store, items, filter):
    for key, value in items.items():
        store.put(("tasks",), key, value)
    try:
        return sorted(item.key for item in store.search(("tasks",), filter=filter))
    except (TypeError, ValueError) as error:
        return type(error).__name__


dates = {"early": {"due": "2026-01-02"}, "late": {"due": "2026-03-02"}}
tries = {"nine": {"tries": 9}, "none": {}}
texts = {"nine": {"build": "9"}, "ten": {"build": "10"}}
states = {"done": {"state": "done"}, "open": {"state": "open"}, "absent": {}, "null": {"state": None}}
ids = {"first": {"id": 2**60}, "second": {"id": 2**60 + 1}}
CASES = [
    ("dates as texts", dates, {"due": {"$gt": "2026-02-01"}}, ["late"], "ValueError", ["late"]),
    ("an item without the key", tries, {"tries": {"$gt": 3}}, ["nine"], "TypeError", ["nine"]),
    ("numbers as texts", texts, {"build": {"$gt": "3"}}, "the same of both", ["nine", "ten"], ["nine"]),
    ("not done", states, {"state": {"$ne": "done"}}, "the same of both", ["absent", "null", "open"], ["open"]),
    ("an id of 19 digits", ids, {"id": {"$gt": 2**60}}, ["second"], [], []),
    ("the same id by $eq", ids, {"id": {"$eq": 2**60}}, ["first"], ["first"], ["first"]),
]
changed = 0
for name, items, filter, expected, memory, sqlite in CASES:
    with SqliteStore.from_conn_string(":memory:") as store:
        store.setup()
        seen = ask(InMemoryStore(), items, filter), ask(store, items, filter)
    print(f"{name}: filter {filter} over {items}")
    print(f"  expected: {expected}\n  observed: InMemoryStore {seen[0]}, SqliteStore {seen[1]}")
    if seen != (memory, sqlite):
        print(f"  CHANGED: it was {memory}, {sqlite}")
        changed = 1
sys.exit(changed)
PYTHON
