#!/usr/bin/env bash
# A FastMCP tool that returns NaN or an infinite number, as averages of nothing and limits do.
#
# Packages: mcp 1.30.0, pydantic 2.14.3, jsonschema 4.26.0
# Expected: the server refuses the value with an error result, or the client gets null; either way `call_tool` returns.
# Observed: pydantic writes null for NaN and infinity below a schema that says "number". The server validates before it
#           writes and is content, the client validates the null with jsonschema and *raises* RuntimeError from
#           `call_tool`: no result, not even the readable text, for a tool that has run. One infinite value
#           beside good ones is enough. A tool without an output schema (`structured_output=False`) gives the text.
# So: a RuntimeError of `call_tool` isn't "the call failed": the tool ran. Read such a result without validation and say so.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q mcp==1.30.0 pydantic==2.14.3 jsonschema==4.26.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import asyncio
import math
import sys
from importlib.metadata import version

from mcp.server.fastmcp import FastMCP
from mcp.shared.memory import create_connected_server_and_client_session

for name in ("mcp", "pydantic", "jsonschema"):
    print(name, version(name))

server = FastMCP("metrics", log_level="ERROR")
ran = []


@server.tool()
def average() -> float:
    ran.append("average")
    return math.nan


@server.tool()
def limits() -> dict[str, float]:
    ran.append("limits")
    return {"web": 1.5, "batch": math.inf}


@server.tool(structured_output=False)
def plain() -> float:
    ran.append("plain")
    return math.nan


OBSERVED = {
    "average": "raised RuntimeError: Invalid structured content returned by tool average: None is not of type 'number'",
    "limits": "raised RuntimeError: Invalid structured content returned by tool limits: None is not of type 'number'",
}


async def main():
    changed = 0
    async with create_connected_server_and_client_session(server._mcp_server) as session:
        for name in ("average", "limits", "plain"):
            try:
                result = await session.call_tool(name, {})
                seen = f"returned, error {result.isError}, text {result.content[0].text}"
            except RuntimeError as error:
                seen = f"raised RuntimeError: {str(error).splitlines()[0]}"
            print(f"{name}\n  expected: call_tool returns a result\n  observed: {seen}; the tool ran: {name in ran}")
            observed = OBSERVED.get(name)
            if name not in ran or (seen != observed if observed else not seen.startswith("returned, error False")):
                print(f"  CHANGED: it was {observed}")
                changed = 1
    return changed


sys.exit(asyncio.run(main()))
PYTHON
