#!/usr/bin/env bash
# Count how often Python prints a warning that a program raises between the model calls of a LangChain agent.
#
# Package: langchain 1.4.7
# Expected: with the standard action "default", a warning is printed once for each place in the code, however often
#           the place is reached.
# Observed: it is printed again after each call of the agent's model. Creating the request of a model call suppresses
#           warnings for a moment, which makes Python forget what it has printed, for all warnings of the process.
# So: for a place that must warn once, use the action "ignore" with a log of your own, or count there.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q langchain==1.4.7 langchain-core==1.7.2
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
import warnings
from importlib.metadata import version

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel

print("langchain", version("langchain"))
printed = []
warnings.showwarning = lambda message, *rest: printed.append(str(message))
warnings.simplefilter("default")


def old_function():
    warnings.warn("old_function is deprecated", DeprecationWarning)


def count(step):
    printed.clear()
    for _ in range(10):
        old_function()
        step()
    return printed.count("old_function is deprecated")


agent = create_agent(GenericFakeChatModel(messages=iter(["hello"] * 10)))
alone = count(lambda: None)
beside = count(lambda: agent.invoke({"messages": ["hi"]}))
print(f"printed in ten calls alone: {alone}; in ten more with an agent: {beside}")
if (alone, beside) != (1, 9):
    sys.exit("  CHANGED: it was 1 and 9")
PYTHON
