"""A model that says numbered tokens at a steady pace and writes down when it said each."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable

CONFIG = """models: [{name: steady, use: "tests.staleness.model:SteadyModel"}]
title: {enabled: false}
memory: {enabled: false}"""
PARAGRAPH = 60
_ORDER = re.compile(r"steady (\w+) (\d+) ([\d.]+) (\d+)")
_TOKEN = re.compile(r"\b([0-9a-f]{3})z*\b")


def order(name: str, count: int, every: float, width: int = 3) -> str:
    """What to write to the model: `count` tokens of so many letters, `every` seconds one; their times are
    kept as `name`.
    """
    return f"steady {name} {count} {every} {width}"


def token(number: int, width: int = 3) -> str:
    """Token `number` (1 to 4095), each different; a paragraph ends now and then."""
    return f"{number:03x}".ljust(width, "z") + ("\n\n" if number % PARAGRAPH == 0 else " ")


def tokens(text: str) -> list[int]:
    """The numbers of the tokens in a text."""
    return [int(found, 16) for found in _TOKEN.findall(text)]


def times(home: Path, name: str) -> list[float]:
    """When each token was said, by the machine's monotonic clock."""
    return [float(line) for line in (home / f"{name}.times").read_text().split()]


class SteadyModel(BaseChatModel):
    """Follows the last `order` in the messages."""

    @property
    def _llm_type(self) -> str:
        return "steady"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, Any]:
        return self.bind(**kwargs)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        found = [match for message in messages for match in _ORDER.finditer(message.text)]
        name, count = found[-1][1], int(found[-1][2])
        every, width = float(found[-1][3]), int(found[-1][4])
        begun, came = time.monotonic(), []
        for number in range(count):
            await asyncio.sleep(max(0.0, begun + number * every - time.monotonic()))
            came.append(time.monotonic())
            yield ChatGenerationChunk(message=AIMessageChunk(content=token(number + 1, width)))
        path = Path(os.environ["ROEBOT_HOME"]) / f"{name}.times"
        path.write_text("\n".join(f"{at:.6f}" for at in came))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("it only streams")
