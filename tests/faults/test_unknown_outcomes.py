"""Calls whose outcome is unknown: the connection breaks before the platform has acted, or after it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.test_broken_connections import ANSWER, AT_ONCE, GROWS, PATIENCE, SCALE, Stage
from tests.harness.assertions import check_answered
from tests.harness.inprocess_service import scripted_runtime, serviced
from tests.harness.sqlite import open_turns
from tests.harness.waiters import until
from tests.harness.wires import WIRES

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

FINAL_POSTS = {
    "telegram": ("sendMessage",),
    "slack": ("chat.postMessage",),
    "feishu": ("message.create",),
    "discord": ("createMessage",),
}
"""The calls by which an answer is posted that never grew."""


def calls(kind: str) -> list[tuple[str, str]]:
    """Each platform with each of its calls of a kind."""
    named = FINAL_POSTS if kind == "final" else {name: getattr(wire, kind) for name, wire in WIRES.items()}
    return [(platform, method) for platform, methods in named.items() for method in methods]


SLOWLY = f"[every=0.15] [reply={ANSWER}]"
"""Three seconds: every platform shows several frames of it."""
ONCE = frozenset({"chat.stopStream", "card.settings", "card.update"})
"""The calls that end a stream: there is one of each."""
CHANGES = [
    (platform, method, skip)
    for platform, method in calls("changes")
    for skip in ([0] if method in ONCE else [0, 1])
]
GROWING_POSTS = [case for case in calls("posts") if case != ("slack", "chat.postMessage")]


@pytest.fixture
async def stage(platform: str, tmp_path: Path) -> AsyncIterator[Stage]:
    async with scripted_runtime(tmp_path / "agent") as runtime, WIRES[platform].serve(SCALE) as wire:
        yield Stage(wire, runtime, tmp_path / "home")


async def asked_and_answered(stage: Stage, ask: str, *, repeated: int) -> None:
    """One question with a fault armed: one answer, however it got there."""
    async with serviced(stage.home, stage.config()):
        await stage.connected()
        place = stage.wire.asks(ask)
        await stage.answered(place, [ANSWER], repeated=repeated)
    assert stage.wire.struck() >= 1, "the fault did not strike"
    check_answered(stage.wire.standing(place), [ANSWER], repeated=repeated)


@pytest.mark.parametrize("kind", ["drop", "close"])
@pytest.mark.parametrize(("platform", "method"), GROWING_POSTS)
async def test_a_first_frame_of_unknown_outcome(stage: Stage, method: str, kind: str) -> None:
    stage.wire.fault(kind, method)
    await asked_and_answered(stage, GROWS, repeated=int(stage.wire.repeats))


@pytest.mark.parametrize("kind", ["drop", "close"])
@pytest.mark.parametrize(("platform", "method"), calls("final"))
async def test_a_final_post_of_unknown_outcome(stage: Stage, method: str, kind: str) -> None:
    stage.wire.fault(kind, method)
    await asked_and_answered(stage, AT_ONCE, repeated=int(stage.wire.repeats))


@pytest.mark.parametrize("kind", ["drop", "close"])
@pytest.mark.parametrize(("platform", "method", "skip"), CHANGES)
async def test_a_change_of_unknown_outcome(stage: Stage, method: str, kind: str, skip: int) -> None:
    """A frame, or the call that ends the stream: the whole text is right, and nothing is there twice."""
    stage.wire.fault(kind, method, skip=skip)
    await asked_and_answered(stage, SLOWLY, repeated=0)


@pytest.mark.parametrize("kind", ["drop", "close"])
@pytest.mark.parametrize(("platform", "method"), calls("uploads"))
async def test_a_file_of_unknown_outcome(stage: Stage, method: str, kind: str) -> None:
    # The text of the answer is posted first, by the same call on some platforms.
    first = method in FINAL_POSTS[stage.wire.platform]
    async with serviced(stage.home, stage.config("artifact")):
        await stage.connected()
        stage.wire.fault(kind, method, skip=int(first))
        place = stage.wire.asks("[file=report.md] write it")
        await until(
            lambda: any(seen.file for seen in stage.wire.standing(place)) and open_turns(stage.home) == 0,
            PATIENCE,
            lambda: f"{stage.wire.standing(place)} {stage.wire.emulator.counters()}",
        )
    assert stage.wire.struck() >= 1
    files = [seen for seen in stage.wire.standing(place) if seen.file]
    assert 1 <= len(files) <= 1 + int(stage.wire.repeats), stage.wire.standing(place)
