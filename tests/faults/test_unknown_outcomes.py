"""Calls whose outcome is unknown: the connection breaks before the platform has acted, or after it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from bot.dispatch.reply.diff import REPEATED_MARK
from bot.faults import VARIABLE, Step
from bot.store import open_database
from bot.store.audit import Actor
from bot.store.connection import Connection
from bot.store.people import RoleGrant, grant_role
from tests.faults.test_broken_connections import ANSWER, AT_ONCE, GROWS, PATIENCE, SCALE, Stage
from tests.harness.assertions import check_answered
from tests.harness.inprocess_service import scripted_runtime, serviced
from tests.harness.service import ServiceProcess
from tests.harness.sqlite import open_turns, turns
from tests.harness.waiters import until
from tests.harness.wires import WIRES, Standing

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


@pytest.mark.parametrize("platform", ["discord"])
async def test_a_part_that_one_person_alone_sees_is_marked(stage: Stage) -> None:
    """Discord: a follow-up takes no nonce, and no call lists what only one person sees."""
    place = stage.wire.group()
    async with serviced(stage.home, stage.config(owner=1)) as service:
        await stage.connected()
        await service.db.transact(grant_many_roles)
        stage.wire.fault("drop", "followup")
        stage.wire.emulator.people.uses("role", chat=int(place))
        await until(
            lambda: stage.wire.struck() == 1 and turns(stage.home) == 1 and open_turns(stage.home) == 0,
            PATIENCE,
            lambda: f"{stage.wire.standing(place)} {stage.wire.emulator.counters()}",
        )
    check_marked_parts(stage.wire.standing(place))


@pytest.mark.parametrize("platform", ["discord"])
async def test_a_kill_after_a_part_that_one_person_alone_sees(stage: Stage) -> None:
    place, home = stage.wire.group(), stage.home
    home.mkdir()
    database = await open_database(home)
    await database.transact(grant_many_roles)
    await database.close()
    process = ServiceProcess(home, stage.config(owner=1))
    try:
        process.start(**{VARIABLE: f"{Step.PART_SENT}:2"})
        await process.ready()
        await stage.connected()
        stage.wire.emulator.people.uses("role", chat=int(place))
        assert await process.died() == -9
        process.start()
        await until(lambda: open_turns(home) == 0, PATIENCE, process.log)
        assert process.stop() == 0
    finally:
        process.kill()
    check_marked_parts(stage.wire.standing(place))


def grant_many_roles(connection: Connection) -> None:
    """Grant so many roles that their list has two parts."""
    owner = Actor("", "cli", "", "discord", "")
    for number in range(40):
        grant_role(connection, RoleGrant(f"discord:{number:018}", "member", "", "cli", 0.0), owner, 0.0)


def check_marked_parts(standing: Sequence[Standing]) -> None:
    """Both parts stand as private messages, and the second one once more, marked."""
    first, second, again = [seen.text for seen in standing if seen.private]
    assert len(standing) == 3
    assert again == f"{REPEATED_MARK}\n\n{second}"
    assert not first.startswith(REPEATED_MARK)


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
