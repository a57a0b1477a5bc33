"""A tool that tells what its run says about itself."""

from __future__ import annotations

import json
from dataclasses import asdict

from langchain.tools import ToolRuntime
from langchain_core.tools import tool

from agent.core.run_context import RunContext


@tool
async def whose_run(runtime: ToolRuntime) -> str:
    """Tell whose run this is."""
    return json.dumps(asdict(RunContext.of(runtime)))
