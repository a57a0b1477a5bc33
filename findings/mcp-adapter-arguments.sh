#!/usr/bin/env bash
# An MCP tool with an argument called `config`, `runtime` or `run_manager`, called through LangChain's adapter.
#
# Packages: langchain-mcp-adapters 0.3.2, langchain-core 1.7.2, mcp 1.30.0
# Expected: the arguments belong to the server's tool, so each value that a model gives reaches the server, or the tool is
#           refused when it is loaded.
# Observed: the adapter offers all of them to the model, and langchain-core then takes `config`, `runtime` and
#           `run_manager` for its own parameters and drops the model's values. A required one is answered with "Field
#           required" however often the model tries; an optional one takes its default in silence, so the server does
#           something else than what was asked (and approved). `callbacks` and `store` arrive.
# So: rename such properties before a tool is offered and map them back in the call.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q langchain-mcp-adapters==0.3.2 langchain-core==1.7.2 mcp==1.30.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import asyncio
import json
import sys
from importlib.metadata import version

from langchain_mcp_adapters.tools import load_mcp_tools
from mcp.server.fastmcp import FastMCP
from mcp.shared.memory import create_connected_server_and_client_session

for name in ("langchain-mcp-adapters", "langchain-core", "mcp"):
    print(name, version(name))

server = FastMCP("deploys", log_level="ERROR")


@server.tool()
def deploy(
    service: str,
    config: str = "production",
    runtime: str = "python3.9",
    run_manager: str = "nobody",
    callbacks: str = "none",
    store: str = "none",
) -> str:
    return json.dumps([service, config, runtime, run_manager, callbacks, store])


@server.tool()
def check(service: str, config: str) -> str:
    return json.dumps([service, config])


async def main():
    changed = 0
    async with create_connected_server_and_client_session(server._mcp_server) as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}

        async def call(name, arguments, observed):
            offered = sorted(tools[name].args)
            message = await tools[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
            text = message.content[0]["text"]
            print(f"{name}: offered to the model: {offered}\n  called with {arguments}")
            print(f"  expected: {json.dumps(list(arguments.values()))}\n  observed: {text}")
            if offered != sorted(arguments) or observed not in text:
                print(f"  CHANGED: it was {observed}")
                return 1
            return 0

        given = dict(
            service="web", config="staging", runtime="python3.13", run_manager="ann", callbacks="pager", store="s3"
        )
        changed |= await call("deploy", given, '["web", "production", "python3.9", "nobody", "pager", "s3"]')
        changed |= await call("check", {"service": "web", "config": "staging"}, "config\n  Field required")
    return changed


sys.exit(asyncio.run(main()))
PYTHON
