"""The tools that a run calls are kept with its turn: what they were given, what came of it and how soon."""

from __future__ import annotations

import pytest

from bot.dispatch.run.transcript import MAX_STEPS, ToolLog
from bot.dispatch.tool_arguments import MAX_LINE, one_line, render_argument_line
from bot.domain import ProgressItem, ProgressState, StepKind, ToolStep
from bot.runtime.interface import (
    AttemptStarted,
    EventsMissing,
    ThreadAnswer,
    TodosUpdated,
    ToolCall,
    ToolResult,
)
from bot.store.read_models import list_turns
from roebot_testing.runtime import ScriptedRun
from tests.component.dispatch.bench import Bench

DONE, FAILED, ACTIVE = ProgressState.DONE, ProgressState.FAILED, ProgressState.ACTIVE
READ = ToolCall("c1", "read_file", {"path": "/a", "lines": [1, 2]})


async def first_run(at: Bench) -> ScriptedRun:
    await at.adapter.hears("hi")
    await at.until(lambda: at.runtime.runs)
    await at.rest(0.5)
    return at.runtime.runs["run-1"]


async def kept(at: Bench) -> tuple[ToolStep, ...]:
    """What the newest turn has."""
    [turn] = await at.db.transact(list_turns, None, limit=1)
    return turn.steps


async def ends(at: Bench, run: ScriptedRun) -> None:
    run.say("Well.")
    run.end()
    await at.until(lambda: at.adapter.texts() == ["Well."])
    await at.rest(1.0)


async def test_calls_are_kept_with_the_turn(at: Bench) -> None:
    at.mask = lambda text: text.replace("hunter22", "***")
    async with at.running():
        run = await first_run(at)
        run.emit(READ, ToolCall("c2", "bash", {"command": "curl hunter22", "api_key": "x"}))
        await at.rest(2.0)
        run.emit(
            ToolResult("c1", "read_file", "one\ntwo"), ToolResult("c2", "bash", "no hunter22", failed=True)
        )
        await ends(at, run)
    first, second = await kept(at)
    assert (first.tool, first.arguments, first.state) == ("read_file", "path: /a, lines: [1, 2]", DONE)
    assert first.result == "one two"
    assert first.seconds == pytest.approx(2.0, abs=0.2)
    assert (second.arguments, second.state) == ("command: curl ***, api_key: ***", FAILED)
    assert second.result == "no ***"


async def test_what_is_told_again_after_a_break_says_nothing_of_time(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        at.runtime.cut_after = len(run.log) + 1
        run.emit(READ, ToolResult("c1", "read_file", "x"))
        await ends(at, run)
    assert await kept(at) == (ToolStep("read_file", "path: /a, lines: [1, 2]", DONE, "x"),)


async def test_a_turn_that_goes_on_after_a_restart_has_all_of_them(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        run.emit(READ)
        await at.rest(1.0)
    async with at.running():
        run.emit(ToolResult("c1", "read_file", "x"))
        await ends(at, run)
    assert await kept(at) == (ToolStep("read_file", "path: /a, lines: [1, 2]", DONE, "x"),)


async def test_a_new_attempt_keeps_what_was_called(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        run.emit(READ, AttemptStarted(2), ToolCall("c2", "ls", {}), ToolResult("c2", "ls", ""))
        await ends(at, run)
    assert [(one.tool, one.state) for one in await kept(at)] == [("read_file", ACTIVE), ("ls", DONE)]


async def test_what_events_did_not_tell_is_read_from_the_state(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        listed = ToolCall("c2", "ls", {})
        calls = (READ, ToolResult("c1", "read_file", "x"), listed, ToolResult("c2", "ls", "y"))
        at.runtime.answers[run.request.thread_id] = ThreadAnswer(("Well.",), calls=calls)
        run.emit(listed)
        run.emit(EventsMissing())
        run.end()
        await at.until(lambda: at.adapter.texts() == ["Well."])
        await at.rest(1.0)
    assert [(one.tool, one.result) for one in await kept(at)] == [("read_file", "x"), ("ls", "y")]


async def test_todos_and_subagents_are_steps(at: Bench) -> None:
    at.mask = lambda text: text.replace("hunter22", "***")
    async with at.running():
        run = await first_run(at)
        todo = TodosUpdated((ProgressItem("todo:0", "use hunter22", ACTIVE),))
        run.emit(todo, ToolCall("c1", "task", {"description": "Look at hunter22", "prompt": "x"}))
        await at.rest(0.5)
        conversation = (await at.db.transact(list_turns, None, limit=1))[0].conversation
        turn, live = at.dispatcher.find_live_steps(conversation)
        assert [(one.kind, one.title, one.state) for one in live] == [
            (StepKind.TODO, "use ***", ACTIVE),
            (StepKind.SUBAGENT, "Look at ***", ACTIVE),
        ]
        run.emit(ToolResult("c1", "task", "seen"))
        await ends(at, run)
    stored = await kept(at)
    assert [(one.kind, one.tool, one.result) for one in stored] == [
        (StepKind.TODO, "", ""),
        (StepKind.SUBAGENT, "task", "seen"),
    ]
    assert at.dispatcher.find_live_steps(conversation) == (0, ())
    assert turn


async def test_a_turn_without_calls_has_none(at: Bench) -> None:
    async with at.running():
        await ends(at, await first_run(at))
    assert await kept(at) == ()


def test_a_call_that_began_in_an_earlier_run_is_known_by_its_end() -> None:
    steps = ToolLog()
    steps.record_event(ToolResult("c1", "delete", "gone"), 5.0)
    assert steps.entries == (ToolStep("delete", "", DONE, "gone"),)


def test_the_latest_are_kept() -> None:
    steps = ToolLog()
    for number in range(MAX_STEPS + 5):
        steps.record_event(ToolCall(f"c{number}", f"t{number}"), None)
    assert len(steps.entries) == MAX_STEPS
    assert steps.entries[-1].tool == f"t{MAX_STEPS + 4}"


def test_a_line_is_short_and_plain() -> None:
    line = render_argument_line({"text": "a\n" * 500, "b": "\u202eevil", "c": {"token": "t"}}, str)
    assert line.startswith("text: a a a")
    assert "…, b: \\u202eevil, c: {" in line
    assert '"token": "***"' in line
    assert len(render_argument_line({str(number): "x" * 100 for number in range(30)}, str)) == MAX_LINE + 1
    assert render_argument_line({}, str) == ""
    assert render_argument_line("not json", str) == "not json"
    assert one_line("a" * 10, 10) == "a" * 10
    assert one_line("a" * 11, 10) == "a" * 10 + "…"
