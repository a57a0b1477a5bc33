#!/usr/bin/env bash
# Messages of several people of a group chat, merged for models that want turns to alternate.
#
# Package: langchain-core 1.7.2
# Expected: `merge_message_runs` joins what one author said: a HumanMessage has a name, and messages of different names are
#           not one run. Facts beside the text (`additional_kwargs`) are those of one message or a list.
# Observed: messages of all people become one message without a name, even if one person wrote all of them. Of the facts,
#           texts are written behind each other and different whole numbers added, so two message ids become a third
#           one; flags or fractions that differ raise TypeError.
# So: put the name into the text before messages are merged, and keep ids and times elsewhere.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q langchain-core==1.7.2
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

from langchain_core.messages import AIMessage, HumanMessage, merge_message_runs

print("langchain-core", version("langchain-core"))


def merge(*messages):
    try:
        return [(one.name, one.text, one.additional_kwargs) for one in merge_message_runs(messages)]
    except TypeError:
        return "TypeError"


def say(name, text, **facts):
    return HumanMessage(text, name=name, additional_kwargs=facts)


changed = 0
for name, expected, observed, seen in (
    ("two people", "two messages", [(None, "deploy\nstop", {})], merge(say("ann", "deploy"), say("bob", "stop"))),
    ("one person", "ann", [(None, "deploy\nnow", {})], merge(say("ann", "deploy"), say("ann", "now"))),
    ("one message", "ann", [("ann", "deploy", {})], merge(say("ann", "deploy"), AIMessage("ok"))[:1]),
    ("ids of texts", "a or b", [(None, "a\nb", {"id": "D1D2"})], merge(say("ann", "a", id="D1"), say("ann", "b", id="D2"))),
    ("ids of numbers", "7 or 8", [(None, "a\nb", {"id": 15})], merge(say("ann", "a", id=7), say("ann", "b", id=8))),
    ("equal numbers", "7", [(None, "a\nb", {"id": 7})], merge(say("ann", "a", id=7), say("ann", "b", id=7))),
    ("flags", "one message", "TypeError", merge(say("ann", "a", urgent=True), say("ann", "b", urgent=False))),
    ("times", "one message", "TypeError", merge(say("ann", "a", sent=1.5), say("ann", "b", sent=2.5))),
):
    print(f"{name}\n  expected: {expected}\n  observed: {seen}")
    if seen != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
