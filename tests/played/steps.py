"""The steps of a scenario, taken in a chat."""

from __future__ import annotations

from typing import Any

from tests.played.scenarios import Step
from tests.played.stage import Stage


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
    return await stage.say(step.text, by=step.by, files=step.files, reply_to=reply_to)
