#!/usr/bin/env bash
# Event streams with heartbeats, retry times and ids, read by two clients.
#
# Packages: httpx-sse 0.4.3, openai 3.57.0
# Expected: a block without a data line is no event: the HTML standard says so, and `: ping` between two blank lines, as
#           proxies and servers send it while a model thinks, is skipped by both.
# Observed: it is skipped only until the stream has an id. After the first `id:` line, each heartbeat is an event with empty
#           data in httpx-sse, and openai reads it as JSON and raises JSONDecodeError in the middle of the answer. Blocks
#           that only set the retry time or a type do the same at once.
# So: skip events with empty data, whatever the client says; a server for the OpenAI protocol sends no ids.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q httpx-sse==0.4.3 openai==3.57.0 httpx==0.28.1
cd "$dir"; venv/bin/python - <<'PYTHON'
import json
import sys
from importlib.metadata import version

import httpx
import openai
from httpx_sse import EventSource

for name in ("httpx-sse", "openai"):
    print(name, version(name))


def chunk(text):
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    body = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return f"data: {json.dumps(body)}\n\n"


def respond(stream):
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=stream)


def read_events(stream):
    return [event.data and "chunk" for event in EventSource(respond(stream)).iter_sse()]


def read_answer(stream):
    transport = httpx.MockTransport(lambda request: respond(stream + "data: [DONE]\n\n"))
    client = openai.OpenAI(api_key="none", base_url="http://server/v1", http_client=httpx.Client(transport=transport))
    answer, messages = [], [{"role": "user", "content": "hi"}]
    try:
        for part in client.chat.completions.create(model="m", messages=messages, stream=True):
            answer.append(part.choices[0].delta.content)
    except json.JSONDecodeError:
        answer.append("JSONDecodeError")
    return answer


PING = ": ping\n\n"
RAISED = "JSONDecodeError"
CASES = [
    ("heartbeats", chunk("a") + PING + PING + chunk("b"), ["chunk", "chunk"], ["a", "b"]),
    ("ids", "id: 1\n" + chunk("a") + "id: 2\n" + chunk("b"), ["chunk", "chunk"], ["a", "b"]),
    ("ids and a heartbeat", "id: 1\n" + chunk("a") + PING + "id: 2\n" + chunk("b"), ["chunk", "", "chunk"], ["a", RAISED]),
    ("a retry time first", "retry: 3000\n\n" + chunk("a"), ["", "chunk"], [RAISED]),
    ("a type without data", "event: ping\n\n" + chunk("a"), ["", "chunk"], [RAISED]),
]
changed = 0
for name, stream, events, answer in CASES:
    seen = read_events(stream), read_answer(stream)
    expected = ["chunk"] * stream.count("data:")
    print(f"{name}\n  expected: {expected}\n  observed: httpx-sse {seen[0]}, openai {seen[1]}")
    if seen != (events, answer):
        print(f"  CHANGED: it was {events}, {answer}")
        changed = 1
sys.exit(changed)
PYTHON
