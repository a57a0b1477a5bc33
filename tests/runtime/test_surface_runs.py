"""Runs through the real SDK over real HTTP: every way to start, follow and end one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import httpx
import pytest
from langgraph_sdk.errors import BadRequestError, NotFoundError, UnprocessableEntityError

from tests.harness.credentials import AGENT_SIGNED
from tests.runtime import graphs
from tests.runtime.serving import Served

ASK = {"messages": [{"role": "user", "content": "hi"}]}
TEXT = "".join(f"t{number} " for number in range(20))


async def collect(stream: Any) -> list[Any]:
    """All parts of a stream."""
    return [part async for part in stream]


async def new_thread(served: Served) -> str:
    """An empty thread."""
    return (await served.client.threads.create())["thread_id"]


async def test_wait_answers_the_final_values(served: Served) -> None:
    values = await served.client.runs.wait(await new_thread(served), "chat", input=ASK)
    assert [message["type"] for message in values["messages"]] == ["human", "ai"]
    assert values["messages"][1]["content"] == TEXT


async def test_stream_gives_tokens_between_metadata_and_end(served: Served) -> None:
    stream = served.client.runs.stream(
        await new_thread(served), "chat", input=ASK, stream_mode="messages-tuple"
    )
    events = await collect(stream)
    assert events[0].event == "metadata"
    assert events[0].data["attempt"] == 1
    assert events[-1].event == "end"
    assert events[-1].data == {"run_id": events[0].data["run_id"], "status": "success"}
    assert "".join(part.data[0]["content"] for part in events if part.event == "messages") == TEXT
    assert all(part.id is None for part in events)


async def test_resumable_events_are_numbered_without_gaps(served: Served) -> None:
    stream = served.client.runs.stream(
        await new_thread(served), "chat", input=ASK, stream_mode="messages-tuple", stream_resumable=True
    )
    events = await collect(stream)
    assert [part.id for part in events] == [f"1-{number}" for number in range(1, len(events) + 1)]


@pytest.mark.parametrize("mode", ["values", "updates", "debug", "tasks", "checkpoints", "events", "messages"])
async def test_each_mode_streams_its_own_events(served: Served, mode: Any) -> None:
    events = await collect(
        served.client.runs.stream(await new_thread(served), "chat", input=ASK, stream_mode=mode)
    )
    names = {part.event.partition("/")[0] for part in events} - {"metadata", "end"}
    assert names == {mode}


async def test_cumulative_messages_end_with_the_whole_text(served: Served) -> None:
    stream = served.client.runs.stream(await new_thread(served), "chat", input=ASK, stream_mode="messages")
    events = await collect(stream)
    partial = [part.data[0]["content"] for part in events if part.event == "messages/partial"]
    assert partial[-1] == TEXT
    assert all(later.startswith(earlier) for earlier, later in pairwise(partial))
    assert [part.event for part in events].count("messages/metadata") >= 1


async def test_custom_events_and_updates_keep_their_order(served: Served) -> None:
    graphs.gate("x").set()
    stream = served.client.runs.stream(
        await new_thread(served), "gated", input={"ask": "x"}, stream_mode=["custom", "updates"]
    )
    events = [(part.event, part.data) for part in await collect(stream)][1:-1]
    assert events == [
        ("custom", {"step": "first"}),
        ("updates", {"first": {"log": ["first x"]}}),
        ("updates", {"second": {"log": ["second x"]}}),
    ]


async def test_configs_of_checkpoint_events_are_addresses(served: Served) -> None:
    thread = await new_thread(served)
    events = await collect(
        served.client.runs.stream(
            thread,
            "nested",
            input={"log": []},
            config={"configurable": {"person": "p"}},
            stream_mode=["checkpoints", "debug"],
        )
    )
    found = [part.data for part in events if part.event == "checkpoints"]
    found += [
        part.data["payload"] for part in events if part.event == "debug" and part.data["type"] == "checkpoint"
    ]
    assert found
    for item in found:
        ids = item["config"]["configurable"]
        assert "person" not in ids
        address = {key: ids[key] for key in ("thread_id", "checkpoint_ns", "checkpoint_id")}
        assert item.get("checkpoint", address) == address


async def test_events_name_their_graph_and_leave_out_its_chunks(served: Served) -> None:
    stream = served.client.runs.stream(None, "chat", input={"messages": []}, stream_mode="events")
    found = [
        (part.data["event"], part.data["name"]) for part in await collect(stream) if part.event == "events"
    ]
    assert found[0] == ("on_chain_start", "chat")
    assert ("on_chain_stream", "chat") not in found


async def test_subgraph_events_carry_their_namespace(served: Served) -> None:
    stream = served.client.runs.stream(
        await new_thread(served), "nested", input={"log": []}, stream_mode="updates", stream_subgraphs=True
    )
    names = [part.event for part in await collect(stream)]
    assert any(name.startswith("updates|inner:") for name in names)
    assert "updates" in names


async def test_a_failing_graph_sends_an_error_without_its_secret(served: Served) -> None:
    thread = await new_thread(served)
    events = await collect(served.client.runs.stream(thread, "failing", input={"log": []}))
    error = next(part.data for part in events if part.event == "error")
    assert error["error"] == "ValueError"
    assert "sk-abc" not in str(error)
    assert events[-1].data["status"] == "error"
    row = await served.client.threads.get(thread)
    assert row["status"] == "error"
    assert row["values"] == {"log": ["good"]}
    assert (await served.client.runs.list(thread))[0]["status"] == "error"


async def test_waiting_for_a_failing_graph_gives_its_error(served: Served) -> None:
    thread = await new_thread(served)
    values = await served.client.runs.wait(thread, "failing", input={"log": []}, raise_error=False)
    assert values["__error__"]["error"] == "ValueError"
    run = (await served.client.runs.list(thread))[0]
    again = (await served.http.get(f"/threads/{thread}/runs/{run['run_id']}/join")).json()
    assert again == values


async def test_an_interrupt_is_in_the_values_and_a_command_resumes_it(served: Served) -> None:
    thread = await new_thread(served)
    values = await served.client.runs.wait(thread, "asking", input={"log": []})
    assert values["__interrupt__"][0]["value"] == {"question": "which?"}
    row = await served.client.threads.get(thread)
    assert row["status"] == "interrupted"
    assert [item["id"] for items in row["interrupts"].values() for item in items] == [
        values["__interrupt__"][0]["id"]
    ]
    done = await served.client.runs.wait(thread, "asking", command={"resume": "this"})
    assert done["log"] == ["before", "answer this", "after"]
    row = await served.client.threads.get(thread)
    assert row["status"] == "idle"
    assert row["interrupts"] == {}


async def test_interrupts_before_a_node_and_goes_on_with_no_input(served: Served) -> None:
    graphs.gate("x").set()
    thread = await new_thread(served)
    values = await served.client.runs.wait(
        thread, "gated", input={"ask": "x"}, interrupt_before=["second"], durability="sync"
    )
    assert values["log"] == ["first x"]
    assert (await served.client.threads.get(thread))["status"] == "interrupted"
    assert (await served.client.runs.wait(thread, "gated", input=None))["log"] == ["first x", "second x"]


async def test_interrupts_after_a_node(served: Served) -> None:
    thread = await new_thread(served)
    values = await served.client.runs.wait(
        thread, "gated", input={"ask": "x"}, interrupt_after=["first"], durability="exit"
    )
    assert values["log"] == ["first x"]
    assert (await served.client.threads.get_state(thread))["next"] == ["second"]


async def test_a_command_updates_and_goes_to_a_node(served: Served) -> None:
    thread = await new_thread(served)
    done = await served.client.runs.wait(
        thread, "asking", command={"update": {"log": ["set"]}, "goto": "after"}
    )
    assert {"set", "after"} <= set(done["log"])


async def test_a_send_without_a_node_fails_the_run(served: Served) -> None:
    values = await served.client.runs.wait(
        await new_thread(served),
        "asking",
        command={"goto": {"input": 1}},  # type: ignore[typeddict-item]
        raise_error=False,
    )
    assert values["__error__"]["error"] == "BadRequest"


async def test_background_run_is_listed_joined_and_deleted(served: Served) -> None:
    thread = await new_thread(served)
    run = await served.client.runs.create(thread, "gated", input={"ask": "x"}, metadata={"a": 1})
    await graphs.arrived("x").wait()
    assert run["status"] in ("pending", "running")
    facts = {"created_by": "system", "graph_id": "gated", "assistant_id": run["assistant_id"]}
    assert run["metadata"] == {"a": 1, **facts}
    assert (await served.client.threads.get(thread))["status"] == "busy"
    graphs.gate("x").set()
    assert (await served.client.runs.join(thread, run["run_id"]))["log"] == ["first x", "second x"]
    found = await served.client.runs.get(thread, run["run_id"])
    assert found["status"] == "success"
    assert [item["run_id"] for item in await served.client.runs.list(thread, status="success")] == [
        run["run_id"]
    ]
    await served.client.runs.delete(thread, run["run_id"])
    with pytest.raises(NotFoundError):
        await served.client.runs.get(thread, run["run_id"])


async def test_runs_are_listed_in_pages(served: Served) -> None:
    thread = await new_thread(served)
    graphs.gate("x").set()
    for _ in range(3):
        await served.client.runs.wait(thread, "gated", input={"ask": "x"})
    answer = await served.http.get(f"/threads/{thread}/runs", params={"limit": 2, "select": "run_id"})
    assert len(answer.json()) == 2
    assert list(answer.json()[0]) == ["run_id"]
    assert answer.headers["x-pagination-total"] == "3"
    assert answer.headers["x-pagination-next"] == "2"


async def test_stateless_runs_leave_no_thread(served: Served) -> None:
    values = await served.client.runs.wait(None, "chat", input=ASK)
    assert values["messages"][1]["content"] == TEXT
    created: list[Any] = []
    stream = served.client.runs.stream(None, "chat", input=ASK, on_run_created=created.append)
    assert (await collect(stream))[-1].event == "end"
    assert created[0]["thread_id"]
    assert await served.client.threads.search() == []


async def test_stateless_runs_keep_their_thread_when_asked(served: Served) -> None:
    await served.client.runs.wait(None, "chat", input=ASK, on_completion="keep")
    assert [row["status"] for row in await served.client.threads.search()] == ["idle"]


async def test_batch_starts_every_run(served: Served) -> None:
    made = await served.client.runs.create_batch(
        [{"assistant_id": "gated", "input": {"ask": name}} for name in ("a", "b")]  # type: ignore[typeddict-item]
    )
    assert len({run["thread_id"] for run in made}) == 2
    for name in ("a", "b"):
        await graphs.arrived(name).wait()
        graphs.gate(name).set()


async def test_headers_say_where_the_run_is(served: Served) -> None:
    thread = await new_thread(served)
    body = {"assistant_id": "chat", "input": ASK}
    for kind, last in (("stream", "stream"), ("wait", "join")):
        answer = await served.http.post(f"/threads/{thread}/runs/{kind}", json=body)
        place = answer.headers["content-location"]
        assert place.startswith(f"/threads/{thread}/runs/")
        assert answer.headers["location"] == f"{place}/{last}"
    assert answer.headers["content-type"] == "application/json"


async def test_after_seconds_starts_later_and_does_not_hold_up_others(served: Served) -> None:
    thread = await new_thread(served)
    graphs.gate("late").set()
    graphs.gate("soon").set()
    late = await served.client.runs.create(thread, "gated", input={"ask": "late"}, after_seconds=1)
    assert late["status"] == "pending"
    soon = await served.client.runs.wait(thread, "gated", input={"ask": "soon"})
    assert soon["log"] == ["first soon", "second soon"]
    done = await served.client.runs.join(thread, late["run_id"])
    assert done["log"][-1] == "second late"


async def test_a_missing_thread_is_made_only_when_asked(served: Served) -> None:
    missing = "0b1f9c3e-0000-4000-8000-000000000001"
    with pytest.raises(NotFoundError):
        await served.client.runs.create(missing, "chat", input=ASK)
    await served.client.runs.wait(missing, "chat", input=ASK, if_not_exists="create")
    assert (await served.client.threads.get(missing))["metadata"]["graph_id"] == "chat"


async def test_a_run_from_a_checkpoint_forks_the_thread(served: Served) -> None:
    graphs.gate("x").set()
    graphs.gate("y").set()
    thread = await new_thread(served)
    await served.client.runs.wait(thread, "gated", input={"ask": "x"})
    first = (await served.client.threads.get_state(thread))["checkpoint"]["checkpoint_id"]
    await served.client.runs.wait(thread, "gated", input={"ask": "x"})
    forked = await served.client.runs.wait(thread, "gated", input={"ask": "y"}, checkpoint_id=first)
    assert forked["log"] == ["first x", "second x", "first y", "second y"]
    state = await served.client.threads.get_state(thread)
    assert state["values"]["log"] == forked["log"]


async def test_the_model_header_fills_an_absent_model_name(served: Served) -> None:
    thread = await new_thread(served)
    for config, expected in (({}, "big"), ({"configurable": {"model_name": "small"}}, "small")):
        run = await served.client.runs.create(
            thread, "chat", input=ASK, config=config, headers={"X-Model": "big"}
        )
        assert run["kwargs"]["config"]["configurable"]["model_name"] == expected


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"assistant_id": "nobody"}, 422),
        ({"command": {"goto": 5}}, 422),
        ({"command": {"update": "x"}}, 422),
        ({"checkpoint_id": "abc"}, 422),
        ({"stream_mode": "tools"}, 422),
        ({"webhook": "http://127.0.0.1/x"}, 422),
        ({"multitask_strategy": "maybe"}, 422),
        ({"context": {"a": 1}, "config": {"configurable": {"b": 1}}}, 400),
        ({"assistant_id": None}, 422),
        ({"after_seconds": -1}, 422),
    ],
)
async def test_bad_requests_say_why(served: Served, change: dict[str, Any], status: int) -> None:
    thread = await new_thread(served)
    body = {"assistant_id": "chat", "input": ASK, **change}
    answer = await served.http.post(f"/threads/{thread}/runs", json=body)
    assert answer.status_code == status
    assert answer.json()["detail"]


async def test_bad_ids_and_bodies_are_refused(served: Served) -> None:
    assert (await served.http.get("/threads/nope/runs")).status_code == 422
    broken = await served.http.post("/runs", content=b"{", headers={"content-type": "application/json"})
    assert broken.status_code == 422
    assert (await served.http.post("/runs/batch", json={})).status_code == 422
    with pytest.raises(UnprocessableEntityError):
        await served.client.runs.list(await new_thread(served), limit=0)
    with pytest.raises(BadRequestError):
        await _patch_system(served)


async def _patch_system(served: Served) -> None:
    found = await served.client.assistants.search(graph_id="chat")
    await served.client.assistants.update(found[0]["assistant_id"], name="mine")


async def test_ok_info_and_unknown_paths(served: Served) -> None:
    assert (await served.http.get("/ok")).json() == {"ok": True}
    info = (await served.http.get("/info")).json()
    assert info["flags"]["crons"] is True
    missing = await served.http.get("/nothing")
    assert (missing.status_code, missing.json()["detail"]) == (404, "Not Found")
    assert (await served.http.delete("/ok")).status_code == 405


async def test_an_idle_stream_and_an_idle_wait_are_kept_alive(served: Served) -> None:
    thread = await new_thread(served)
    body = {"assistant_id": "gated", "input": {"ask": "x"}}
    seen = b""
    async with served.http.stream("POST", f"/threads/{thread}/runs/stream", json=body) as answer:
        async for piece in answer.aiter_bytes():
            seen += piece
            if b": heartbeat" in seen:
                graphs.gate("x").set()
    assert seen.rstrip().endswith(b'"status":"success"}')
    graphs.gates.clear()
    async with served.http.stream("POST", f"/threads/{thread}/runs/wait", json=body) as answer:
        pieces = answer.aiter_bytes()
        assert (await anext(pieces)).isspace()
        graphs.gate("x").set()
        rest = b"".join([piece async for piece in pieces])
    assert b"second x" in rest


async def test_a_client_that_leaves_ends_the_run_only_when_asked(served: Served) -> None:
    for on_disconnect, status in (("continue", "success"), ("cancel", "interrupted")):
        graphs.gates.clear()
        graphs.entered.clear()
        thread = await new_thread(served)
        body = {"assistant_id": "gated", "input": {"ask": "x"}, "on_disconnect": on_disconnect}
        async with served.http.stream("POST", f"/threads/{thread}/runs/stream", json=body):
            await graphs.arrived("x").wait()
        run = (await served.client.runs.list(thread))[0]
        if on_disconnect == "continue":
            graphs.gate("x").set()
        await served.client.runs.join(thread, run["run_id"])
        assert (await served.client.runs.get(thread, run["run_id"]))["status"] == status


async def test_wait_with_cancel_on_disconnect(served: Served) -> None:
    thread = await new_thread(served)
    body = {"assistant_id": "gated", "input": {"ask": "x"}, "on_disconnect": "cancel"}
    path = f"/threads/{thread}/runs/wait"
    async with (
        httpx.AsyncClient(base_url=served.url, headers=AGENT_SIGNED) as leaving,
        leaving.stream("POST", path, json=body),
    ):
        await graphs.arrived("x").wait()
    run = (await served.client.runs.list(thread))[0]
    await served.client.runs.join(thread, run["run_id"])
    assert (await served.client.runs.get(thread, run["run_id"]))["status"] == "interrupted"
