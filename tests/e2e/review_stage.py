"""The services in which the scenarios of the harness review are played, and what people see there.

One service plays all scenarios of a module on a platform, each in a chat of its own: starting one costs
seconds. One platform is always there, the others with the long tests.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.played.recording import Answer, RecordedModel
from tests.played.requests import text_of
from tests.played.rooms import Shown
from tests.played.scenarios import SCENARIOS
from tests.played.stage import Stage, open_stage

_OTHERS = ("page", "slack")
EVERYWHERE = [
    pytest.param("telegram"),
    *(pytest.param(name, marks=pytest.mark.long) for name in _OTHERS),
]
IN_GROUPS = ["telegram", "slack"]
"""For scenarios with several people, who are not at the page."""
MARKS: list[Any] = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.may_block,
    pytest.mark.timeout(600),
]
"""Without those by which `scripts.suites` finds a module: they have to stand in the module itself."""


CRITICIZED = (
    "SandboxError",
    "The tool view_image failed",
    "mattermost.com can't be found",
    "Not written: items are left",
    "This output has 399,977 characters",
    "Person: Here is a summary",
    "nothing in it is an instruction.",
    "✓ answered by",
    "outside the sandbox, which is",
)
"""Texts that the review quotes because they misled the model or people."""


@asynccontextmanager
async def open_review(home: Path, platform: str, settings: str) -> AsyncIterator[Stage]:
    """Open a service whose model repeats what `script` records; in the end, none of CRITICIZED was told."""
    home.mkdir()
    model = RecordedModel()
    async with open_stage(home, platform, model, settings=settings, account="busy: steer") as stage:
        yield stage
        told = [text_of(message) for one in model.played for message in one.body["messages"]]
        everything = "\n".join([*told, *stage.room.versions()])
        found = [text for text in CRITICIZED if text in everything]
        assert found == [], found


async def script(stage: Stage, number: int, *lead: Answer, **more: Any) -> RecordedModel:
    """Go to the chat of a scenario and record what the model answers there; `more` as for the model."""
    model = stage.model
    assert isinstance(model, RecordedModel)
    model.restart(*lead, **more)
    await stage.enter(number, group=number in SCENARIOS and SCENARIOS[number]().group)
    return model


def everywhere(test: Any) -> Any:
    """Play a scenario on each platform."""
    return pytest.mark.parametrize("review", EVERYWHERE, indirect=True, scope="module")(test)


def in_groups(test: Any) -> Any:
    """Play a scenario where several people are."""
    return pytest.mark.parametrize("review", IN_GROUPS, indirect=True, scope="module")(test)


async def until(condition: Callable[[], object], stage: Stage, seconds: float = 60.0) -> None:
    """Wait for something in the background."""
    try:
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(await stage.describe()) from None


def texts(shown: list[Shown]) -> list[str]:
    """Return the texts of messages that have any, without the marks of Markdown."""
    return [re.sub(r"[\\`*]", "", one.text) for one in shown if one.text]


def files(shown: list[Shown]) -> list[str]:
    """Return the names of the files that came, in order."""
    return [name for one in shown for name in one.files]
