#!/usr/bin/env bash
# Answer a question that a LangGraph node asks with interrupt(), with values that are empty.
#
# Package: langgraph 1.2.24
# Expected: Command(resume=value) gives the node each value that JSON has, as it gives "", 0, False and []: so an answer
#           of None or {} (a form without fields, "no preference") reaches it too.
# Observed: with None, the graph raises UnboundLocalError; with {}, it asks again as if nobody had answered, because
#           an empty object counts as a map of interrupt ids without entries. By the interrupt's id, both arrive.
# So: answer by id, Command(resume={interrupt.id: value}), also if only one question is open.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q langgraph==1.2.24
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version
from typing import TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

print("langgraph", version("langgraph"))


class State(TypedDict, total=False):
    answer: object


builder = StateGraph(State)
builder.add_node("ask", lambda state: {"answer": [interrupt("which?")]})
builder.add_edge(START, "ask")
graph = builder.compile(checkpointer=InMemorySaver())


def answer(value, by_id, thread):
    config = {"configurable": {"thread_id": thread}}
    asked = graph.invoke({}, config)["__interrupt__"][0]
    try:
        after = graph.invoke(Command(resume={asked.id: value} if by_id else value), config)
    except Exception as error:
        return type(error).__name__
    return "asked again" if "__interrupt__" in after else f"got {after['answer'][0]!r}"


for number, value in enumerate(["", 0, False, [], {}, None]):
    arrived = f"got {value!r}"
    plain, by_id = answer(value, False, f"p{number}"), answer(value, True, f"i{number}")
    print(f"{value!r}: {plain}; by id: {by_id}")
    before = {"None": "UnboundLocalError", "{}": "asked again"}.get(repr(value), arrived)
    if (plain, by_id) != (before, arrived):
        sys.exit(f"  CHANGED: it was {before}; by id: {arrived}")
PYTHON
