"""Tasks for real programs that speak the protocol: done, refused, killed, too slow, cancelled."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop

from agent.acp import program
from agent.acp.program import EXIT_SECONDS
from agent.acp.runner import AcpRunner
from agent.acp.wire import CANCEL_SECONDS
from agent.config.harness import AcpAgent
from agent.core.interfaces import SubagentResult, SubagentStatus, SubagentStep
from tests.harness.acp import PROGRAM, agent, agents, steps
from tests.harness.mcp import children

FAILED, DONE = SubagentStatus.FAILED, SubagentStatus.COMPLETED


@pytest.fixture
def runner(tmp_path: Path) -> AcpRunner:
    return agents(tmp_path, HOME="/its/home", SECRET="not for it")


async def ran(runner: AcpRunner, which: AcpAgent, *each: Any, thread: str | None = "t-1") -> SubagentResult:
    """The end of a task; nothing of it is left then."""
    before = children()
    result = await runner.run_task("helper", which, steps(*each), thread)
    assert not children() - before
    return result


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


async def test_a_task_is_done_and_its_words_and_files_come_back(runner: AcpRunner, tmp_path: Path) -> None:
    told: list[SubagentStep] = []
    task = steps(
        ["say", "I wri"],
        ["say", "te."],
        ["tool", "Write out/a.md"],
        ["write", "out/a.md", "made"],
        ["cwd"],
    )
    result = await runner.run_task("helper", agent(), task, "t-1", told.append)
    assert result.status is DONE
    assert result.text == (
        "I write.\n\n/mnt/acp-workspace\n\nFiles that it created or changed: /mnt/acp-workspace/out/a.md."
    )
    assert told == [SubagentStep(1, ("Write out/a.md",))]
    assert (tmp_path / "threads" / "t-1" / "acp-workspace" / "out" / "a.md").read_text() == "made"


async def test_each_thread_has_a_folder_of_its_own_which_stays(runner: AcpRunner) -> None:
    await ran(runner, agent(), ["write", "a.md", "1"], ["say", "ok"])
    again = await ran(runner, agent(), ["write", "b.md", "1"], ["say", "ok"])
    assert again.text.endswith("changed: /mnt/acp-workspace/b.md.")
    other = await ran(runner, agent(), ["say", "ok"], thread="t-2")
    assert other.text == "ok"


async def test_it_gets_the_basic_variables_and_its_own_alone(runner: AcpRunner) -> None:
    which = agent(env={"KEY": "its key"})
    result = await ran(runner, which, ["env", "KEY"], ["env", "HOME"], ["env", "SECRET"])
    assert result.text == "its key/its/homeunset"


ALL = ["reject_always", "allow_always", "reject_once", "allow_once"]


@pytest.mark.parametrize(
    ("approve", "offered", "outcome"),
    [
        (False, ALL, '{"optionId": "id-reject_once", "outcome": "selected"}'),
        (True, ALL, '{"optionId": "id-allow_once", "outcome": "selected"}'),
        (False, ["allow_once"], '{"outcome": "cancelled"}'),
    ],
)
async def test_permission_is_denied_unless_it_is_configured(
    runner: AcpRunner, approve: bool, offered: list[str], outcome: str
) -> None:
    result = await ran(runner, agent(auto_approve_permissions=approve), ["ask", offered])
    assert json.loads(result.text) == json.loads(outcome)


@pytest.mark.parametrize("end", ["killed", "exits", "terminated"])
async def test_one_that_ends_in_mid_call_is_a_clear_failure(
    runner: AcpRunner, tmp_path: Path, end: str
) -> None:
    mark = tmp_path / "mark"
    last = [["exit", 3]] if end == "exits" else [["mark", str(mark)], "hang"]
    before = children()
    each = [["write", "half.md", "x"], ["say", "I begin."], ["complain", "out of cheese"], *last]
    task = asyncio.create_task(runner.run_task("helper", agent(), steps(*each), "t-1"))
    if end != "exits":
        await until(lambda: mark.exists() and mark.read_text())
        os.kill(int(mark.read_text()), signal.SIGKILL if end == "killed" else signal.SIGTERM)
    result = await task
    how = {
        "killed": "was killed (signal 9)",
        "exits": "exited (code 3)",
        "terminated": "was killed (signal 15)",
    }
    assert result.status is FAILED
    assert result.text == (
        f'The ACP agent "helper" {how[end]} during the task (stderr: out of cheese). '
        "Its output so far: I begin.\n\nFiles that it created or changed: /mnt/acp-workspace/half.md."
    )
    assert not children() - before
    assert (await ran(runner, agent(), ["say", "ok"])).text == "ok", "the next one is started anew"


async def test_one_that_dies_while_its_child_holds_its_output(runner: AcpRunner) -> None:
    result = await ran(runner, agent(), "child", ["exit", 1])
    assert result.status is FAILED
    assert "exited (code 1) during the task" in result.text


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_the_loop_that_the_service_runs_on_does_it_too(tmp_path: Path, end: str) -> None:
    before = children()
    done = uvloop.run(agents(tmp_path).run_task("helper", agent(), steps(["say", "ok"]), "t-1"))
    assert done == SubagentResult(DONE, "ok")
    last = ["exit", 1] if end == "exit" else ["kill"]
    broken = uvloop.run(agents(tmp_path).run_task("helper", agent(), steps("child", last), "t-1"))
    how = "exited (code 1)" if end == "exit" else "was killed (signal 9)"
    assert f"{how} during the task" in broken.text
    assert not children() - before


async def test_what_it_started_ends_with_it(runner: AcpRunner) -> None:
    result = await ran(runner, agent(), "child")
    assert result.status is DONE
    await until(lambda: not Path(f"/proc/{result.text}/cmdline").exists() or not _words(result.text))


def _words(pid: str) -> bytes:
    """The command line; a process that nobody has buried yet has none."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


