"""Several runs on a thread: each strategy, cancellation, rollback and delayed runs."""

from __future__ import annotations

from typing import Any

from tests.conformance.langgraph_api.recorder import UNKNOWN, Scene

INPUT = {"log": ["b"]}


async def _start(scene: Scene, name: str = "", **options: Any) -> tuple[str, str, str]:
    """Return a thread, its running run, and the gate that it waits for."""
    thread, gate = await scene.thread(), f"{scene.mark}-{name}"
    run = await scene.client.runs.create(thread, "gated", input={"name": gate, "log": ["a"]}, **options)
    await scene.until_next(thread, "wait")
    return thread, run["run_id"], gate


async def busy(scene: Scene) -> None:
    call, client = scene.call, scene.client
    thread, run_id, gate = await _start(scene)
    await call("thread", client.threads.get(thread))
    await call("run", client.runs.get(thread, run_id))
    await call("state", client.threads.get_state(thread))
    await call("update the state", client.threads.update_state(thread, {"log": ["x"]}))
    await call("update the metadata", client.threads.update(thread, metadata={"a": 1}))
    await call("copy", client.threads.copy(thread))
    await call("search", client.threads.search(ids=[thread], status="busy", select=["status"]))
    await call("delete the run", client.runs.delete(thread, run_id))
    await scene.open_gate(gate)
    await call("join", client.runs.join(thread, run_id))
    thread, run_id, gate = await _start(scene, "delete")
    await call("delete the thread", client.threads.delete(thread))
    await call("thread after that", client.threads.get(thread))
    await call("run after that", client.runs.get(thread, run_id))
    await scene.open_gate(gate)


async def strategies(scene: Scene) -> None:
    call, client = scene.call, scene.client
    for strategy in ("enqueue", "reject", "interrupt", "rollback"):
        thread, first, gate = await _start(scene, strategy)
        options: Any = {"multitask_strategy": strategy}
        create = client.runs.create(thread, "steps", input=INPUT, **options)
        if strategy in {"enqueue", "reject"}:
            run = await call(strategy, create)
            await call(f"runs meanwhile, {strategy}", client.runs.list(thread))
            await scene.open_gate(gate)
        else:
            # The reference may start the run before it answers.
            run = await create
            await call(strategy, run["multitask_strategy"])
        await call(f"join, {strategy}", client.runs.join(thread, run["run_id"]))
        await scene.until_status(thread, "idle", "interrupted")
        await call(f"first run, {strategy}", client.runs.get(thread, first))
        await call(f"thread, {strategy}", client.threads.get(thread))
        await call(f"state, {strategy}", client.threads.get_state(thread))
        await call(f"history, {strategy}", client.threads.get_history(thread))
        await scene.open_gate(gate)


async def waiting_strategies(scene: Scene) -> None:
    call, client = scene.call, scene.client
    thread, _, gate = await _start(scene)
    await call("wait, reject", client.runs.wait(thread, "steps", input=INPUT, multitask_strategy="reject"))
    refused = client.runs.stream(thread, "steps", input=INPUT, multitask_strategy="reject")
    await call("stream, reject", refused)
    stream = client.runs.stream(thread, "steps", input=INPUT, multitask_strategy="interrupt")
    await call("stream, interrupt", stream)
    await call("runs", client.runs.list(thread, select=["status", "multitask_strategy"]))
    await scene.open_gate(gate)


async def cancel(scene: Scene) -> None:
    call, client = scene.call, scene.client
    for action in ("interrupt", "rollback"):
        action_: Any = action
        for wait in (True, False):
            name = f"{action}, {'and wait' if wait else 'at once'}"
            thread, run_id, gate = await _start(scene, name)
            await call(name, client.runs.cancel(thread, run_id, wait=wait, action=action_))
            await scene.until_run(thread, run_id, "interrupted")
            await call(f"run after {name}", client.runs.get(thread, run_id))
            await call(f"thread after {name}", client.threads.get(thread))
            await call(f"state after {name}", client.threads.get_state(thread))
            await call(f"join after {name}", client.runs.join(thread, run_id))
            await call(f"again, {name}", client.runs.cancel(thread, run_id, action=action_))
            await call(f"next run after {name}", client.runs.wait(thread, "steps", input=INPUT))
            await scene.open_gate(gate)


