#!/usr/bin/env bash
# A model's answer that reaches the token limit within the arguments of a tool call, streamed and not, in an agent.
#
# Packages: langchain 1.4.7, langchain-core 1.7.2, langchain-openai 1.7.3
# Expected: arguments that break off are no JSON, so the call is invalid and the tool isn't run, however the answer came;
#           the finish reason "length" is there to tell it.
# Observed: so it is in one piece. Streamed, the arguments are completed: an open text or object is closed and a
#           half-written value is left out. The call counts as valid, and the agent runs the tool with a shorter path, or
#           without the `dry_run` that was about to come. Arguments of which nothing can be saved become {}.
# So: read the pieces of the stream yourself before a tool runs (`tool_call_chunks` have the text), or refuse calls of an
#     answer whose finish reason is "length".
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q langchain==1.4.7 langchain-core==1.7.2 langchain-openai==1.7.3 openai==3.57.0 httpx==0.28.1
cd "$dir"; venv/bin/python - <<'PYTHON'
import json
import sys
from importlib.metadata import version

import httpx
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

for name in ("langchain", "langchain-core", "langchain-openai"):
    print(name, version(name))
runs = []


@tool
def delete(path: str = "/", dry_run: bool = False) -> str:
    "Delete a folder."
    runs.append((path, dry_run))
    return "deleted"


def answer(request, arguments):
    """Call the tool with these arguments, which break off; after its result, end."""
    asked = json.loads(request.content)
    call = {"index": 0, "id": "1", "type": "function", "function": {"name": "delete", "arguments": arguments}}
    message, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "length"
    if asked["messages"][-1]["role"] == "tool":
        message, reason = {"role": "assistant", "content": "done"}, "stop"
    body = {"id": "1", "created": 1, "model": "m"}
    if not asked.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return httpx.Response(200, json={**body, "object": "chat.completion", "choices": [choice]})
    deltas = [{"index": 0, "delta": delta, "finish_reason": end} for delta, end in ((message, None), ({}, reason))]
    lines = [json.dumps({**body, "object": "chat.completion.chunk", "choices": [delta]}) for delta in deltas]
    stream = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"])
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=stream)


def run(arguments, streaming):
    runs.clear()
    transport = httpx.MockTransport(lambda request: answer(request, arguments))
    client = httpx.Client(transport=transport)
    model = ChatOpenAI(model="m", api_key="none", base_url="http://server/v1", http_client=client, streaming=streaming)
    create_agent(model, [delete]).invoke({"messages": ["clean up"]})
    return list(runs)


changed = 0
for arguments, observed in (
    ('{"path": "/data/old-', [("/data/old-", False)]),
    ('{"path": "/data", "dry_run": tr', [("/data", False)]),
    ('{"path": "/data/old", "dry_run"', [("/data/old", False)]),
    ('{"pa', [("/", False)]),
):
    seen = run(arguments, False), run(arguments, True)
    print(f"{arguments}\n  expected: []\n  observed: in one piece {seen[0]}, streamed {seen[1]}")
    if seen != ([], observed):
        print(f"  CHANGED: it was [] and {observed}")
        changed = 1
sys.exit(changed)
PYTHON
