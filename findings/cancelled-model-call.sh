#!/usr/bin/env bash
# What the callbacks of LangChain learn of a model call that is cancelled while it waits for the answer.
#
# Package: langchain-core 1.7.2
# Expected: each on_chat_model_start is followed by on_llm_end or on_llm_error, also when the task is cancelled or its
#           time is up, and whether or not the answer is streamed.
# Observed: a cancelled astream() calls on_llm_error with the CancelledError. A cancelled ainvoke() calls nothing, so a
#           span, a counter of running calls or a reservation that was opened at the start stays open.
# So: close what a start opens in a try/finally around the call, or drop it when the task ends; not only in callbacks.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q langchain-core==1.7.2
cd "$dir"; venv/bin/python - <<'PYTHON'
import asyncio
import sys
from importlib.metadata import version

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

print("langchain-core", version("langchain-core"))


class Model(BaseChatModel):
    """A model that waits for a signal before it answers."""

    waits: asyncio.Event
    answers: asyncio.Event
    error: Exception | None = None

    @property
    def _llm_type(self):
        return "waiting"

    async def _wait(self):
        self.waits.set()
        await self.answers.wait()
        if self.error:
            raise self.error

    def _generate(self, messages, stop=None, run_manager=None, **options):
        raise NotImplementedError

    async def _agenerate(self, messages, stop=None, run_manager=None, **options):
        await self._wait()
        return ChatResult(generations=[ChatGeneration(message=AIMessage("hello"))])


class Streaming(Model):
    """The same, with an answer in parts."""

    async def _astream(self, messages, stop=None, run_manager=None, **options):
        await self._wait()
        yield ChatGenerationChunk(message=AIMessageChunk("hello"))


class Handler(AsyncCallbackHandler):
    """Records the calls of a model."""

    def __init__(self):
        self.calls = []

    async def on_chat_model_start(self, *arguments, **options):
        self.calls.append("start")

    async def on_llm_end(self, *arguments, **options):
        self.calls.append("end")

    async def on_llm_error(self, error, **options):
        self.calls.append(f"error {type(error).__name__}")


async def invoke(model, config):
    await model.ainvoke("hi", config)


async def stream(model, config):
    async for _ in model.astream("hi", config):
        pass


async def invoke_for_a_time(model, config):
    async with asyncio.timeout(2):
        await model.ainvoke("hi", config)


async def record(kind, call, error, outcome):
    handler = Handler()
    model = kind(waits=asyncio.Event(), answers=asyncio.Event(), error=error)
    task = asyncio.create_task(call(model, {"callbacks": [handler]}))
    await model.waits.wait()
    if outcome == "answered":
        model.answers.set()
    elif outcome == "cancelled":
        task.cancel()
    [raised] = await asyncio.gather(task, return_exceptions=True)
    await asyncio.sleep(0.5)  # for callbacks that come late
    return handler.calls, type(raised).__name__


FAILED, CANCELLED = "error ValueError", "error CancelledError"
CASES = [
    ("ainvoke, answered", Model, invoke, None, "answered", "end", ["start", "end"], "NoneType"),
    ("ainvoke, failed", Model, invoke, ValueError(), "answered", FAILED, ["start", FAILED], "ValueError"),
    ("astream, cancelled", Streaming, stream, None, "cancelled", CANCELLED, ["start", CANCELLED], "CancelledError"),
    ("ainvoke, cancelled", Model, invoke, None, "cancelled", CANCELLED, ["start"], "CancelledError"),
    ("ainvoke, time is up", Model, invoke_for_a_time, None, "late", CANCELLED, ["start"], "TimeoutError"),
]
changed = 0
for name, kind, call, error, outcome, expected, before, end in CASES:
    seen, raised = asyncio.run(record(kind, call, error, outcome))
    print(f"{name}\n  expected: {['start', expected]}\n  observed: {seen}, raised: {raised}")
    if (seen, raised) != (before, end):
        print(f"  CHANGED: it was {before}, raised: {end}")
        changed = 1
sys.exit(changed)
PYTHON
