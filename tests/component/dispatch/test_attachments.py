"""Files from a chat to the agent and back, also while one side is away."""

from __future__ import annotations

import pytest

from agent.shared.envelope import without_envelopes
from bot.domain import Attachment, AttachmentKind
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.runtime.interface import ArtifactsPresented, RunEnded, TextDelta
from bot.store.read_models import list_turns
from bot.turn import TurnState
from roebot_testing.adapter import AdapterFault
from roebot_testing.runtime import ScriptedRun, answer_with
from tests.component.dispatch.bench import Bench

FILE = Attachment(AttachmentKind.FILE, "in.txt", "ref", 4)
LOST = '"in.txt" could not be fetched'
NETWORK = DeliveryError(DeliveryCategory.TRANSIENT, "connection reset")


async def closed(at: Bench) -> TurnState:
    """The state in which the first turn was closed."""
    for _ in range(600):
        views = await at.db.transact(list_turns, 1)
        if views and views[-1].finished_at:
            return views[-1].state
        await at.rest(0.1)
    raise AssertionError(f"{views}")


def told(at: Bench) -> str:
    """What the agent was asked."""
    [run] = at.runtime.runs.values()
    return without_envelopes(run.request.messages[0]["content"])


def given(at: Bench) -> list[str]:
    """The names of the files that the agent was given."""
    [run] = at.runtime.runs.values()
    files = run.request.messages[0].get("additional_kwargs", {}).get("files", [])
    return [file["filename"] for file in files]


async def ask(at: Bench, *files: Attachment) -> None:
    at.adapter.files["ref"] = b"data"
    at.runtime.script = answer_with("read")
    await at.adapter.hears("look", attachments=files or (FILE,))


async def test_files_go_in_and_out(at: Bench) -> None:
    def script(run: ScriptedRun) -> None:
        run.emit(
            TextDelta("m1", "see file"),
            ArtifactsPresented(("/mnt/user-data/outputs/a.png",)),
            RunEnded("success"),
        )

    at.runtime.script = script
    at.runtime.artifacts["/mnt/user-data/outputs/a.png"] = b"png"
    at.adapter.files["ref"] = b"data"
    file = Attachment(AttachmentKind.FILE, "in.txt", "ref", 4)
    lost = Attachment(AttachmentKind.FILE, "lost.txt", "nowhere", 4)
    async with at.running():
        await at.adapter.hears("look", attachments=(file, lost))
        assert await closed(at) is TurnState.DONE
    [run] = at.runtime.runs.values()
    assert run.request.messages[0]["additional_kwargs"]["files"][0]["filename"] == "in.txt"
    assert '"lost.txt" could not be fetched' in without_envelopes(run.request.messages[0]["content"])
    assert at.runtime.uploads == [(run.request.thread_id, "in.txt", b"data")]
    assert at.adapter.files["a.png"] == b"png"
    assert at.adapter.texts() == ["see file", ""]


async def test_a_file_waits_for_a_runtime_that_comes_back(at: Bench) -> None:
    at.runtime.down = True
    async with at.running():
        await ask(at)
        await at.rest(20.0)
        assert not at.runtime.uploads
        at.runtime.down = False
        assert await closed(at) is TurnState.DONE
    assert given(at) == ["in.txt"]
    assert [data for _, _, data in at.runtime.uploads] == [b"data"]
    assert at.adapter.texts() == ["read"]


async def test_a_file_that_the_runtime_never_took_is_taken_by_a_retry(at: Bench) -> None:
    at.runtime.down = True
    async with at.running():
        await ask(at)
        await at.rest(125.0, step=1.0)
        assert await closed(at) is TurnState.FAILED
        assert "is not responding" in at.adapter.texts()[0]
        at.runtime.down = False
        await at.adapter.hears("/retry")
        await at.until(lambda: "read" in at.adapter.texts())
    assert given(at) == ["in.txt"]


@pytest.mark.parametrize("error", [NETWORK, RateLimited(7.0)])
async def test_a_platform_that_fails_for_a_moment_is_asked_again(at: Bench, error: DeliveryError) -> None:
    at.adapter.faults += [AdapterFault("fetch", error), AdapterFault("fetch", error)]
    async with at.running():
        await ask(at)
        assert await closed(at) is TurnState.DONE
    assert given(at) == ["in.txt"]
    assert LOST not in told(at)
    assert at.clock.now() >= (14.0 if isinstance(error, RateLimited) else 0.0)


@pytest.mark.parametrize(
    ("errors", "tries"),
    [
        ([DeliveryError(DeliveryCategory.PERMISSION, "not yours")] * 2, 1),
        ([NETWORK] * 100, 15),
        ([RateLimited(600.0)] * 2, 1),
    ],
    ids=["refused", "away", "a wait of minutes"],
)
async def test_the_agent_is_told_of_a_file_that_can_not_be_had(
    at: Bench, errors: list[DeliveryError], tries: int
) -> None:
    faults = [AdapterFault("fetch", error) for error in errors]
    at.adapter.faults += faults
    async with at.running():
        await ask(at)
        assert await closed(at) is TurnState.DONE
    assert given(at) == []
    assert LOST in told(at)
    assert len(faults) - len(at.adapter.faults) >= tries
    assert at.adapter.texts() == ["read"]