async def cancel_others(scene: Scene) -> None:
    call, client = scene.call, scene.client
    thread = await scene.thread()
    done = await client.runs.create(thread, "steps", input=INPUT)
    await client.runs.join(thread, done["run_id"])
    await call("a run that ended", client.runs.cancel(thread, done["run_id"]))
    await call("a run that ended, and wait", client.runs.cancel(thread, done["run_id"], wait=True))
    await call("an unknown run", client.runs.cancel(thread, UNKNOWN))
    await call("a run of an unknown thread", client.runs.cancel(UNKNOWN, UNKNOWN))
    await call("an id that is no UUID", client.runs.cancel(thread, "abc"))
    wrong: Any = "stop"
    await call("unknown action", client.runs.cancel(thread, done["run_id"], action=wrong))
    thread, first, gate = await _start(scene, "pending")
    pending = await client.runs.create(thread, "steps", input=INPUT)
    await call("a pending run", client.runs.cancel(thread, pending["run_id"]))
    await call("pending run after that", client.runs.get(thread, pending["run_id"]))
    await scene.open_gate(gate)
    await client.runs.join(thread, first)
    stream = client.runs.join_stream(thread, pending["run_id"])
    await call("stream of a cancelled run", stream)


async def cancel_many(scene: Scene) -> None:
    call, client = scene.call, scene.client
    thread, first, gate = await _start(scene)
    second = await client.runs.create(thread, "steps", input=INPUT)
    ids = [first, second["run_id"]]
    await call("two runs of a thread", client.runs.cancel_many(thread_id=thread, run_ids=ids))
    await scene.until_status(thread, "idle", "interrupted")
    await call("runs after that", client.runs.list(thread, select=["status"]))
    await scene.open_gate(gate)
    thread, first, gate = await _start(scene, "rollback")
    rollback = client.runs.cancel_many(thread_id=thread, run_ids=[first], action="rollback")
    await call("rollback", rollback)
    await scene.until_run(thread, first, "interrupted")
    await call("runs after the rollback", client.runs.list(thread, select=["status"]))
    await scene.open_gate(gate)
    await call("nothing", client.runs.cancel_many())
    await call("unknown runs", client.runs.cancel_many(thread_id=thread, run_ids=[UNKNOWN]))
    await call("runs without a thread", client.runs.cancel_many(run_ids=[UNKNOWN]))
    await call("status and runs", client.runs.cancel_many(thread_id=thread, run_ids=ids, status="all"))
    wrong: Any = "color"
    await call("unknown status", client.runs.cancel_many(status=wrong))
    await call("unknown action", client.runs.cancel_many(thread_id=thread, run_ids=ids, action=wrong))


async def delayed(scene: Scene) -> None:
    call, client = scene.call, scene.client
    thread = await scene.thread()
    run = await call("create", client.runs.create(thread, "steps", input=INPUT, after_seconds=1))
    await call("run meanwhile", client.runs.get(thread, run["run_id"]))
    await call("thread meanwhile", client.threads.get(thread))
    await call("join", client.runs.join(thread, run["run_id"]))
    run = await client.runs.create(thread, "steps", input=INPUT, after_seconds=60)
    await call("cancel", client.runs.cancel(thread, run["run_id"]))
    await call("run after that", client.runs.get(thread, run["run_id"]))
    await call("thread after that", client.threads.get(thread))


async def cancel_by_status(scene: Scene) -> None:
    """Cancel runs of every thread, so nothing else may run at the same time."""
    call, client = scene.call, scene.client
    wanted: Any
    for wanted in ("pending", "running", "all"):
        thread, first, gate = await _start(scene, wanted)
        await client.runs.create(thread, "steps", input=INPUT)
        await call(wanted, client.runs.cancel_many(status=wanted))
        if wanted == "pending":
            await scene.open_gate(gate)
        await scene.until_run(thread, first, "success", "interrupted")
        await scene.until_status(thread, "idle", "interrupted")
        await call(f"runs after {wanted}", client.runs.list(thread, select=["status"]))
        await call(f"thread after {wanted}", client.threads.get(thread))
        await scene.open_gate(gate)
    await call("rollback", client.runs.cancel_many(status="all", action="rollback"))


SCENARIOS = (
    busy,
    strategies,
    waiting_strategies,
    cancel,
    cancel_others,
    cancel_many,
    delayed,
    cancel_by_status,
)
