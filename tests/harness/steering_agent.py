"""A scripted agent whose work lasts until a test lets it go on, so that messages can come meanwhile.

`[tool=gate {"name": "a"}]` in a message holds the run: the file `a` stands in the folder of traces while it
does, and `a.open` there lets it go on.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from langchain_core.tools import tool

TRACES = "ROEBOT_TEST_TRACES"
AGENT = """models:
- {name: scripted, use: "roebot_testing.agent.model:ScriptedChatModel", display_name: Scripted}
tools: [{name: gate, group: test, use: "tests.harness.steering_agent:gate"}]
title: {enabled: false}
memory: {enabled: false}"""


@tool
async def gate(name: str) -> str:
    """Hold on until it is opened."""
    trace = Path(os.environ[TRACES]) / name
    await asyncio.to_thread(trace.touch)
    while not await asyncio.to_thread(trace.with_suffix(".open").exists):
        await asyncio.sleep(0.02)
    return "opened"


class Gate:
    """The gate as the test sees it."""

    def __init__(self, folder: Path, name: str = "a") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._trace = folder / name
        self.ask = f'[tool=gate {{"name": "{name}"}}] first'

    def reached(self) -> bool:
        """Whether the run is held."""
        return self._trace.exists()

    def open(self) -> None:
        """Let the run go on."""
        self._trace.with_suffix(".open").touch()
