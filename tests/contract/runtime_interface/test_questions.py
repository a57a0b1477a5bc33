"""A run that asked is resumed with the answer, and with nothing else."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.runtime.client import LangGraphRuntime
from bot.runtime.interface import MessageText, RunEvent, RunInterrupted, RunRequest
from roebot_testing.agent.graphs import interrupting
from tests.harness.credentials import AGENT_SIGNED
from tests.runtime.serving import serve

pytestmark = pytest.mark.may_block


class Asking:
    """A thread whose run has asked."""

    def __init__(self, port: LangGraphRuntime) -> None:
        self.port = port
        self.thread = str(uuid.uuid4())
        self.question = ""

    async def says(self, text: str, *, key: str = "", **more: Any) -> str:
        """Start a run; its id."""
        message: dict[str, Any] = {"type": "human", "content": text, "id": f"h-{uuid.uuid4()}"}
        if files := more.pop("files", None):
            message["additional_kwargs"] = {"files": files}
        return await self.port.create_run(
            RunRequest(self.thread, key or f"{uuid.uuid4()}:1", [message], configurable={}, **more)
        )

    async def events(self, run: str) -> list[RunEvent]:
        async with asyncio.timeout(20):
            return [logged.event async for logged in self.port.join_run(self.thread, run, "")]

    async def answer(self, run: str) -> str:
        return "".join(event.text for event in await self.events(run) if isinstance(event, MessageText))

    async def asked(self, run: str) -> str:
        """The id of the question at the end of a run."""
        [found] = [event for event in await self.events(run) if isinstance(event, RunInterrupted)]
        return found.id


@pytest.fixture
async def asking(tmp_path: Path) -> AsyncIterator[Asking]:
    async with (
        serve(tmp_path, sources={"asking": lambda: interrupting}) as served,
        httpx.AsyncClient(base_url=served.url, headers=AGENT_SIGNED) as http,
    ):
        made = Asking(LangGraphRuntime(http, assistant_id="asking", management=None))
        made.question = await made.asked(await made.says("the car"))
        yield made


async def test_the_answer_resumes_the_run(asking: Asking) -> None:
    run = await asking.says("blue", answers=asking.question)
    assert await asking.answer(run) == "You chose blue."


async def test_a_repeated_answer_is_one_run(asking: Asking) -> None:
    first = await asking.says("blue", key="7:1", answers=asking.question)
    await asking.events(first)
    assert await asking.says("blue", key="7:1", answers=asking.question, repeated=True) == first


async def test_a_question_that_is_gone_makes_it_an_ordinary_message(asking: Asking) -> None:
    await asking.events(await asking.says("blue", answers=asking.question))
    run = await asking.says("the bike", answers=asking.question)
    assert await asking.asked(run)


async def test_a_thread_that_is_gone_makes_it_an_ordinary_message(asking: Asking) -> None:
    asking.thread = str(uuid.uuid4())
    assert await asking.asked(await asking.says("the bike", answers=asking.question))


async def test_the_same_question_is_answered_again_on_a_fork(asking: Asking) -> None:
    first = await asking.says("blue", answers=asking.question)
    assert await asking.answer(first) == "You chose blue."
    checkpoint = await asking.port.checkpoint_before(asking.thread, first)
    assert checkpoint
    again = await asking.says("blue", answers=asking.question, checkpoint=checkpoint)
    assert again != first
    assert await asking.answer(again) == "You chose blue."


async def test_files_of_an_answer_are_named(asking: Asking) -> None:
    files = [{"filename": "a.txt", "path": "/mnt/user-data/uploads/a.txt", "size": 1}]
    run = await asking.says("this one", answers=asking.question, files=files)
    assert await asking.answer(run) == "You chose this one\n\n[a.txt: /mnt/user-data/uploads/a.txt]."
