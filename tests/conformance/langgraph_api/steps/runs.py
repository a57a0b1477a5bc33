"""Runs: create, wait, join, list, delete, batches, stateless runs and their options."""

from __future__ import annotations

import warnings
from typing import Any
from uuid import uuid4

from tests.conformance.langgraph_api.recorder import UNKNOWN, Scene
from tests.conformance.langgraph_api.steps.assistants import system_id

INPUT = {"log": ["a"]}
PUBLIC_HOOK = "https://example.com/hook"


async def create(scene: Scene) -> None:
    call, runs = scene.call, scene.client.runs
    thread = await scene.thread(metadata={"of": "thread"})
    created: list[Any] = []
    run = await call("create", runs.create(thread, "steps", input=INPUT, on_run_created=created.append))
    await call("ids in the headers", created)
    await call("join", runs.join(thread, run["run_id"]))
    await call("join again", runs.join(thread, run["run_id"]))
    await call("get", runs.get(thread, run["run_id"]))
    config: Any = {"tags": ["t"], "recursion_limit": 9, "configurable": {"user": "u"}}
    options: Any = {
        "metadata": {"m": 1},
        "config": config,
        "stream_mode": ["values", "updates"],
        "stream_subgraphs": True,
        "stream_resumable": True,
        "interrupt_before": ["second"],
        "interrupt_after": ["second"],
        "multitask_strategy": "enqueue",
        "durability": "sync",
        "if_not_exists": "create",
    }
    run = await call("all options", runs.create(thread, "steps", input=INPUT, **options))
    await call("join all options", runs.join(thread, run["run_id"]))
    await call("get all options", runs.get(thread, run["run_id"]))
    await call("thread after that", scene.client.threads.get(thread))
    await call("by the id of an assistant", runs.wait(thread, system_id("steps"), input=INPUT))
    await call("without input", runs.wait(await scene.thread(), "steps"))
    await call("empty input", runs.wait(await scene.thread(), "steps", input={}))
    wrong: Any = "text"
    await call("input that is text", runs.wait(await scene.thread(), "steps", input=wrong))


async def refuse(scene: Scene) -> None:
    call, runs = scene.call, scene.client.runs
    thread = await scene.thread()
    await call("unknown graph", runs.create(thread, "nowhere", input=INPUT))
    await call("unknown assistant", runs.create(thread, UNKNOWN, input=INPUT))
    await call("unknown thread", runs.create(UNKNOWN, "steps", input=INPUT))
    await call("thread id that is no UUID", runs.create("abc", "steps", input=INPUT))
    wrong: Any
    for wrong in (
        {"stream_mode": "colors"},
        {"stream_mode": ["values", "colors"]},
        {"stream_mode": []},
        {"multitask_strategy": "later"},
        {"on_completion": "archive"},
        {"if_not_exists": "maybe"},
        {"durability": "never"},
        {"after_seconds": "soon"},
        {"after_seconds": -1},
        {"config": {"recursion_limit": "x"}},
        {"config": {"recursion_limit": 0}},
        {"config": {"configurable": [1]}},
        {"config": {"tags": "t"}},
        {"metadata": [1]},
        {"interrupt_before": 5},
        {"interrupt_before": ["nobody"]},
        {"webhook": "no url"},
        {"webhook": "http://127.0.0.1:9/hook"},
        {"checkpoint_id": "abc"},
        {"checkpoint": [1]},
        {"command": {"resume": 1, "goto": 5}},
        {"command": [1]},
    ):
        name = ", ".join(f"{key} {value!r}" for key, value in wrong.items())
        await call(name, runs.create(await scene.thread(), "steps", **{"input": INPUT, **wrong}))
    settings: Any = {"configurable": {"model": "x"}}
    both = runs.create(thread, "configured", input={}, config=settings, context={"model": "y"})
    await call("config and context", both)
    await call("input and command", runs.create(thread, "steps", input=INPUT, command={"goto": "second"}))
    await call("no assistant", scene.client.http.post(f"/threads/{thread}/runs", json={"input": INPUT}))
    await call("body that is a list", scene.client.http.post(f"/threads/{thread}/runs", json=[1]))
    await call("unknown key", scene.client.http.post(f"/threads/{await scene.thread()}/runs", json=_odd()))


