#!/usr/bin/env bash
# A text that looks like JSON, given to an optional text argument of a FastMCP tool.
#
# Packages: mcp 1.30.0, pydantic 2.14.3
# Expected: `text: str | None` is published as string or null, so a string arrives as it was sent.
# Observed: the server parses strings as JSON first wherever the annotation isn't just `str`. The text `{"a": 1}` or
#           `["x"]` is refused ("Input should be a valid string", although it was one), and the text `null` arrives as
#           None without an error: the tool does what it does when nothing was given. Numbers and `true` stay texts,
#           and `text: str` beside it takes them all.
# So: a file's content, a filter or a JSON body can't be sent to an argument that is optional; an error of a tool that says
#     "not a string" may be about a string.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q mcp==1.30.0 pydantic==2.14.3
cd "$dir"; venv/bin/python - <<'PYTHON'
import asyncio
import json
import sys
from importlib.metadata import version

from mcp.server.fastmcp import FastMCP
from mcp.shared.memory import create_connected_server_and_client_session

for name in ("mcp", "pydantic"):
    print(name, version(name))

server = FastMCP("files", log_level="ERROR")


@server.tool()
def plain(text: str) -> str:
    return repr(text)


@server.tool()
def optional(text: str | None = None) -> str:
    return repr(text)


OBSERVED = {
    '{"a": 1}': "refused: Input should be a valid string",
    '["x"]': "refused: Input should be a valid string",
    "null": "None",
    "12": "'12'",
    "true": "'true'",
}


async def main():
    changed = 0
    async with create_connected_server_and_client_session(server._mcp_server) as session:
        schema = {tool.name: tool.inputSchema["properties"]["text"] for tool in (await session.list_tools()).tools}
        print("published for the optional text:", json.dumps(schema["optional"]))
        for text, observed in OBSERVED.items():
            seen = {}
            for name in ("plain", "optional"):
                result = await session.call_tool(name, {"text": text})
                seen[name] = result.content[0].text
                if result.isError and "Input should be a valid string" in seen[name]:
                    seen[name] = "refused: Input should be a valid string"
            print(f"text {text!r}\n  expected: {text!r} from both")
            print(f"  observed: text: str gets {seen['plain']}, text: str | None gets {seen['optional']}")
            if seen != {"plain": repr(text), "optional": observed}:
                print(f"  CHANGED: it was {observed}")
                changed = 1
    return changed


sys.exit(asyncio.run(main()))
PYTHON
