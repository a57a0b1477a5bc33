"""The steps of a scenario, taken in a chat."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.played.model import PlayedModel
from tests.played.scenarios import SCENARIOS, Scenario, Step
from tests.played.stage import WAIT_SECONDS, Stage, open_stage


async def take(stage: Stage, step: Step, sent: list[Any], *, seconds: float) -> Any:
    """Do what a step says once its time has come; the id of what was written."""
    if step.at_request:
        await stage.wait_for_request(step.at_request, seconds)
    elif sent:
        await stage.wait(seconds)
    if step.press:
        return await stage.press(step.press)
    if step.forwarded:
        return await stage.room.forward(step.text, author=step.forwarded)
    reply_to = None if step.replies_to is None else sent[step.replies_to]
    if step.answers:
        reply_to = (await stage.room.read())[-1].id
    return await stage.say(step.text, by=step.by, files=step.files, reply_to=reply_to)


@asynccontextmanager
async def open_scenario(
    scenario: Scenario, platform: str, home: Path, model: PlayedModel, *more: Any
) -> AsyncIterator[Stage]:
    """Open the chat of a scenario; no step is taken yet."""
    async with open_stage(
        home,
        platform,
        model,
        *more,
        group=scenario.group,
        settings=scenario.settings,
        account=scenario.account,
    ) as stage:
        yield stage


async def play(number: int, stage: Stage, *, seconds: float = WAIT_SECONDS) -> None:
    """Take all steps of a scenario in the stage's current chat and wait for the last answer.

    Raises AssertionError, with what happened, if an answer does not come or a request breaks the provider's
    rules.
    """
    sent: list[Any] = []
    for step in SCENARIOS[number]().steps:
        sent.append(await take(stage, step, sent, seconds=seconds))
    await stage.wait(seconds)
    assert stage.model.rejections == [], await stage.describe()