def _odd() -> dict[str, Any]:
    return {"assistant_id": "steps", "input": INPUT, "color": "red"}


async def wait(scene: Scene) -> None:
    call, runs = scene.call, scene.client.runs
    created: list[Any] = []
    thread = await scene.thread()
    await call("wait", runs.wait(thread, "steps", input=INPUT, on_run_created=created.append))
    await call("ids in the headers", created)
    await call("interrupt_before", runs.wait(thread, "steps", input=INPUT, interrupt_before=["second"]))
    await call("thread that stopped", scene.client.threads.get(thread))
    await call("state that stopped", scene.client.threads.get_state(thread))
    await call("go on", runs.wait(thread, "steps", input=None))
    await call("interrupt_after all", runs.wait(thread, "steps", input=INPUT, interrupt_after="*"))
    for durability in ("sync", "async", "exit"):
        place = await scene.thread()
        await call(f"durability {durability}", runs.wait(place, "steps", input=INPUT, durability=durability))
        await call(f"history, {durability}", scene.client.threads.get_history(place))
    await call("failure", runs.wait(thread, "failing", input=INPUT))
    place = await scene.thread()
    await call("failure in the answer", runs.wait(place, "failing", input=INPUT, raise_error=False))
    await call("thread that failed", scene.client.threads.get(place))
    await call("state that failed", scene.client.threads.get_state(place))
    listed = await call("runs that failed", runs.list(place))
    await call("join a failure", runs.join(place, listed[0]["run_id"]))
    await call("after a failure", runs.wait(place, "steps", input=INPUT))
    await call("thread after that", scene.client.threads.get(place))
    limit: Any = {"recursion_limit": 1}
    await call("recursion_limit of 1", runs.wait(thread, "steps", input=INPUT, config=limit))
    await call("create the thread", runs.wait(str(uuid4()), "steps", input=INPUT, if_not_exists="create"))
    await call("after a second", runs.wait(thread, "steps", input=INPUT, after_seconds=1))
    tracing: Any = {"project_name": "p"}
    await call("tracing", runs.wait(thread, "steps", input=INPUT, langsmith_tracing=tracing))


async def settings(scene: Scene) -> None:
    call, client = scene.call, scene.client
    thread = await scene.thread()
    await call("context", client.runs.wait(thread, "configured", input={}, context={"model": "m"}))
    config: Any = {"configurable": {"model": "m", "user": "u"}, "tags": ["t"]}
    await call("configurable", client.runs.wait(thread, "configured", input={}, config=config))
    await call("context of an unknown key", client.runs.wait(None, "configured", input={}, context={"x": 1}))
    made = await client.assistants.create("configured", context={"model": "of assistant", "temperature": 1.0})
    known = made["assistant_id"]
    await call("context of an assistant", client.runs.wait(thread, known, input={}))
    await call("context over it", client.runs.wait(thread, known, input={}, context={"model": "of run"}))
    settings: Any = {"configurable": {"model": "of assistant", "temperature": 0.5}, "tags": ["a"]}
    made = await client.assistants.create("configured", settings)
    await call("config of an assistant", client.runs.wait(thread, made["assistant_id"], input={}))
    config = {"configurable": {"model": "of run"}, "tags": ["r"]}
    over = client.runs.wait(thread, made["assistant_id"], input={}, config=config)
    await call("config over it", over)
    await call("thread", client.threads.get(thread))
    await call("history", client.threads.get_history(thread, limit=2))
    await call("runs", client.runs.list(thread))


