"""Files that an answer links to are attached, and nobody sees their paths."""

from __future__ import annotations

import pytest

from bot.runtime.interface import (
    ArtifactsPresented,
    AttemptStarted,
    EventsMissing,
    MessageText,
    RunEnded,
    RunInterrupted,
    TextDelta,
    ThreadAnswer,
)
from bot.store.read_models import list_turns
from bot.turn import TurnState
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed
from tests.component.dispatch.test_turn_edge_cases import first_run

OUT = "/mnt/user-data/outputs"
WORK = "/mnt/user-data/workspace"
CHART = f"{OUT}/chart.png"
LONG = "Sales went up in all four regions, most of all in the north. "


def shown(at: Bench) -> list[str]:
    """What stands in the chat: texts, and the names of files."""
    return [one.filename or one.text for one in at.adapter.shown.values()]


async def answers(at: Bench, text: str, *presented: str) -> None:
    async with at.running():
        run = await first_run(at)
        if presented:
            run.emit(ArtifactsPresented(presented))
        run.emit(MessageText("m1", text), RunEnded("success"))
        assert await closed(at) == [TurnState.DONE]


async def test_a_linked_file_is_attached(at: Bench) -> None:
    at.runtime.artifacts[CHART] = b"png"
    await answers(at, f"See [the chart](sandbox:{CHART}).")
    assert shown(at) == ["See the chart.", "chart.png"]
    assert at.adapter.files["chart.png"] == b"png"
    [turn] = await at.db.transact(list_turns, 1)
    assert "/mnt/" not in "".join(part.content for part in turn.parts if part.kind.value == "text")


async def test_each_file_is_attached_once_after_the_presented_ones(at: Bench) -> None:
    at.runtime.artifacts |= {CHART: b"png", f"{OUT}/a.csv": b"csv"}
    await answers(at, f"![Chart]({CHART})\n\nDone: [a]({OUT}/a.csv), [again](outputs/a.csv).", CHART)
    assert shown(at) == ["Done: a, again.", "chart.png", "a.csv"]


@pytest.mark.parametrize(
    "target",
    ["chart.png", "./chart.png", "sandbox:chart.png", "sandbox:/mnt/data/chart.png", "outputs/chart.png"],
)
async def test_a_file_is_attached_by_its_name(at: Bench, target: str) -> None:
    at.runtime.artifacts[CHART] = b"png"
    await answers(at, f"Here:\n\n![Chart]({target})\n\n[Guide](README.md)")
    assert shown(at) == ["Here:\n\n[Guide](README.md)", "chart.png"]


async def test_a_file_that_is_not_there_is_a_name(at: Bench) -> None:
    await answers(at, f"See [the chart]({CHART}), and `{OUT}/other.csv`.\n\n![]({CHART})")
    assert shown(at) == ["See the chart, and `other.csv`.\n\nchart.png"]


async def test_an_answer_may_be_a_picture_alone(at: Bench) -> None:
    at.runtime.artifacts[CHART] = b"png"
    await answers(at, f"![Chart]({CHART})")
    assert shown(at) == ["chart.png"]


@pytest.mark.guard(
    "only links into outputs attach a file",
    "agent/shared/output_links.py",
    'return path if path.startswith(OUTPUTS) and path.isprintable() else ""',
    "return path",
    against="files that were not meant for people",
)
@pytest.mark.parametrize(
    "target", [f"{OUT}/../workspace/secret", "/mnt/user-data/workspace/run.py", "/etc/passwd"]
)
async def test_only_outputs_are_attached(at: Bench, target: str) -> None:
    at.runtime.artifacts |= dict.fromkeys([target, f"{WORK}/secret"], b"secret")
    await answers(at, f"Look at [this]({target}).")
    assert len(shown(at)) == 1
    assert "/mnt/" not in shown(at)[0]


