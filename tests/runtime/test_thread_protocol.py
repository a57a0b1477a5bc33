"""The thread protocol: commands, numbered events, reconnects, and the Python SDK's own client of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.stream import CheckpointsTransformer, CustomTransformer, UpdatesTransformer
from langgraph.types import interrupt

from agent.runtime.domain import EventId
from agent.runtime.protocol.event_filter import EventFilter
from agent.runtime.protocol.thread_events import (
    ProtocolReader,
    ThreadEvents,
    ThreadModeReader,
    parse_seq,
    to_seq,
)
from agent.runtime.settings import LogSettings
from tests.runtime import graphs
from tests.runtime.serving import SOURCES, Served, serve

ALL = sorted(
    {"values", "updates", "messages", "tools", "custom", "lifecycle", "input", "checkpoints", "tasks"}
)
HELLO = {"messages": [{"role": "user", "content": "hello"}]}
Events = list[dict[str, Any]]
SECONDS = 120


async def always() -> bool:
    return True


def two_questions() -> StateGraph[Any, Any, Any, Any]:
    """Two nodes of one step ask a person."""

    async def left(state: graphs.Steps) -> graphs.Steps:
        return {"log": [f"left {interrupt('left?')}"]}

    async def right(state: graphs.Steps) -> graphs.Steps:
        return {"log": [f"right {interrupt('right?')}"]}

    graph = StateGraph(graphs.Steps)
    for name, node in (("left", left), ("right", right)):
        graph.add_node(name, node)
        graph.add_edge(START, name)
    return graph


def outer(inner: StateGraph[Any, Any, Any, Any], state: Any = graphs.Steps) -> StateGraph[Any, Any, Any, Any]:
    """A graph whose only node is another graph."""
    graph = StateGraph(state)
    graph.add_node("inner", inner.compile())
    graph.add_edge(START, "inner")
    return graph


def writing() -> Any:
    """A graph that passes on what its node writes."""

    async def write(state: graphs.Steps) -> graphs.Steps:
        get_stream_writer()({"name": "progress", "step": 1})
        return {"log": ["done"]}

    graph = StateGraph(graphs.Steps)
    graph.add_node("write", write)
    graph.add_edge(START, "write")
    return graph.compile(transformers=[CustomTransformer, UpdatesTransformer, CheckpointsTransformer])


GRAPHS = {
    **SOURCES,
    "two": two_questions,
    "nested_asking": lambda: outer(graphs.asking()),
    "nested_failing": lambda: outer(graphs.failing()),
    "nested_chat": lambda: outer(graphs.chat(tokens=3), MessagesState),
    "writing": writing,
    "short": lambda: graphs.chat(tokens=3),
}


async def send(served: Served, thread: str, method: str, **params: Any) -> dict[str, Any]:
    """Send a command; the whole answer."""
    command = {"id": 7, "method": method, "params": params}
    answer = await served.http.post(f"/threads/{thread}/commands", json=command)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def start(served: Served, thread: str, graph: str, value: Any = HELLO, **params: Any) -> str:
    """Start a run; its id."""
    answer = await send(served, thread, "run.start", assistant_id=graph, input=value, **params)
    assert answer["type"] == "success", answer
    return str(answer["result"]["run_id"])


async def read(served: Served, thread: str, is_last: Callable[[dict[str, Any]], bool], **body: Any) -> Events:
    """Read events until the last one."""
    events: Events = []
    request = {"channels": ALL, **body}
    path = f"/threads/{thread}/stream/events"
    async with asyncio.timeout(SECONDS), served.http.stream("POST", path, json=request) as answer:
        assert answer.status_code == 200
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                events.append(json.loads(line.removeprefix("data: ")))
                if is_last(events[-1]):
                    return events
    raise AssertionError("the stream ended")


def ends(run: str) -> Callable[[dict[str, Any]], bool]:
    """Whether an event is the last of a run."""
    final = {f"synth:{run}:lc||{status}" for status in ("completed", "failed", "interrupted")}
    return lambda event: event["event_id"] in final


def brief(events: Events) -> list[tuple[str, str]]:
    """Method and the part that tells events apart."""
    views = []
    for event in events:
        data = event["params"]["data"]
        views.append((event["method"], data.get("event") or (data.get("interrupt_id") and "asked") or ""))
    return views


def status_of(events: Events) -> str:
    """The status in the last event."""
    assert events[-1]["method"] == "lifecycle"
    return str(events[-1]["params"]["data"]["event"])


async def test_a_run_creates_its_thread_and_streams_tokens(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served:
        thread = str(uuid4())
        run = await start(served, thread, "short", metadata={"m": 1}, config={"tags": ["x"]})
        events = await read(served, thread, ends(run))
        assert brief(events) == [
            ("lifecycle", "running"),
            ("values", ""),
            ("messages", "message-start"),
            ("messages", "content-block-start"),
            *[("messages", "content-block-delta")] * 3,
            ("messages", "content-block-finish"),
            ("messages", "message-finish"),
            ("values", ""),
            ("lifecycle", "completed"),
        ]
        assert events[0]["params"]["data"] == {"event": "running", "graph_name": "short"}
        assert all(event["type"] == "event" and event["params"]["namespace"] == [] for event in events)
        human, answer = events[-2]["params"]["data"]["messages"]
        assert human == {"type": "human", "content": "hello", "id": human["id"]}
        assert [block["text"] for block in answer["content"]] == ["t0 t1 t2 "]
        numbers = [event["seq"] for event in events]
        assert numbers == sorted(set(numbers))
        assert len({event["event_id"] for event in events}) == len(events)
        stored = await served.client.runs.get(thread, run)
        assert (stored["status"], stored["metadata"]["m"]) == ("success", 1)

        second = await send(served, thread, "run.start", assistant_id="short", input=HELLO)
        assert numbers[-1] < second["meta"]["applied_through_seq"]
        again = await read(served, thread, ends(second["result"]["run_id"]))
        assert again[: len(events)] == events
        since = second["meta"]["applied_through_seq"]
        fresh = await read(served, thread, ends(second["result"]["run_id"]), since=since)
        assert fresh == again[len(events) :]
        assert len(fresh[-2]["params"]["data"]["messages"]) == 4


async def test_a_reader_that_came_first_sees_the_run(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served:
        thread = str(uuid4())
        events = asyncio.create_task(
            read(served, thread, lambda event: event["params"]["data"].get("event") == "completed")
        )
        await asyncio.sleep(0.3)
        run = await start(served, thread, "short")
        assert ends(run)((await events)[-1])


@pytest.mark.parametrize("split", [1, 4, 7])
async def test_a_reconnect_gets_every_event_once(tmp_path: Path, split: int) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served:
        thread = str(uuid4())
        runs = [await start(served, thread, "short") for _ in range(2)]
        first: Events = []
        await read(served, thread, lambda event: bool(first.append(event)) or len(first) == split)
        rest = await read(served, thread, ends(runs[1]), since=first[-1]["seq"])
        assert first + rest == await read(served, thread, ends(runs[1]))


async def test_one_question_and_its_answer(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served:
        thread = str(uuid4())
        run = await start(served, thread, "asking", {"log": []})
        events = await read(served, thread, ends(run), channels=["lifecycle", "input"])
        assert brief(events) == [
            ("lifecycle", "running"),
            ("input.requested", "asked"),
            ("lifecycle", "interrupted"),
        ]
        question = events[1]["params"]["data"]
        assert question["payload"] == {"question": "which?"}
        assert events[1]["event_id"] == f"synth:{run}:input||{question['interrupt_id']}"
        answer = {"namespace": [], "interrupt_id": question["interrupt_id"], "response": "blue"}
        accepted = await send(served, thread, "input.respond", **answer)
        assert (accepted["type"], accepted["result"]) == ("success", {})
        since = accepted["meta"]["applied_through_seq"]
        resumed = await read(
            served,
            thread,
            lambda event: event["method"] == "lifecycle" and "completed" in str(event),
            since=since,
        )
        assert status_of(resumed) == "completed"
        assert resumed[-2]["params"]["data"]["log"] == ["before", "answer blue", "after"]
        late = await send(served, thread, "input.respond", **answer)
        assert (late["type"], late["error"]) == ("error", "no_such_interrupt")


async def test_two_questions_are_answered_together(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served:
        thread = str(uuid4())
        run = await start(served, thread, "two", {"log": []})
        events = await read(served, thread, ends(run), channels=["input", "lifecycle"])
        assert status_of(events) == "interrupted"
        asked = {
            event["params"]["data"]["payload"]: event["params"]["data"]["interrupt_id"]
            for event in events
            if event["method"] == "input.requested"
        }
        assert set(asked) == {"left?", "right?"}
        responses = [
            {"namespace": [], "interrupt_id": asked["left?"], "response": "L"},
            {"namespace": [], "interrupt_id": asked["right?"], "response": "R"},
        ]
        accepted = await send(served, thread, "input.respond", responses=responses)
        assert accepted["type"] == "success", accepted
        since = accepted["meta"]["applied_through_seq"]
        resumed = await read(
            served, thread, lambda event: "completed" in str(event["params"]["data"]), since=since
        )
        assert resumed[-2]["params"]["data"]["log"] == ["left L", "right R"]


async def test_input_to_a_waiting_thread_is_the_answer(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served:
        thread = str(uuid4())
        first = await start(served, thread, "asking", {"log": []})
        await read(served, thread, ends(first), channels=["lifecycle"])
        second = await start(served, thread, "asking", "green")
        events = await read(served, thread, ends(second), channels=["lifecycle", "values"])
        assert events[-2]["params"]["data"]["log"] == ["before", "answer green", "after"]


async def test_a_stop_ends_the_run_as_interrupted(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served:
        thread = str(uuid4())
        run = await start(served, thread, "slow")
        await read(served, thread, lambda event: event["method"] == "messages")
        await served.client.runs.cancel(thread, run)
        events = await read(served, thread, ends(run), channels=["lifecycle"])
        assert status_of(events) == "interrupted"


async def test_an_error_is_named_without_its_secret(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served:
        thread = str(uuid4())
        run = await start(served, thread, "nested_failing", {"log": []})
        events = await read(served, thread, ends(run), channels=["lifecycle"])
        assert brief(events) == [("lifecycle", name) for name in ("running", "started", "failed", "failed")]
        assert "it broke" in events[-1]["params"]["data"]["error"]
        assert "sk-" not in json.dumps(events)


async def test_namespaces_and_depth_choose_events(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served:
        thread = str(uuid4())
        run = await start(served, thread, "nested_chat")
        events = await read(served, thread, ends(run))
        place = next(event["params"]["namespace"] for event in events if event["params"]["namespace"])
        assert place[0].startswith("inner:")
        subgraph = [event for event in events if event["params"]["namespace"] == place]
        assert brief(subgraph)[-1] == ("lifecycle", "completed")
        last = subgraph[-1]["event_id"]
        for namespace in (["inner"], place):
            found = await read(
                served, thread, lambda event: event["event_id"] == last, namespaces=[namespace]
            )
            assert found == subgraph
        root = await read(served, thread, ends(run), namespaces=[[]], depth=0)
        assert root == [event for event in events if not event["params"]["namespace"]]


async def test_a_question_in_a_subgraph_names_its_place(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served:
        thread = str(uuid4())
        run = await start(served, thread, "nested_asking", {"log": []})
        events = await read(served, thread, ends(run), channels=["input", "lifecycle"])
        asked = [event for event in events if event["method"] == "input.requested"]
        assert len(asked) == 1
        assert asked[0]["params"]["namespace"][0].startswith("inner:")


async def test_further_channels_of_a_graph_that_passes_them_on(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served:
        thread = str(uuid4())
        run = await start(served, thread, "writing", {"log": []})
        events = await read(served, thread, ends(run), channels=["custom", "lifecycle"])
        assert events[1]["params"]["data"] == {"payload": {"name": "progress", "step": 1}}
        more = await read(served, thread, ends(run), channels=["updates", "checkpoints", "lifecycle"])
        by_method = {event["method"]: event["params"]["data"] for event in more}
        assert by_method["updates"] == {"write": {"log": ["done"]}}
        checkpoint = by_method["checkpoints"]
        assert checkpoint["checkpoint"]["thread_id"] == thread
        assert "config" not in checkpoint


async def test_runs_of_the_other_api_show_their_states(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served:
        thread = (await served.client.threads.create())["thread_id"]
        options: Any = {"input": {"log": []}, "stream_mode": "values", "stream_resumable": True}
        await served.client.runs.wait(thread, "asking", input={"log": []})
        run = await served.client.runs.create(thread, "asking", **{**options, "command": {"resume": "x"}})
        events = await read(served, thread, ends(run["run_id"]))
        assert brief(events)[0] == ("lifecycle", "running")
        assert events[-2]["params"]["data"]["log"][-1] == "after"
        waiting = await served.client.runs.create(thread, "asking", **options)
        again = await read(served, thread, ends(waiting["run_id"]), since=events[-1]["seq"])
        assert ("input.requested", "asked") in brief(again)
        assert status_of(again) == "interrupted"
        assert "__interrupt__" not in json.dumps(again)


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ({"method": "nothing"}, "unknown_command"),
        ({"method": "run.start", "params": {}}, "invalid_argument"),
        ({"method": "run.start", "params": {"assistant_id": "nothing", "input": {}}}, "unknown_error"),
        ({"method": "run.start"}, "invalid_argument"),
        ({"method": "input.respond", "params": {}}, "invalid_argument"),
        ({"method": "input.respond", "params": {"responses": []}}, "invalid_argument"),
        ({"method": "input.respond", "params": {"responses": [{}]}}, "invalid_argument"),
        ({"method": "input.respond", "params": {"interrupt_id": "x", "response": 1}}, "no_such_run"),
        ({"method": "agent.getTree"}, "no_such_run"),
        ({"method": "subscription.subscribe", "params": {"channels": ["values"]}}, "no_such_run"),
    ],
)
async def test_commands_that_fail(served: Served, command: dict[str, Any], error: str) -> None:
    answer = await served.http.post(f"/threads/{uuid4()}/commands", json={"id": 3, **command})
    assert answer.status_code == 200
    view = answer.json()
    assert (view["type"], view["id"], view["error"]) == ("error", 3, error)
    assert view["message"]


@pytest.mark.parametrize(
    "body", ["[]", "{}", '{"id": -1, "method": "run.start"}', '{"id": 1}', '{"id": true, "method": "x"}']
)
async def test_what_is_no_command_is_refused(served: Served, body: str) -> None:
    headers = {"content-type": "application/json"}
    answer = await served.http.post(f"/threads/{uuid4()}/commands", content=body, headers=headers)
    assert answer.status_code == 400
    assert (answer.json()["id"], answer.json()["error"]) == (None, "invalid_argument")


async def test_bad_bodies_and_filters_are_refused(served: Served) -> None:
    thread = uuid4()
    for path in ("commands", "stream/events"):
        headers = {"content-type": "application/json"}
        answer = await served.http.post(f"/threads/{thread}/{path}", content="{", headers=headers)
        assert answer.status_code == 400
    for channels in (None, [], "values", ["nothing"], ["custom:"], [3]):
        answer = await served.http.post(f"/threads/{thread}/stream/events", json={"channels": channels})
        assert answer.status_code == 400
        assert "channel" in answer.json()["detail"]
    wrong = await served.http.post("/threads/x/commands", json={"id": 1, "method": "run.start"})
    assert wrong.json()["message"].startswith("422")


async def test_after_a_number_beyond_all_events_nothing_is_sent(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served:
        thread = str(uuid4())
        run = await start(served, thread, "short")
        await read(served, thread, ends(run))
        body = {"channels": ALL, "since": 10**30}
        stream = served.http.stream("POST", f"/threads/{thread}/stream/events", json=body)
        async with asyncio.timeout(SECONDS), stream as answer:
            assert await anext(answer.aiter_lines()) == ": heartbeat"


async def test_a_busy_thread_refuses_if_asked_to(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served:
        thread = str(uuid4())
        run = await start(served, thread, "slow")
        refused = await send(
            served, thread, "run.start", assistant_id="slow", input=HELLO, multitaskStrategy="reject"
        )
        assert refused["error"] == "unknown_error"
        assert refused["message"].startswith("409")
        await served.client.runs.cancel(thread, run, wait=True)


@pytest.mark.guard(
    "runtime: an answer by the thread protocol must be signed too",
    "agent/runtime/http/protocol.py",
    "make_spec(creation, body, temporary=False), protocol=True)",
    "make_spec(creation._replace(trusted=True), body, temporary=False), protocol=True)",
    against="forged identities",
)
async def test_only_the_bot_answers_questions_if_a_key_is_set(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS, settings={"signing_key": "k" * 32}) as served:
        thread = str(uuid4())
        run = await start(served, thread, "asking", {"log": []})
        events = await read(served, thread, ends(run), channels=["input", "lifecycle"])
        answer = {"interrupt_id": events[1]["params"]["data"]["interrupt_id"], "response": 1}
        refused = [
            await send(served, thread, "input.respond", **answer),
            await send(served, thread, "run.start", assistant_id="asking", input="blue"),
            await send(
                served,
                str(uuid4()),
                "run.start",
                assistant_id="asking",
                input={},
                config={"configurable": {"user_id": "someone"}},
            ),
        ]
        assert [view.get("error") for view in refused[:2]] == ["permission_denied"] * 2


async def test_a_reader_that_lags_costs_no_memory(tmp_path: Path) -> None:
    sources = {"long": lambda: graphs.chat(tokens=300)}
    async with serve(tmp_path, sources=sources, settings={"log": LogSettings(tail_bytes=2_000)}) as served:
        runtime = served.server.config.app.application.state.runtime  # type: ignore[union-attr]
        thread = str(uuid4())
        parts = (runtime.database, runtime.event_log, runtime.manager, runtime.clock)
        events = ThreadEvents(thread, *parts, heartbeat=0.2, may_read=always)
        everything = EventFilter(frozenset(ALL))
        batches = events.read_batches(0, lambda source: ProtocolReader(source, everything), logged=True)
        async with aclosing(batches):
            assert await anext(batches) == b""
            reading = asyncio.ensure_future(anext(batches))
            run = await start(served, thread, "long")
            first = await reading
            channel = runtime.manager.find_active(run).channel
            await served.client.runs.join(thread, run)
            assert channel.frames_after(0) is None
            assert sum(map(len, channel.frames_after(channel.head.seq - 1) or [])) <= 4_000
            content = first
            async for batch in batches:
                content += batch
                if b":lc||completed" in batch:
                    break
        seen = [json.loads(line[6:]) for line in content.split(b"\r\n") if line.startswith(b"data: ")]
        assert seen == await read(served, thread, ends(run))
        deltas = [one["params"]["data"]["delta"]["text"] for one in seen if "delta" in one["params"]["data"]]
        assert deltas == [f"t{number} " for number in range(300)]


@pytest.mark.parametrize(
    "position", [(1, EventId(1, 1)), (7, EventId(3, 900)), (60_000_000, EventId(31, 4_000_000))]
)
def test_numbers_of_events_contain_their_position(position: tuple[int, EventId]) -> None:
    number = to_seq(*position)
    assert parse_seq(number) == position
    assert number < 2**53
    assert number < to_seq(position[0] + 1)


async def test_the_sdk_streams_messages_of_two_turns(tmp_path: Path) -> None:
    async with (
        serve(tmp_path, sources=GRAPHS) as served,
        asyncio.timeout(SECONDS),
        served.client.threads.stream(assistant_id="short") as thread,
    ):

        async def collect() -> list[str]:
            return [await message.text for message in [one async for one in thread.messages]]

        for turn in (1, 2):
            # A run may have ended before a client that subscribes after its start has done so.
            reading = asyncio.create_task(collect())
            await asyncio.sleep(0.3)
            await thread.run.start(input=HELLO)
            assert await reading == ["t0 t1 t2 "]
            state: Any = await served.client.threads.get_state(thread.thread_id)
            assert len(state["values"]["messages"]) == 2 * turn


async def test_the_sdk_answers_an_interrupt(tmp_path: Path) -> None:
    async with (
        serve(tmp_path, sources=GRAPHS) as served,
        asyncio.timeout(SECONDS),
        served.client.threads.stream(assistant_id="asking") as thread,
    ):
        await thread.run.start(input={"log": []})
        async for _ in thread.values:
            pass
        while not thread.interrupted:
            await asyncio.sleep(0.01)
        assert len(thread.interrupts) == 1
        await thread.run.respond("blue")
        output = await thread.output
        assert output["log"] == ["before", "answer blue", "after"]


async def test_a_thread_s_stream_shows_its_runs(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served, asyncio.timeout(SECONDS):
        thread = (await served.client.threads.create())["thread_id"]
        await served.client.runs.wait(thread, "short", input=HELLO)
        names: dict[str, list[str]] = {}
        found: dict[str, list[Any]] = {}
        modes = {"run_modes": 4, "lifecycle": 2, "state_update": 2}
        connected = {mode: asyncio.Event() for mode in modes}

        async def follow(mode: str) -> None:
            names[mode], found[mode] = [], []
            params = {"stream_mode": mode}
            async with served.http.stream("GET", f"/threads/{thread}/stream", params=params) as answer:
                connected[mode].set()
                async for line in answer.aiter_lines():
                    if line.startswith("event: "):
                        names[mode].append(line.removeprefix("event: "))
                    elif line.startswith("data: "):
                        found[mode].append(json.loads(line.removeprefix("data: ")))
                        if len(found[mode]) == modes[mode]:
                            return

        async with asyncio.TaskGroup() as group:
            for mode in modes:
                group.create_task(follow(mode))
            for mode in modes:
                await connected[mode].wait()
            run_id = (await served.client.runs.create(thread, "short", input=HELLO))["run_id"]
        assert names == {
            "run_modes": ["metadata", "values", "values", "metadata"],
            "lifecycle": ["metadata", "metadata"],
            "state_update": ["values", "values"],
        }
        assert found["lifecycle"] == [
            {"run_id": run_id, "attempt": 1},
            {"status": "run_done", "run_id": run_id},
        ]


async def test_runs_that_start_after_the_headers_are_not_missed(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served, asyncio.timeout(SECONDS):
        runtime = served.server.config.app.application.state.runtime  # type: ignore[union-attr]
        thread = (await served.client.threads.create())["thread_id"]
        parts = (runtime.database, runtime.event_log, runtime.manager, runtime.clock)
        events = ThreadEvents(thread, *parts, heartbeat=60, may_read=always)
        modes = frozenset({"lifecycle"})
        async with aclosing(
            events.read_batches(None, lambda source: ThreadModeReader(source, modes), logged=False)
        ) as batches:
            assert await anext(batches) == b""
            run_id = (await served.client.runs.create(thread, "short", input=HELLO))["run_id"]
            await served.client.runs.join(thread, run_id)
            assert run_id.encode() in await anext(batches)


async def test_a_thread_s_stream_goes_on_after_an_event(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served, asyncio.timeout(SECONDS):
        thread = (await served.client.threads.create())["thread_id"]
        options: Any = {"input": HELLO, "stream_mode": "messages-tuple", "stream_resumable": True}
        run = await served.client.runs.create(thread, "short", **options)
        await served.client.runs.join(thread, run["run_id"])

        async def follow(after: str) -> list[Any]:
            parts = []
            async for part in await served.client.threads.join_stream(thread, last_event_id=after):
                parts.append(part)
                if part.event == "metadata" and part.data.get("status") == "run_done":
                    break
            return parts

        whole = await follow("-1")
        assert [part.event for part in whole] == ["metadata", *["messages"] * (len(whole) - 2), "metadata"]
        assert await follow(whole[2].id) == whole[3:]


async def test_an_unknown_mode_of_a_thread_s_stream_is_refused(served: Served) -> None:
    answer = await served.http.get(f"/threads/{uuid4()}/stream", params={"stream_mode": "nothing"})
    assert answer.status_code == 422


async def test_streams_of_threads_end_with_the_process(tmp_path: Path) -> None:
    async with serve(tmp_path, sources=GRAPHS) as served:
        body = {"channels": ["lifecycle"]}
        stream = served.http.stream("POST", f"/threads/{uuid4()}/stream/events", json=body)
        async with asyncio.timeout(30), stream as answer:
            served.server.should_exit = True
            await served.server.config.app.application.state.runtime.manager.stop()  # type: ignore[union-attr]
            with pytest.raises(httpx.RemoteProtocolError):
                async for _ in answer.aiter_lines():
                    pass