async def list_and_delete(scene: Scene) -> None:
    call, runs = scene.call, scene.client.runs
    thread = await scene.thread()
    await call("list of an empty thread", runs.list(thread))
    for number in (1, 2, 3):
        await runs.wait(thread, "steps", input=INPUT, metadata={"number": number})
    listed = await call("list", runs.list(thread))
    await call("limit", runs.list(thread, limit=1))
    await call("offset", runs.list(thread, limit=2, offset=2))
    await call("status success", runs.list(thread, status="success"))
    await call("status pending", runs.list(thread, status="pending"))
    wrong: Any = "color"
    await call("unknown status", runs.list(thread, status=wrong))
    await call("select", runs.list(thread, limit=1, select=["run_id", "status", "kwargs"]))
    await call("unknown field in select", runs.list(thread, select=[wrong]))
    await call("limit 0", runs.list(thread, limit=0))
    await call("limit 10,000", runs.list(thread, limit=10_000))
    await call("negative offset", runs.list(thread, offset=-1))
    await call("list of an unknown thread", runs.list(UNKNOWN))
    await call("list of an id that is no UUID", runs.list("abc"))
    run_id = listed[0]["run_id"]
    await call("delete", runs.delete(thread, run_id))
    await call("get after that", runs.get(thread, run_id))
    await call("join after that", runs.join(thread, run_id))
    await call("delete again", runs.delete(thread, run_id))
    await call("list after that", runs.list(thread, select=["metadata"]))
    await call("state after that", scene.client.threads.get_state(thread))
    await call("get an unknown run", runs.get(thread, UNKNOWN))
    await call("get a run id that is no UUID", runs.get(thread, "abc"))
    await call("get by another thread", runs.get(await scene.thread(), listed[1]["run_id"]))
    await call("delete an unknown run", runs.delete(thread, UNKNOWN))
    await call("join an unknown run", runs.join(thread, UNKNOWN))
    await call("join a run of an unknown thread", runs.join(UNKNOWN, UNKNOWN))


async def stateless(scene: Scene) -> None:
    call, client = scene.call, scene.client
    created: list[Any] = []
    await call("wait", client.runs.wait(None, "steps", input=INPUT, on_run_created=created.append))
    await call("ids in the headers", created)
    gone = created[0]["thread_id"] if created else UNKNOWN
    await call("its thread", client.threads.get(gone))
    created.clear()
    keep = client.runs.wait(None, "steps", input=INPUT, on_completion="keep", on_run_created=created.append)
    await call("keep", keep)
    kept = created[0]["thread_id"] if created else UNKNOWN
    await call("thread that is kept", client.threads.get(kept))
    await call("runs that are kept", client.runs.list(kept))
    # Delayed, so that it still exists when it is joined.
    run = await call("create", client.runs.create(None, "steps", input=INPUT, after_seconds=1))
    await call("join", client.runs.join(run["thread_id"], run["run_id"]))
    run = await call("create and keep", client.runs.create(None, "steps", input=INPUT, on_completion="keep"))
    await call("join what is kept", client.runs.join(run["thread_id"], run["run_id"]))
    await call("state that is kept", client.threads.get_state(run["thread_id"]))
    await call("failure", client.runs.wait(None, "failing", input=INPUT))
    await call("interrupt", client.runs.wait(None, "ask", input=INPUT))
    await call("unknown graph", client.runs.wait(None, "nowhere", input=INPUT))
    wrong: Any = {"multitask_strategy": "reject"}
    await call("multitask_strategy", client.runs.wait(None, "steps", input=INPUT, **wrong))
    wrong = {"if_not_exists": "create"}
    await call("if_not_exists", client.runs.wait(None, "steps", input=INPUT, **wrong))
    wrong = {"checkpoint_id": UNKNOWN}
    await call("checkpoint_id", client.runs.wait(None, "steps", input=INPUT, **wrong))


async def batch(scene: Scene) -> None:
    call, client = scene.call, scene.client
    one: Any = {"assistant_id": "steps", "input": INPUT, "metadata": {"number": 1}, "after_seconds": 1}
    made = await call("two stateless runs", client.runs.create_batch([one, {**one, "metadata": {"n": 2}}]))
    await call("join one of them", client.runs.join(made[0]["thread_id"], made[0]["run_id"]))
    thread = await scene.thread()
    await call("run on a thread", client.runs.create_batch([{**one, "thread_id": thread}]))
    await call("no runs", client.runs.create_batch([]))
    await call("unknown graph", client.runs.create_batch([one, {**one, "assistant_id": "nowhere"}]))
    wrong: Any = {"assistant_id": "steps", "stream_mode": "colors"}
    await call("one that is invalid", client.runs.create_batch([one, wrong]))
    wrong = {"runs": [one]}
    await call("body that is an object", client.http.post("/runs/batch", json=wrong))