async def test_one_that_takes_too_long_is_stopped(runner: AcpRunner) -> None:
    result = await ran(runner, agent(timeout_seconds=1.0), ["say", "I begin."], "hang")
    assert result.status is SubagentStatus.TIMED_OUT
    assert result.text.startswith("It was stopped after 1 seconds. Its output so far: I begin.")


async def test_to_cancel_tells_it_and_ends_it_within_a_second(runner: AcpRunner, tmp_path: Path) -> None:
    mark, before = tmp_path / "mark", children()
    task = asyncio.create_task(
        runner.run_task("helper", agent(), steps("child", ["mark", str(mark)], "hang"), "t-1")
    )
    await until(mark.exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not children() - before
    assert CANCEL_SECONDS + EXIT_SECONDS < 1


async def test_one_that_waits_for_its_turn_can_be_cancelled(runner: AcpRunner, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    first = asyncio.create_task(runner.run_task("helper", agent(), steps(["mark", str(mark)], "hang"), "t-1"))
    await until(mark.exists)
    second = asyncio.create_task(
        runner.run_task("helper", agent(), steps(["mark", str(tmp_path / "2")]), "t-1")
    )
    third = await runner.run_task("helper", agent(), steps(["say", "at once"]), "t-2")
    assert third.text == "at once", "another thread does not wait"
    assert not (tmp_path / "2").exists(), "one at a time in a thread"
    second.cancel()
    first.cancel()
    ended = await asyncio.gather(first, second, return_exceptions=True)
    assert [type(one) for one in ended] == [asyncio.CancelledError] * 2
    assert (await ran(runner, agent(), ["say", "ok"])).text == "ok"


@pytest.mark.parametrize(
    ("mode", "more", "told"),
    [
        (
            "dies",
            {},
            "exited (code 2) before it opened a session (stderr: usage: it has no such thing). "
            "The command must be a program that uses ACP",
        ),
        ("mute", {"start_seconds": 0.5}, "did not open a session within 0.5 seconds. The command must be"),
        ("future", {}, "speaks version 99 of the protocol, not 1."),
        ("signed-out", {}, "requires signing in: do that with its own program, or set its key."),
    ],
)
async def test_one_that_opens_no_session_says_why(
    runner: AcpRunner, mode: str, more: dict[str, Any], told: str
) -> None:
    result = await ran(runner, agent(mode, **more), ["say", "never"])
    assert result.status is FAILED
    assert result.text.startswith(f'The ACP agent "helper" {told}')


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("codex-acp", "can't be started: codex-acp is not installed, or is not on PATH. The command must"),
        (
            "codex",
            "codex is not installed, or is not on PATH. codex does not support ACP by itself; use ",
        ),
        (str(PROGRAM), "can't be started: acp_agent.py is not installed, or is not on PATH"),
    ],
)
async def test_a_missing_launcher_is_named_with_what_helps(tmp_path: Path, command: str, told: str) -> None:
    result = await ran(without_path(tmp_path), agent(command=command), ["say", "never"])
    assert result.status is FAILED
    assert told in result.text
    assert str(tmp_path) not in result.text


