#!/usr/bin/env bash
# CloudEvents with bytes, texts and flags, sent over HTTP in both modes and read again.
#
# Package: cloudevents 2.2.0
# Expected: an event has the same data and attributes after both modes, the format of JSON data is JSON, and an event that
#           came without a time has none, since the attribute is optional.
# Observed: structured mode keeps everything. In binary mode, bytes arrive as text if they happen to be UTF-8 and as bytes
#           otherwise, a JSON text is sent without its quotes, so "42" arrives as the number 42, false as the text "False",
#           and a flag as "True" (the specification's form is "true"). In both modes an event without a time gets the
#           time of its reading: another one at each delivery, and nothing tells it from the source's.
# So: take the data from the raw body, compare attributes as lower-case texts, and hash or sort by no time that the message
#     doesn't hold itself.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q cloudevents==2.2.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import json
import sys
from importlib.metadata import version

from cloudevents.core.bindings.http import (
    HTTPMessage,
    from_http_event,
    to_binary_event,
    to_structured_event,
)
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

print("cloudevents", version("cloudevents"))
FORMAT = JSONFormat()
REQUIRED = {"id": "1", "source": "/deploys", "type": "t", "specversion": "1.0"}


def send(write, data, **attributes):
    message = write(CloudEvent({**REQUIRED, **attributes}, data), FORMAT)
    event = from_http_event(message, FORMAT)
    return event.get_data(), event.get_attributes().get("urgent")


changed = 0
JSON = {"datacontenttype": "application/json"}
BYTES = {"datacontenttype": "application/octet-stream"}
for data, attributes, observed in (
    (b"\xff\x00", BYTES, (b"\xff\x00", None)),
    (b"abc", BYTES, ("abc", None)),
    ({"a": "b"}, JSON, ({"a": "b"}, None)),
    ("42", JSON, (42, None)),
    ("hello", JSON, ("hello", None)),
    (False, JSON, ("False", None)),
    ({}, {**JSON, "urgent": True}, ({}, "True")),
):
    expected = data, attributes.get("urgent")
    binary, structured = (send(write, data, **attributes) for write in (to_binary_event, to_structured_event))
    print(f"{data!r} {attributes}\n  expected: {expected}\n  observed: binary {binary}, structured {structured}")
    # repr, because 42 and 42.0, or False and 0, are equal
    if (repr(binary), repr(structured)) != (repr(observed), repr(expected)):
        print(f"  CHANGED: it was {observed} and {expected}")
        changed = 1
body = to_binary_event(CloudEvent({**REQUIRED, **JSON}, "hello"), FORMAT).body
print(f"the JSON text on the wire\n  expected: {json.dumps('hello').encode()}\n  observed: {body}")
changed |= body != b"hello"
for name, message in (
    ("binary", HTTPMessage({f"ce-{key}": value for key, value in REQUIRED.items()}, b"")),
    (
        "structured",
        HTTPMessage(
            {"content-type": "application/cloudevents+json"},
            b'{"id": "1", "source": "/deploys", "type": "t", "specversion": "1.0"}',
        ),
    ),
):
    times = [from_http_event(message, FORMAT).get_attributes().get("time") for _ in range(2)]
    print(f"two readings of a {name} message without a time\n  expected: None, None\n  observed: {times[0]}, {times[1]}")
    changed |= None in times
sys.exit(changed)
PYTHON