async def hooks(scene: Scene) -> None:
    call, client = scene.call, scene.client
    await call("public webhook", client.runs.wait(None, "steps", input=INPUT, webhook=PUBLIC_HOOK))
    await call("relative webhook", client.runs.create(None, "steps", input=INPUT, webhook="/ok"))
    private = "https://10.0.0.1/hook"
    await call("private webhook", client.runs.create(None, "steps", input=INPUT, webhook=private))
    await call("other scheme", client.runs.create(None, "steps", input=INPUT, webhook="ftp://example.com/"))


async def arguments(scene: Scene) -> None:
    """Pass the arguments that no other step passes."""
    call, runs = scene.call, scene.client.runs
    thread = await scene.thread()
    await runs.wait(thread, "ask", input=INPUT)
    run = await call("create with a command", runs.create(thread, "ask", command={"resume": "yes"}))
    await call("join the command", runs.join(thread, run["run_id"]))
    states = await scene.client.threads.get_history(thread, limit=20)
    first: Any = next(state["checkpoint"] for state in states if state["next"] == ["ask"])
    first.pop("thread_id", None)
    run = await call("create from a checkpoint", runs.create(thread, "ask", checkpoint=first))
    await scene.until_run(thread, run["run_id"], "success")
    await call("join the checkpoint", runs.join(thread, run["run_id"]))
    by_id = first["checkpoint_id"]
    run = await call("create from a checkpoint id", runs.create(thread, "ask", checkpoint_id=by_id))
    await scene.until_run(thread, run["run_id"], "success")
    await call("join the checkpoint id", runs.join(thread, run["run_id"]))
    await call("stream from a checkpoint", runs.stream(thread, "ask", checkpoint=first))
    await call("stream from a checkpoint id", runs.stream(thread, "ask", checkpoint_id=by_id))
    both: Any = {"update": {"log": ["u"]}, "goto": "after"}
    await call("stream a command", runs.stream(thread, "ask", command=both))
    strict: Any = {"command": {"resume": "x"}, "strict_resume": True}
    await call("stream with strict_resume", runs.stream(thread, "ask", **strict))
    await call("create with strict_resume", runs.create(thread, "ask", **strict))
    await scene.until_status(thread, "idle", "interrupted")
    await call("stream with a context", runs.stream(None, "configured", input={}, context={"model": "x"}))
    run = await call(
        "create with a context", runs.create(thread, "configured", input={}, context={"model": "x"})
    )
    await call("join the context", runs.join(thread, run["run_id"]))
    tracing: Any = {"project_name": "p", "example_id": UNKNOWN}
    await call("stream with tracing", runs.stream(None, "steps", input=INPUT, langsmith_tracing=tracing))
    run = await call(
        "create with tracing", runs.create(thread, "steps", input=INPUT, langsmith_tracing=tracing)
    )
    await call("join the tracing", runs.join(thread, run["run_id"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        during = runs.wait(thread, "steps", input=INPUT, checkpoint_during=False)
        await call("checkpoint_during", during)
    await call("on_disconnect", runs.wait(thread, "steps", input=INPUT, on_disconnect="cancel"))
    await call("metadata", runs.wait(thread, "steps", input=INPUT, metadata={"m": 1}))
    await call("headers and params", runs.list(thread, headers={"x-trace": "1"}, params={"limit": 1}))
    headers: Any = {"headers": {"x-trace": "1"}, "params": {"include": "ttl"}}
    await call("headers and params of a thread", scene.client.threads.get(thread, **headers))


SCENARIOS = (arguments, create, refuse, wait, settings, list_and_delete, stateless, batch, hooks)