def without_path(home: Path) -> AcpRunner:
    return agents(home, PATH=str(home))


async def test_a_launcher_that_is_no_program_says_so(runner: AcpRunner, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    result = await ran(runner, agent(command=str(broken)), ["say", "never"])
    assert result.status is FAILED
    assert 'The ACP agent "helper" can\'t be started (No such file or directory)' in result.text


@pytest.mark.parametrize(
    ("each", "text"),
    [
        (
            (["refuse", "no credit"],),
            'The ACP agent "helper" refused: Internal error: no credit.',
        ),
        (("nonsense",), 'The ACP agent "helper" sent a response that violates the protocol.'),
        ((["say", "I can't."], ["stop", "refusal"]), "It refused to continue. Its output so far: I can't."),
        (
            (["say", "Half"], ["stop", "max_tokens"]),
            "It reached one of its own limits (max_tokens) and may not have finished. "
            "Its output so far: Half",
        ),
        ((), "It ended without any output."),
    ],
)
async def test_an_end_that_is_no_success_is_told(runner: AcpRunner, each: Any, text: str) -> None:
    result = await ran(runner, agent(), *each)
    assert (result.status, result.text) == (FAILED, text)


async def test_noise_breaks_nothing(runner: AcpRunner, caplog: pytest.LogCaptureFixture) -> None:
    noise = [["print", "Loading …"], ["print", "[1, 2]"], ["complain", "x" * 300_000], ["print", ""]]
    result = await ran(runner, agent(), *noise, ["say", "y" * 200_000])
    assert result.status is DONE
    assert set(result.text.replace("\n[… the middle is omitted …]\n", "")) == {"y"}
    assert not [record for record in caplog.records if "JSON" in record.getMessage()]


async def test_without_a_conversation_there_is_no_folder(runner: AcpRunner) -> None:
    result = await ran(runner, agent(), ["say", "never"], thread=None)
    assert result.text == "It can only work in a conversation, and there is none."
    bad = await ran(runner, agent(), ["say", "never"], thread="../x")
    assert bad.text == "Invalid thread id."


async def test_the_package_is_named_where_it_is_missing(
    runner: AcpRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "agent.acp.wire", raising=False)
    monkeypatch.setitem(sys.modules, "acp", None)
    result = await ran(runner, agent(), ["say", "never"])
    assert result.text == (
        'The ACP agent "helper" needs the package agent-client-protocol, which is not installed: '
        "pip install 'roebot[acp]'"
    )


async def test_one_that_ignores_the_end_is_killed(runner: AcpRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "EXIT_SECONDS", 0.1)
    code = (
        "import json, sys, time\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    results = {'initialize': {'protocolVersion': 1}, 'session/new': {'sessionId': 's'}}\n"
        "    done = {'stopReason': 'refusal'}\n"
        "    result = results.get(asked['method'], done)\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': result}), flush=True)\n"
        "    if asked['method'] == 'session/prompt': time.sleep(600)\n"
    )
    began = time.monotonic()
    result = await ran(runner, agent(args=["-S", "-E", "-c", code]))
    assert result.text == "It refused to continue."
    assert time.monotonic() - began < 60