async def test_no_frame_shows_a_path(at: Bench) -> None:
    at.runtime.artifacts[CHART] = b"png"
    text = f"{LONG * 4}[The chart]({CHART}) has it, also as `{CHART}` and {CHART} here. {LONG * 3}"
    async with at.running():
        run = await first_run(at)
        for at_piece in range(0, len(text), 7):
            run.emit(TextDelta("m1", text[at_piece : at_piece + 7]))
            await at.rest(0.4, step=0.1)
        run.emit(MessageText("m1", text), RunEnded("success"))
        await closed(at)
    frames = [said for operation, _, said in at.adapter.calls if operation in ("post", "edit")]
    assert len(frames) > 5
    assert not any("/mnt" in frame for frame in frames)
    assert shown(at)[1:] == ["chart.png"]


async def test_a_stopped_answer_has_no_paths_and_no_files(at: Bench) -> None:
    at.runtime.artifacts[CHART] = b"png"
    async with at.running():
        run = await first_run(at)
        run.say(f"{LONG}See [the chart]({CHART}) for more.")
        await at.rest(2.0)
        await at.adapter.hears("/stop")
        await closed(at, 2)
    assert f"{LONG}See the chart for more.\n\n*(stopped)*" in shown(at)
    assert "chart.png" not in shown(at)


async def test_a_question_has_no_paths_and_its_files(at: Bench) -> None:
    at.runtime.artifacts[CHART] = b"png"
    asks = {
        "question": f"Shall I send [the chart]({CHART}) or `{WORK}/raw.csv`?",
        "context": f"Both are in {WORK}/raw.csv.",
        "options": [CHART, f"{WORK}/raw.csv", "neither"],
    }
    async with at.running():
        run = await first_run(at)
        run.emit(RunInterrupted("i1", asks), RunEnded("interrupted"))
        await closed(at)
    assert "Both are in raw.csv.\n\nShall I send the chart or `raw.csv`?" in shown(at)[0]
    assert "neither" in shown(at)[0]
    assert "chart.png" in shown(at)[1:]
    assert "/mnt/" not in "".join(shown(at))


async def test_an_approval_shows_the_call_as_it_is(at: Bench) -> None:
    call = {"type": "approval", "tool": "bash", "args": {"command": f"rm {CHART}"}, "options": ["Approve"]}
    async with at.running():
        run = await first_run(at)
        run.emit(RunInterrupted("i1", call), RunEnded("interrupted"))
        await at.until(lambda: "Approval needed" in "".join(shown(at)))
    assert f"rm {CHART}" in shown(at)[0]


async def test_a_text_above_a_question_has_its_file(at: Bench) -> None:
    at.runtime.artifacts[CHART] = b"png"
    async with at.running():
        run = await first_run(at)
        run.emit(MessageText("m1", f"![Draft]({CHART})"), RunInterrupted("i1", {"question": "Like this?"}))
        run.emit(RunEnded("interrupted"))
        await closed(at)
    assert shown(at) == ["Like this?", "chart.png"]


async def test_a_second_attempt_keeps_the_files_that_the_thread_still_has(at: Bench) -> None:
    """The first attempt died after it had presented one file, and before another step was stored."""
    at.runtime.artifacts |= {CHART: b"png", f"{OUT}/lost.csv": b"csv"}
    async with at.running():
        run = await first_run(at)
        thread = ThreadAnswer(("Here.",), artifacts=(f"{OUT}/of-before.csv", CHART))
        at.runtime.answers[run.request.thread_id] = thread
        run.emit(ArtifactsPresented((CHART,)), ArtifactsPresented((f"{OUT}/lost.csv",)), AttemptStarted(2))
        run.emit(MessageText("m1", "Here."), RunEnded("success"))
        assert await closed(at) == [TurnState.DONE]
    assert shown(at) == ["Here.", "chart.png"]


async def test_files_that_no_event_told_are_read_from_the_thread(at: Bench) -> None:
    at.runtime.artifacts |= {CHART: b"png", f"{OUT}/a.csv": b"csv"}
    async with at.running():
        run = await first_run(at)
        thread = ThreadAnswer(("Here.",), artifacts=(CHART, f"{OUT}/a.csv"), presented=(CHART,))
        at.runtime.answers[run.request.thread_id] = thread
        run.emit(EventsMissing(), ArtifactsPresented((f"{OUT}/a.csv",)))
        run.emit(MessageText("m1", "Here."), RunEnded("success"))
        assert await closed(at) == [TurnState.DONE]
    assert shown(at) == ["Here.", "chart.png", "a.csv"]
