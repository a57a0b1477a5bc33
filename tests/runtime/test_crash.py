"""SIGKILL at every named step of a run, and SIGTERM: what was accepted ends once, and no tool runs twice."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient

from agent.runtime.faults import RunStep
from tests.conftest import DATABASES
from tests.runtime.processes import runtime

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

ASK: Any = {"messages": [{"role": "user", "content": "hi"}]}
THREAD = "0b1f9c3e-0000-4000-8000-000000000001"
OPTIONS: Any = {
    "input": ASK,
    "stream_mode": "messages-tuple",
    "stream_resumable": True,
    "if_not_exists": "create",
    "durability": "sync",
    "headers": {"Idempotency-Key": "turn:1"},
}
TEXT = "".join(f"t{number} " for number in range(40))


async def begin(client: LangGraphClient) -> None:
    """Start the run and follow it until the process is gone."""
    with contextlib.suppress(httpx.HTTPError):
        path = f"/threads/{THREAD}/runs/stream"
        body = {"assistant_id": "counted", **{key: OPTIONS[key] for key in OPTIONS if key != "headers"}}
        inner = client.http.client
        async with inner.stream("POST", path, json=body, headers=OPTIONS["headers"]) as answer:
            async for _ in answer.aiter_bytes():
                pass


async def whole(client: LangGraphClient, run_id: str) -> list[Any]:
    """All events of all attempts."""
    return [part async for part in client.runs.join_stream(THREAD, run_id, last_event_id="-1")]


def calls(home: Path) -> int:
    """How often the tool ran."""
    return len((home / "calls.txt").read_text().splitlines())


@pytest.fixture(params=DATABASES)
def options(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, ...]:
    """Arguments of a process on each kind of database."""
    if request.param == "sqlite":
        return ()
    config = tmp_path / "config.yaml"
    config.write_text(f"database: {{url: '{request.getfixturevalue('postgres_url')}'}}\n")
    return ("--config", str(config))


@pytest.mark.parametrize("step", list(RunStep))
async def test_a_kill_at_each_step_loses_nothing_and_repeats_no_tool(
    tmp_path: Path, step: RunStep, options: tuple[str, ...]
) -> None:
    home = tmp_path / "home"
    count = {RunStep.MID_STREAM: ":5"}.get(step, "")
    async with runtime(home, fault=f"{step}{count}", arguments=options) as first:
        await begin(first.client)
        assert await first.died() == -9
    async with runtime(home, arguments=options) as second:
        run = await second.client.runs.create(THREAD, "counted", **OPTIONS)
        events = await whole(second.client, run["run_id"])
        assert len(await second.client.runs.list(THREAD)) == 1
        assert [part.event for part in events].count("end") == 1
        assert events[-1].data == {"run_id": run["run_id"], "status": "success"}
        ids = [part.id for part in events]
        assert len(set(ids)) == len(ids)
        thread = await second.client.threads.get(THREAD)
    assert thread["status"] == "idle"
    assert [message["content"] for message in thread["values"]["messages"]] == ["hi", "tool done", TEXT]
    assert calls(home) == 1


@pytest.mark.parametrize("count", [1, 2])
async def test_what_a_node_wrote_stays_though_its_checkpoint_was_lost(tmp_path: Path, count: int) -> None:
    home = tmp_path / "home"
    async with runtime(home, fault=f"{RunStep.WRITES_STORED}:{count}") as first:
        await begin(first.client)
        assert await first.died() == -9
    async with runtime(home) as second:
        run = await second.client.runs.create(THREAD, "counted", **OPTIONS)
        await second.client.runs.join(THREAD, run["run_id"])
        more: Any = await second.client.runs.wait(
            THREAD, "counted", input={"messages": [{"role": "user", "content": "and then?"}]}
        )
    said = [message["content"] for message in more["messages"]]
    assert said == ["hi", "tool done", TEXT, "and then?", "tool done", TEXT]
    assert calls(home) == 2


async def test_each_attempt_begins_with_its_number_and_its_text_is_whole(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with runtime(home, fault=f"{RunStep.MID_STREAM}:5") as first:
        await begin(first.client)
        assert await first.died() == -9
    async with runtime(home) as second:
        run = await second.client.runs.create(THREAD, "counted", **OPTIONS)
        events = await whole(second.client, run["run_id"])
    starts = [part.data["attempt"] for part in events if part.event == "metadata"]
    assert starts == [1, 2]
    ids = [tuple(int(part) for part in event.id.split("-")) for event in events]
    assert ids == sorted(ids)
    last = [part for part in events if part.id.startswith("2-") and part.event == "messages"]
    chunks = [part.data[0]["content"] for part in last if part.data[0]["type"] == "AIMessageChunk"]
    assert "".join(chunks) == TEXT


async def test_a_run_that_is_cut_off_again_and_again_ends_in_an_error(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with runtime(home, fault=f"{RunStep.RUN_STARTED}") as process:
        await begin(process.client)
        await process.died()
    for _ in range(2):
        async with runtime(home, fault=f"{RunStep.RUN_STARTED}") as process:
            await process.died()
    async with runtime(home) as last:
        run = await last.client.runs.create(THREAD, "counted", **OPTIONS)
        events = await whole(last.client, run["run_id"])
        assert [part.data["attempt"] for part in events if part.event == "metadata"] == [1, 2, 3]
        assert events[-2].data["error"] == "RunLost"
        assert events[-1].data["status"] == "error"
        assert (await last.client.threads.get(THREAD))["status"] == "error"


async def test_sigterm_leaves_the_run_to_the_next_start_and_says_no_end(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with runtime(home) as first:
        run = await first.client.runs.create(THREAD, "patient", **OPTIONS)
        queued = await first.client.runs.create(THREAD, "counted", input=ASK)
        seen = []
        path = f"/threads/{THREAD}/runs/{run['run_id']}/stream"
        async with first.client.http.client.stream("GET", path, headers={"Last-Event-ID": "-1"}) as answer:
            async for line in answer.aiter_lines():
                seen.append(line)
                if line == "id: 1-4":
                    first.process.terminate()
        assert "event: end" not in seen
        assert await first.died() == 0
    async with runtime(home) as second:
        await second.client.runs.join(THREAD, queued["run_id"])
        events = await whole(second.client, run["run_id"])
        assert events[-1].data["status"] == "success"
        found = await second.client.runs.get(THREAD, run["run_id"])
        assert found["status"] == "success"
        values = (await second.client.threads.get(THREAD))["values"]
        assert [message["type"] for message in values["messages"]] == [
            "human",
            "ai",
            "ai",
            "human",
            "ai",
            "ai",
        ]


async def test_a_question_that_stands_at_the_kill_still_stands_after_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with runtime(home, fault=f"{RunStep.BEFORE_FINISH}") as first:
        with contextlib.suppress(httpx.HTTPError):
            await first.client.http.client.post(
                f"/threads/{THREAD}/runs/wait",
                json={"assistant_id": "asking", "input": {"log": []}, "if_not_exists": "create"},
            )
        assert await first.died() == -9
    async with runtime(home) as second:
        run = (await second.client.runs.list(THREAD))[0]
        await second.client.runs.join(THREAD, run["run_id"])
        thread = await second.client.threads.get(THREAD)
        assert thread["status"] == "interrupted"
        done = await second.client.runs.wait(THREAD, "asking", command={"resume": "yes"})
        assert done["log"] == ["before", "answer yes", "after"]


async def test_a_second_process_on_the_same_home_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with runtime(home), runtime(home) as second:
        assert second.port == 0
        assert await second.died() == 1


async def test_the_process_ends_with_its_parent(tmp_path: Path) -> None:
    async with runtime(tmp_path / "home", arguments=("--parent-pid", "1")) as orphan:
        assert await orphan.died() == 0
