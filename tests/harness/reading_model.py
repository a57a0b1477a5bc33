"""A scripted model that writes down what it reads, in a file that outlives its process."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.constants import TAG_NOSTREAM

from roebot_testing.agent.model import ScriptedChatModel

MODEL = """models: [{name: reading, use: "tests.harness.reading_model:ReadingModel"}]
memory: {enabled: false}"""
_FILE = "read.jsonl"


class ReadingModel(ScriptedChatModel):
    """Follows its script, and writes down the messages of people at each call for an answer to them."""

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        if run_manager is None or TAG_NOSTREAM not in run_manager.tags:
            read = [one.text for one in messages if isinstance(one, HumanMessage)]
            # The line feed in front ends a line that a kill has cut off.
            with (Path(os.environ["ROEBOT_HOME"]) / _FILE).open("ab", buffering=0) as file:
                file.write(f"\n{json.dumps(read)}\n".encode())
        async for chunk in super()._astream(messages, stop, run_manager, **kwargs):
            yield chunk


def list_reads(home: Path) -> list[list[str]]:
    """Return the messages of people that the model read at each call, the newest last, without a call that
    was killed while it was written down.
    """
    file = home / _FILE
    calls: list[list[str]] = []
    for line in file.read_text().splitlines() if file.exists() else []:
        with suppress(json.JSONDecodeError):
            calls.append(json.loads(line))
    return calls


def count_read(home: Path, *facts: str) -> list[int]:
    """Return how often the model's last call that contains any of the facts contains each of them."""
    calls = ["\n".join(call) for call in list_reads(home)]
    found = [call for call in calls if any(fact in call for fact in facts)]
    return [found[-1].count(fact) if found else 0 for fact in facts]
