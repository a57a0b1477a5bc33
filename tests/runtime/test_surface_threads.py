"""Threads, states, history, store items and assistants through the real SDK."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from langgraph_sdk.errors import BadRequestError, ConflictError, NotFoundError, UnprocessableEntityError

from tests.runtime import graphs
from tests.runtime.serving import SOURCES, Served

ID = "0b1f9c3e-0000-4000-8000-000000000001"


async def done_thread(served: Served, runs: int = 1) -> str:
    """A thread with finished runs of `gated`."""
    graphs.gate("x").set()
    thread = (await served.client.threads.create())["thread_id"]
    for _ in range(runs):
        await served.client.runs.wait(thread, "gated", input={"ask": "x"})
    return thread


async def test_create_get_update_delete(served: Served) -> None:
    made = await served.client.threads.create(thread_id=ID, metadata={"a": 1}, graph_id="chat")
    assert made["metadata"] == {"a": 1, "graph_id": "chat"}
    assert made["status"] == "idle"
    assert await served.client.threads.get(ID) == made
    changed = await served.client.threads.update(ID, metadata={"b": [2]})
    assert changed["metadata"] == {"a": 1, "graph_id": "chat", "b": [2]}
    assert await served.client.threads.update(ID, metadata={"c": 3}, return_minimal=True) is None
    await served.client.threads.delete(ID)
    with pytest.raises(NotFoundError):
        await served.client.threads.get(ID)
    with pytest.raises(NotFoundError):
        await served.client.threads.delete(ID)


async def test_a_known_id_is_a_conflict_unless_allowed(served: Served) -> None:
    await served.client.threads.create(thread_id=ID, metadata={"a": 1})
    with pytest.raises(ConflictError):
        await served.client.threads.create(thread_id=ID)
    again = await served.client.threads.create(thread_id=ID, if_exists="do_nothing", metadata={"b": 1})
    assert again["metadata"] == {"a": 1}
    with pytest.raises(UnprocessableEntityError):
        await served.client.threads.create(thread_id="nope")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["c", "b", "a"]),
        ({"metadata": {"n": 1}}, ["a"]),
        ({"metadata": {"deep": {"x": True}}}, ["b"]),
        ({"metadata": {"deep": {"x": False}}}, []),
        ({"metadata": {"list": [1, "2"]}}, ["c"]),
        ({"metadata": {"none": None}}, ["c"]),
        ({"metadata": {'q"uote': 1}}, []),
        ({"status": "idle"}, ["c", "b", "a"]),
        ({"status": "busy"}, []),
        ({"limit": 1, "offset": 1}, ["b"]),
        ({"sort_by": "created_at", "sort_order": "asc", "limit": 2}, ["a", "b"]),
        ({"ids": [ID]}, ["a"]),
        ({"values": {"log": []}}, []),
    ],
)
async def test_search_and_count(served: Served, query: dict[str, Any], found: list[str]) -> None:
    await served.client.threads.create(thread_id=ID, metadata={"name": "a", "n": 1})
    await served.client.threads.create(metadata={"name": "b", "deep": {"x": True, "y": 1}})
    await served.client.threads.create(metadata={"name": "c", "list": [1, "2"], "none": None})
    rows = await served.client.threads.search(**query)
    assert [row["metadata"]["name"] for row in rows] == found
    if not {"limit", "ids"} & set(query):
        assert await served.client.threads.count(**query) == len(found)


@pytest.mark.parametrize("number", [0, -7, 1.5, 2**53 + 1, 2**63, -(2**70)])
async def test_numbers_of_any_size_are_found(served: Served, number: float) -> None:
    stored = {"metadata": {"n": number, "deep": {"n": number}, "list": [number]}}
    assert (await served.http.post("/threads", content=json.dumps(stored))).status_code == 200
    await served.client.threads.create(metadata={"n": 1, "list": [1]})
    for part in ({"n": number}, {"deep": {"n": number}}, {"list": [number]}):
        answer = await served.http.post("/threads/search", content=json.dumps({"metadata": part}))
        assert [len(row["metadata"]) for row in answer.json()] == [3], part


@pytest.mark.parametrize(
    "path", ["/threads/search", "/assistants/search", "/runs/crons/search", "/store/items/search"]
)
async def test_an_offset_beyond_the_database_is_refused(served: Served, path: str) -> None:
    body = {"offset": 2**64, "namespace_prefix": []}
    assert (await served.http.post(path, content=json.dumps(body))).status_code == 422


async def test_search_pages_and_selects(served: Served) -> None:
    for _ in range(3):
        await served.client.threads.create()
    answer = await served.http.post("/threads/search", json={"limit": 2, "select": ["thread_id"]})
    assert [list(row) for row in answer.json()] == [["thread_id"]] * 2
    assert answer.headers["x-pagination-total"] == "3"
    assert answer.headers["x-pagination-next"] == "2"
    assert (await served.http.post("/threads/search", json={"sort_by": "name"})).status_code == 422
    assert (await served.http.post("/threads/search", json={"extract": {"a": "b"}})).status_code == 422


async def test_search_by_values(served: Served) -> None:
    thread = await done_thread(served)
    rows = await served.client.threads.search(values={"ask": "x"})
    assert [row["thread_id"] for row in rows] == [thread]


async def test_state_of_an_empty_thread(served: Served) -> None:
    thread = (await served.client.threads.create())["thread_id"]
    state = await served.client.threads.get_state(thread)
    assert (state["values"], state["next"], state["tasks"]) == ({}, [], [])
    assert await served.client.threads.get_history(thread) == []
    with pytest.raises(BadRequestError):
        await served.client.threads.update_state(thread, {"log": ["x"]})


async def test_states_latest_and_by_checkpoint(served: Served) -> None:
    thread = await done_thread(served)
    latest = await served.client.threads.get_state(thread)
    assert latest["values"]["log"] == ["first x", "second x"]
    history = await served.client.threads.get_history(thread)
    assert history[0]["checkpoint"] == latest["checkpoint"]
    earlier = next(state for state in history if state["next"] == ["second"])
    checkpoint_id = earlier["checkpoint"]["checkpoint_id"]
    by_id = await served.client.threads.get_state(thread, checkpoint_id=checkpoint_id)
    by_address = await served.client.threads.get_state(thread, checkpoint=earlier["checkpoint"])
    assert by_id["values"]["log"] == by_address["values"]["log"] == ["first x"]
    assert [task["name"] for task in by_id["tasks"]] == ["second"]
    with pytest.raises(NotFoundError):
        await served.client.threads.get_state(thread, checkpoint_id="1f000000-0000-6000-8000-000000000000")
    with pytest.raises(UnprocessableEntityError):
        await served.client.threads.get_state(
            thread, checkpoint={"thread_id": ID, "checkpoint_ns": "", "checkpoint_id": checkpoint_id}
        )


async def test_state_select_and_subgraphs(served: Served) -> None:
    thread = (await served.client.threads.create())["thread_id"]
    await served.client.runs.wait(thread, "nested", input={"log": []})
    state = await served.client.threads.get_state(thread, subgraphs=True)
    assert state["values"]["log"] == ["deep"]
    answer = await served.http.get(f"/threads/{thread}/state", params={"select": ["values.log", "next"]})
    assert answer.json() == {"values": {"log": ["deep"]}, "next": []}


async def test_history_is_limited_and_starts_before(served: Served) -> None:
    thread = await done_thread(served, runs=2)
    whole = await served.client.threads.get_history(thread, limit=100)
    assert len(whole) == 8
    part = await served.client.threads.get_history(thread, limit=2, before=whole[1]["checkpoint"])
    assert [state["checkpoint"] for state in part] == [state["checkpoint"] for state in whole[2:4]]
    before_id = whole[1]["checkpoint"]["checkpoint_id"]
    assert await served.client.threads.get_history(thread, limit=2, before=before_id) == part
    odd = await served.http.post(f"/threads/{thread}/history", json={"metadata": {"键": 1}})
    assert odd.status_code == 422
    inputs = await served.client.threads.get_history(thread, metadata={"source": "input"})
    assert len(inputs) == 2
    answer = await served.http.get(f"/threads/{thread}/history")
    assert len(answer.json()) == 8


async def test_update_state_as_a_node_decides_what_comes_next(served: Served) -> None:
    thread = await done_thread(served)
    made = await served.client.threads.update_state(thread, {"log": ["by hand"]}, as_node="first")
    state = await served.client.threads.get_state(thread)
    assert state["checkpoint"]["checkpoint_id"] == made["checkpoint"]["checkpoint_id"]
    assert state["next"] == ["second"]
    row = await served.client.threads.get(thread)
    assert row["status"] == "interrupted"
    assert row["values"]["log"][-1] == "by hand"
    with pytest.raises(BadRequestError):
        await served.client.threads.update_state(thread, {"log": ["x"]}, as_node="nobody")


async def test_update_state_at_a_checkpoint_forks(served: Served) -> None:
    thread = await done_thread(served, runs=2)
    history = await served.client.threads.get_history(thread, limit=100)
    first_end = next(state for state in reversed(history) if len(state["values"].get("log", [])) == 2)
    await served.client.threads.update_state(thread, {"log": ["fork"]}, checkpoint=first_end["checkpoint"])
    state = await served.client.threads.get_state(thread)
    assert state["values"]["log"] == ["first x", "second x", "fork"]


async def test_a_busy_thread_refuses_changes_of_its_state(served: Served) -> None:
    thread = (await served.client.threads.create())["thread_id"]
    run = await served.client.runs.create(thread, "gated", input={"ask": "x"})
    await graphs.arrived("x").wait()
    with pytest.raises(ConflictError):
        await served.client.threads.update_state(thread, {"log": ["x"]})
    await served.client.threads.copy(thread)
    copy = next(row for row in await served.client.threads.search() if row["thread_id"] != thread)
    assert (copy["status"], copy["values"]) == ("interrupted", {"log": ["first x"], "ask": "x"})
    graphs.gate("x").set()
    await served.client.runs.join(thread, run["run_id"])
    await served.client.threads.update_state(thread, {"log": ["x"]})


async def test_deleting_a_busy_thread_ends_its_runs(served: Served) -> None:
    thread = (await served.client.threads.create())["thread_id"]
    for _ in range(2):
        await served.client.runs.create(thread, "gated", input={"ask": "x"})
    await graphs.arrived("x").wait()
    await served.client.threads.delete(thread)
    with pytest.raises(NotFoundError):
        await served.client.threads.get(thread)


async def test_supersteps_write_a_history(served: Served) -> None:
    steps = [
        {"updates": [{"values": {"log": ["one"]}, "as_node": "first"}]},
        {"updates": [{"values": {"log": ["two"]}, "as_node": "second"}]},
    ]
    thread = await served.client.threads.create(graph_id="gated", supersteps=steps)
    assert thread["values"]["log"] == ["one", "two"]
    with pytest.raises(BadRequestError):
        await served.client.threads.create(supersteps=steps)


async def test_a_copy_goes_its_own_way(served: Served) -> None:
    thread = await done_thread(served)
    await served.client.threads.copy(thread)
    copy = next(row for row in await served.client.threads.search() if row["thread_id"] != thread)
    await served.client.runs.wait(copy["thread_id"], "gated", input={"ask": "x"})
    state = await served.client.threads.get_state(copy["thread_id"])
    assert len(state["values"]["log"]) == 4
    assert len((await served.client.threads.get_state(thread))["values"]["log"]) == 2
    assert state["checkpoint"]["thread_id"] == copy["thread_id"]


async def test_prune_deletes_what_there_is(served: Served) -> None:
    thread = await done_thread(served)
    found = await served.client.threads.prune([thread, ID])
    assert found["pruned_count"] == 1
    assert await served.client.threads.search() == []


async def test_pruning_past_states_keeps_the_latest(served: Served) -> None:
    client, thread = served.client, await done_thread(served)
    before = await client.threads.get_state(thread)
    assert len(await client.threads.get_history(thread)) > 1
    assert (await client.threads.prune([thread, ID], strategy="keep_latest"))["pruned_count"] == 1
    after = await client.threads.get_state(thread)
    assert (after["values"], after["checkpoint"]) == (before["values"], before["checkpoint"])
    assert len(await client.threads.get_history(thread)) == 1
    values = await client.runs.wait(thread, "gated", input={"ask": "x"})
    assert isinstance(values, dict)
    assert len(values["log"]) == 4


async def test_pruning_a_busy_thread_is_refused(served: Served) -> None:
    thread = (await served.client.threads.create())["thread_id"]
    await served.client.runs.create(thread, "gated", input={"ask": "never"})
    with pytest.raises(ConflictError):
        await served.client.threads.prune([thread], strategy="keep_latest")


async def test_store_items(served: Served) -> None:
    store = served.client.store
    await store.put_item(["a", "b"], "k", {"x": 1})
    await store.put_item(["a", "c"], "k", {"x": 2})
    item = await store.get_item(["a", "b"], "k")
    assert item["value"] == {"x": 1}
    assert [str(item[name])[-6:] for name in ("created_at", "updated_at")] == ["+00:00"] * 2
    assert (await store.get_item(["a", "b"], "missing")) is None
    found = await store.search_items(["a"], filter={"x": 2})
    assert [entry["namespace"] for entry in found["items"]] == [["a", "c"]]
    found = await store.search_items(["a"], filter={"x": {"$gt": 0, "$lt": 2}})
    assert [item["namespace"] for item in found["items"]] == [["a", "b"]]
    for wanted, status in (({"x": {"$in": [1]}}, 422), ({"x": {"y": 1}}, 200), ({"键": 1}, 200)):
        answer = await served.http.post("/store/items/search", json={"filter": wanted})
        assert (answer.status_code, "$in" in answer.text) == (status, status == 422)
    assert (await store.list_namespaces(prefix=["a"]))["namespaces"] == [["a", "b"], ["a", "c"]]
    assert (await store.list_namespaces(suffix=["c"], max_depth=2))["namespaces"] == [["a", "c"]]
    await store.delete_item(["a", "b"], "k")
    assert await store.get_item(["a", "b"], "k") is None
    for bad in ({"namespace": [], "key": "k", "value": {}}, {"namespace": ["a.b"], "key": "k", "value": {}}):
        assert (await served.http.put("/store/items", json=bad)).status_code == 422
    own = {"namespace": ["langgraph"], "key": "k", "value": {}}
    assert (await served.http.put("/store/items", json=own)).status_code == 400
    for path, body in (
        ("items/search", {"namespace_prefix": [""]}),
        ("namespaces", {"prefix": ["a", ""]}),
        ("namespaces", {"suffix": [""]}),
    ):
        assert (await served.http.post(f"/store/{path}", json=body)).status_code == 400
    timed = {"namespace": ["a"], "key": "k", "value": {}, "ttl": 1}
    assert (await served.http.put("/store/items", json=timed)).status_code == 422
    assert (await served.http.get("/store/items", params={"namespace": "a"})).status_code == 422


async def test_assistants_of_graphs(served: Served) -> None:
    found = await served.client.assistants.search(graph_id="gated")
    assert [item["graph_id"] for item in found] == ["gated"]
    one = await served.client.assistants.get(found[0]["assistant_id"])
    assert one == found[0]
    assert one["metadata"] == {"created_by": "system"}
    assert await served.client.assistants.count() == len(SOURCES)
    assert (await served.http.get("/assistants/gated")).status_code == 422
    drawing = await served.client.assistants.get_graph(one["assistant_id"], xray=1)
    assert {"first", "second"} <= {str(node["id"]) for node in drawing["nodes"]}
    schemas = await served.client.assistants.get_schemas(one["assistant_id"])
    assert "log" in schemas["input_schema"]["properties"]
    thread = (await served.client.threads.create())["thread_id"]
    graphs.gate("x").set()
    values = await served.client.runs.wait(thread, one["assistant_id"], input={"ask": "x"})
    assert values["log"] == ["first x", "second x"]


async def test_own_assistants_bring_their_defaults(served: Served) -> None:
    made = await served.client.assistants.create(
        "chat", config={"configurable": {"tone": "dry"}}, metadata={"team": "a"}, name="Dry"
    )
    thread = (await served.client.threads.create())["thread_id"]
    run = await served.client.runs.create(thread, made["assistant_id"], input={"messages": []})
    assert run["kwargs"]["config"]["configurable"]["tone"] == "dry"
    assert run["kwargs"]["context"] == {"tone": "dry"}
    changed = await served.client.assistants.update(made["assistant_id"], name="Drier", metadata={"b": 1})
    assert (changed["version"], changed["name"], changed["metadata"]) == (2, "Drier", {"team": "a", "b": 1})
    assert [item["name"] for item in await served.client.assistants.search(metadata={"team": "a"})] == [
        "Drier"
    ]
    assert len(await served.client.assistants.search(name="drier", sort_by="name", sort_order="asc")) == 1
    same = await served.client.assistants.create(
        "chat", assistant_id=made["assistant_id"], if_exists="do_nothing"
    )
    assert same["name"] == "Drier"
    with pytest.raises(ConflictError):
        await served.client.assistants.create("chat", assistant_id=made["assistant_id"])
    await served.client.assistants.delete(made["assistant_id"])
    with pytest.raises(NotFoundError):
        await served.client.assistants.get(made["assistant_id"])
    with pytest.raises(NotFoundError):
        await served.client.assistants.create("nobody")
    with pytest.raises(NotFoundError):
        await served.client.assistants.update(made["assistant_id"], graph_id="nobody")


async def test_deleting_an_assistant_deletes_its_threads_if_asked(served: Served) -> None:
    client, kept = served.client, (await served.client.threads.create())["thread_id"]
    await client.runs.wait(kept, "chat", input={"messages": []})
    for deletes in (False, True):
        made = await client.assistants.create("gated")
        thread = (await client.threads.create())["thread_id"]
        await client.runs.create(thread, made["assistant_id"], input={"ask": "never"})
        await client.assistants.delete(made["assistant_id"], delete_threads=deletes)
        assert len(await client.threads.search(ids=[thread])) == int(not deletes)
    assert len(await client.threads.search(ids=[kept])) == 1


@pytest.mark.parametrize(
    "config",
    [
        {"recursion_limit": "x"},
        {"recursion_limit": "5"},
        {"recursion_limit": 0},
        {"recursion_limit": 2.5},
        {"recursion_limit": True},
        {"tags": "a"},
        {"tags": [1]},
        {"configurable": []},
        {"metadata": "m"},
        {"run_name": 3},
        {"max_concurrency": "many"},
    ],
)
async def test_wrong_types_in_a_config_are_refused(served: Served, config: dict[str, Any]) -> None:
    thread = (await served.client.threads.create())["thread_id"]
    for path in ("/runs/wait", f"/threads/{thread}/runs", "/assistants"):
        body = {"assistant_id": "chat", "graph_id": "chat", "input": {"messages": []}, "config": config}
        answer = await served.http.post(path, json=body)
        assert answer.status_code == 422, answer.text
        assert f"config.{next(iter(config))}" in answer.json()["detail"]


async def test_a_valid_config_is_stored_as_it_was_sent(served: Served) -> None:
    config = {"tags": ["a"], "recursion_limit": 7, "configurable": {"x": None}, "own": [1]}
    made = await served.client.assistants.create("chat", config=config)  # type: ignore[arg-type]
    assert made["config"] == config


async def test_versions_of_an_assistant(served: Served) -> None:
    client = served.client.assistants
    made = await client.create("chat", name="One", metadata={"a": 1})
    key = made["assistant_id"]
    await client.update(key, name="Two", metadata={"b": 2})
    await client.update(key, name="Three", graph_id="gated")
    versions = await client.get_versions(key)
    assert [(item["version"], item["name"]) for item in versions] == [(3, "Three"), (2, "Two"), (1, "One")]
    assert [item["graph_id"] for item in versions] == ["gated", "chat", "chat"]
    assert [item["version"] for item in await client.get_versions(key, metadata={"b": 2})] == [3, 2]
    assert [item["version"] for item in await client.get_versions(key, limit=1, offset=1)] == [2]
    first = await client.set_latest(key, 1)
    assert (first["version"], first["name"], first["metadata"]) == (1, "One", {"a": 1})
    assert (await client.get(key))["name"] == "One"
    assert (await client.update(key, name="Four"))["version"] == 4
    assert [item["version"] for item in await client.get_versions(key)] == [4, 3, 2, 1]
    with pytest.raises(NotFoundError):
        await client.set_latest(key, 9)
    await client.delete(key)
    with pytest.raises(NotFoundError):
        await client.get_versions(key)


async def test_a_system_assistant_has_one_version(served: Served) -> None:
    found = (await served.client.assistants.search(graph_id="chat"))[0]
    versions = await served.client.assistants.get_versions(found["assistant_id"])
    assert versions == [{key: value for key, value in found.items() if key != "updated_at"}]


async def test_subgraphs_of_an_assistant(served: Served) -> None:
    client = served.client.assistants
    key = (await client.search(graph_id="nested"))[0]["assistant_id"]
    found = await client.get_subgraphs(key)
    assert list(found) == ["inner"]
    assert "log" in found["inner"]["output_schema"]["properties"]
    assert await client.get_subgraphs(key, namespace="inner", recurse=True) == found
    assert await client.get_subgraphs(key, namespace="nobody") == {}


async def test_extracted_values_of_a_search(served: Served) -> None:
    thread = await done_thread(served)
    paths = {"last": "values.log[-1]", "first": "values.log[0]", "none": "values.log[9].x"}
    paths |= {"meta": "metadata"}
    rows = await served.client.threads.search(ids=[thread], select=["thread_id"], extract=paths)
    assert rows[0]["thread_id"] == thread
    assert set(rows[0]) == {"thread_id", "extracted"}
    found: Any = rows[0]["extracted"]
    assert (found["first"], found["last"], found["none"]) == ("first x", "second x", None)
    assert found["meta"]["graph_id"] == "gated"


@pytest.mark.parametrize(
    "paths",
    [
        *({"a": path} for path in ("status", "", "values..x", "values[x]", "values.x[", 1)),
        {str(number): "values" for number in range(11)},
    ],
)
async def test_a_wrong_path_is_refused(served: Served, paths: Any) -> None:
    answer = await served.http.post("/threads/search", json={"extract": paths})
    assert answer.status_code == 422
    assert "extract" in answer.json()["detail"]


async def ttl_of(served: Served, thread: str) -> Any:
    """Return a thread's `ttl`, None if it has none."""
    return (await served.client.threads.get(thread, include=["ttl"])).get("ttl")


async def test_a_thread_says_when_it_expires(served: Served) -> None:
    client = served.client.threads
    thread = (await client.create(ttl=5))["thread_id"]
    found = await ttl_of(served, thread)
    assert (found["strategy"], found["ttl_minutes"]) == ("delete", 5)
    created = datetime.fromisoformat((await client.get(thread))["created_at"])
    assert datetime.fromisoformat(found["expires_at"]) - created == pytest.approx(
        timedelta(minutes=5), abs=timedelta(seconds=5)
    )
    await client.update(thread, metadata={}, ttl={"ttl": 7, "strategy": "keep_latest"})
    found = await ttl_of(served, thread)
    assert (found["strategy"], found["ttl_minutes"]) == ("keep_latest", 7)
    assert "ttl" not in await client.get(thread)
    assert await ttl_of(served, (await client.create())["thread_id"]) is None


@pytest.mark.parametrize("ttl", [-1, "soon", {"ttl": 1, "strategy": "archive"}])
async def test_a_wrong_ttl_is_refused(served: Served, ttl: Any) -> None:
    answer = await served.http.post("/threads", json={"ttl": ttl})
    assert answer.status_code == 422
    assert "ttl" in answer.json()["detail"]
