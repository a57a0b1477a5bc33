#!/usr/bin/env bash
# Arguments of tools that FastMCP makes from an OpenAPI document.
#
# Package: fastmcp 4.2.3
# Expected: a call that lacks a required argument or has a value that its schema forbids is refused, as it is for a tool
#           made from a function; the others become the request that the document describes.
# Observed: only a missing path parameter is refused. Without its required `label`, "delete the pods of a label" is sent as
#           a DELETE of all pods, and the call succeeds; enums, limits and required properties aren't looked at either. A
#           property that only `additionalProperties` allows isn't sent, and a parameter that the document declares as
#           JSON is spread over several. strict_input_validation=True refuses such a property and nothing else.
# So: validate arguments by the tool's input schema in a middleware of the server, or in the client before it calls.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q fastmcp==4.2.3 httpx2==2.16.2
cd "$dir"; venv/bin/python - 2> log <<'PYTHON'
import asyncio
import sys
from importlib.metadata import version

import httpx2
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError

print("fastmcp", version("fastmcp"))


def describe(method, path, parameters=(), body=None):
    content = {"requestBody": {"required": True, "content": {"application/json": {"schema": body}}}} if body else {}
    responses = {"200": {"description": "done"}}
    operation = {"operationId": "tool", "parameters": list(parameters), "responses": responses, **content}
    return {"openapi": "3.1.0", "info": {"title": "pods", "version": "1"}, "paths": {path: {method: operation}}}


def query(name, schema, **more):
    return {"name": name, "in": "query", "schema": schema, **more}


async def call(document, arguments, **options):
    sent = []

    def answer(request):
        target = request.url.raw_path.decode() + request.content.decode()
        sent.append(f"{request.method} {target}")
        return httpx2.Response(200, json={"done": True})

    client = httpx2.AsyncClient(base_url="http://server", transport=httpx2.MockTransport(answer))
    async with Client(FastMCP.from_openapi(document, client=client, **options)) as session:
        try:
            await session.call_tool("tool", arguments)
        except ToolError:
            return "refused"
    return " ".join(sent)


LABEL = query("label", {"type": "string"}, required=True)
SITE = query("site", {"enum": ["test", "live"]}, required=True)
COUNT = query("count", {"type": "integer", "minimum": 1})
PATH = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
BODY = {"type": "object", "required": ["count"], "properties": {"count": {"type": "integer"}}}
TAGS = {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": {"type": "string"}}
JSON = {"name": "f", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}}
changed = 0
for name, document, arguments, expected, observed, strict in (
    ("path parameter missing", describe("delete", "/pods/{id}", [PATH]), {}, "refused", "refused", "refused"),
    ("query parameter missing", describe("delete", "/pods", [LABEL]), {}, "refused", *["DELETE /pods"] * 2),
    ("other value", describe("delete", "/pods", [SITE]), {"site": "all"}, "refused", *["DELETE /pods?site=all"] * 2),
    ("too small", describe("post", "/pods", [COUNT]), {"count": 0}, "refused", *["POST /pods?count=0"] * 2),
    ("property missing", describe("post", "/pods", body=BODY), {}, "refused", *["POST /pods{}"] * 2),
    ("further property", describe("post", "/pods", body=TAGS), {"name": "a", "team": "web"},
     'POST /pods{"name":"a","team":"web"}', 'POST /pods{"name":"a"}', "refused"),
    ("JSON", describe("get", "/pods", [JSON]), {"f": {"team": "a"}}, "GET /pods?f=%7B%22team%22%3A%22a%22%7D",
     *["GET /pods?team=a"] * 2),
):
    seen = asyncio.run(call(document, arguments)), asyncio.run(call(document, arguments, strict_input_validation=True))
    print(f"{name}: {arguments}\n  expected: {expected}\n  observed: {seen[0]}; strict: {seen[1]}")
    if seen != (observed, strict):
        print(f"  CHANGED: it was {observed}; strict: {strict}")
        changed = 1
sys.exit(changed)
PYTHON
