"""RemoteGraph of langgraph as a client, and as a node of another graph."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables.graph import Graph
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command
from langgraph_sdk import get_sync_client
from typing_extensions import TypedDict

from tests.conformance.langgraph_api.recorder import Scene
from tests.conformance.langgraph_api.servers import TOKEN

INPUT = {"log": ["a"]}
QUESTION: Any = {"messages": [{"role": "user", "content": "hello"}]}
MODES: Any = ("values", "updates", "messages", "custom", "debug", "tasks", "checkpoints")


class Log(TypedDict, total=False):
    """State of the outer graph."""

    log: list[str]


def _remote(scene: Scene, graph: str) -> RemoteGraph:
    return RemoteGraph(graph, client=scene.client)


async def _plain(answer: Any) -> Any:
    """Return a snapshot, or a list of them, as JSON."""
    found = [item async for item in answer] if hasattr(answer, "__aiter__") else await answer
    return [_snapshot(item) for item in found] if isinstance(found, list) else _snapshot(found)


def _snapshot(item: Any) -> Any:
    if not hasattr(item, "tasks"):
        return item
    tasks = [
        {
            "name": task.name,
            "error": task.error is not None,
            "interrupts": [one.value for one in task.interrupts],
        }
        for task in item.tasks
    ]
    fields = ("values", "next", "config", "metadata", "created_at", "parent_config")
    return {**{name: getattr(item, name) for name in fields}, "tasks": tasks}


async def invoke(scene: Scene) -> None:
    call = scene.call
    steps = _remote(scene, "steps")
    await call("stateless", steps.ainvoke(INPUT))
    config: Any = {"configurable": {"thread_id": await scene.thread()}, "tags": ["t"], "metadata": {"m": 1}}
    await call("on a thread", steps.ainvoke(INPUT, config))
    await call("again", steps.ainvoke({"log": ["b"]}, config))
    await call("version 2", _value(steps.ainvoke(INPUT, config, version="v2")))
    await call("failure", _remote(scene, "failing").ainvoke(INPUT))
    await call("unknown graph", _remote(scene, "nowhere").ainvoke(INPUT))
    await call("context", _remote(scene, "configured").ainvoke({}, context={"model": "x"}))
    await call("interrupt_before", steps.ainvoke(INPUT, config, interrupt_before=["second"]))


async def _value(answer: Any) -> Any:
    return (await answer).value


async def stream(scene: Scene) -> None:
    call = scene.call
    for mode in MODES:
        config: Any = {"configurable": {"thread_id": await scene.thread()}}
        await call(f"chat, {mode}", _list(_remote(scene, "chat").astream(QUESTION, config, stream_mode=mode)))
        config = {"configurable": {"thread_id": await scene.thread()}}
        inner: Any = _remote(scene, "nested").astream(INPUT, config, stream_mode=mode, subgraphs=True)
        await call(f"subgraphs, {mode}", _list(inner))
        if mode != "debug":  # Its checkpoints are those of the mode `checkpoints`.
            stateless: Any = _remote(scene, "chat").astream(QUESTION, stream_mode=mode)
            await call(f"stateless, {mode}", _list(stateless))
    several: Any = ["values", "custom"]
    await call("two modes", _list(_remote(scene, "writer").astream(INPUT, stream_mode=several)))
    traced = RemoteGraph("steps", client=scene.client, distributed_tracing=True)
    await call("distributed tracing", _list(traced.astream(INPUT, stream_mode="updates")))
    await call("failure", _list(_remote(scene, "failing").astream(INPUT)))
    events: Any = _remote(scene, "steps").astream(INPUT, stream_mode="values", version="v2")
    await call("version 2", _list(events))


async def _list(parts: Any) -> list[Any]:
    """Return parts as lists, so that they are compared like JSON."""
    return [list(part) if isinstance(part, tuple) else part async for part in parts]


async def state(scene: Scene) -> None:
    call = scene.call
    graph = _remote(scene, "ask")
    config: Any = {"configurable": {"thread_id": await scene.thread()}}
    await call("of an empty thread", _plain(graph.aget_state(config)))
    await call("invoke", graph.ainvoke(INPUT, config))
    await call("state", _plain(graph.aget_state(config)))
    await call("history", _plain(graph.aget_state_history(config)))
    await call("history with a filter", _plain(graph.aget_state_history(config, filter={"source": "input"})))
    before = (await graph.aget_state(config)).config
    await call("history before", _plain(graph.aget_state_history(config, before=before, limit=1)))
    await call("resume", graph.ainvoke(Command(resume="yes"), config))
    await call("state at the end", _plain(graph.aget_state(config)))
    await call("update", graph.aupdate_state(config, {"log": ["x"]}, as_node="after"))
    await call("update of an unknown node", graph.aupdate_state(config, {"log": ["x"]}, as_node="nobody"))
    nested = _remote(scene, "nested")
    config = {"configurable": {"thread_id": await scene.thread()}}
    await call("invoke a nested graph", nested.ainvoke(INPUT, config))
    await call("state with subgraphs", _plain(nested.aget_state(config, subgraphs=True)))


async def synchronous(scene: Scene) -> None:
    """Call the methods of graphs that wait, each in a thread."""

    async def call(name: str, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        return await scene.call(name, asyncio.to_thread(_finish, method, args, options))

    with get_sync_client(url=scene.url, api_key=TOKEN) as client:
        ask, chat, nested = (RemoteGraph(name, sync_client=client) for name in ("ask", "chat", "nested"))
        config: Any = {"configurable": {"thread_id": await scene.thread()}}
        await call("get_graph", ask.get_graph)
        await call("get_state of an empty thread", ask.get_state, config)
        await call("invoke", ask.invoke, INPUT, config)
        await call("get_state", ask.get_state, config)
        await call("get_state_history", ask.get_state_history, config, limit=2)
        await call("resume", ask.invoke, Command(resume="yes"), config)
        await call("update_state", ask.update_state, config, {"log": ["x"]}, as_node="after")
        await call("stateless", ask.with_config({"tags": ["t"]}).invoke, INPUT)
        for mode in MODES:
            config = {"configurable": {"thread_id": await scene.thread()}}
            await call(f"stream, {mode}", chat.stream, QUESTION, config, stream_mode=mode)
        config = {"configurable": {"thread_id": await scene.thread()}}
        await call("stream with subgraphs", nested.stream, INPUT, config, subgraphs=True)
        outer: Any = StateGraph(Log).add_node("inner", ask).add_edge(START, "inner")
        graph = outer.compile(checkpointer=InMemorySaver())
        await call("as a node", graph.invoke, INPUT, config)
        await call("resume of a node", graph.invoke, Command(resume="yes"), config)
        await call("failure", RemoteGraph("failing", sync_client=client).invoke, INPUT)


def _finish(method: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Return the result of a method, or all parts of its iterator, as JSON."""
    found = method(*args, **options)
    if isinstance(found, Graph):
        return _plain_drawing(found)
    if not isinstance(found, Iterator):
        return _snapshot(found)
    return [list(part) if type(part) is tuple else _snapshot(part) for part in found]


async def describe(scene: Scene) -> None:
    call = scene.call
    await call("graph", _drawing(_remote(scene, "steps")))
    await call("graph with xray", _drawing(_remote(scene, "nested"), xray=True))
    await call("unknown graph", _drawing(_remote(scene, "nowhere")))


async def _drawing(graph: RemoteGraph, **options: Any) -> Any:
    return _plain_drawing(await graph.aget_graph(**options))


def _plain_drawing(drawing: Graph) -> Any:
    edges = [[edge.source, edge.target, edge.conditional] for edge in drawing.edges]
    return {"nodes": {name: node.name for name, node in drawing.nodes.items()}, "edges": edges}


async def as_a_node(scene: Scene) -> None:
    call = scene.call
    for name in ("steps", "ask", "failing"):
        outer: Any = StateGraph(Log).add_node("inner", _remote(scene, name)).add_edge(START, "inner")
        graph = outer.compile(checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": await scene.thread()}}
        await call(f"invoke {name}", graph.ainvoke(INPUT, config))
        await call(f"stream {name}", _list(graph.astream(INPUT, config, stream_mode=["updates", "values"])))
        await call(f"stream {name} with subgraphs", _list(graph.astream(INPUT, config, subgraphs=True)))
        await call(f"tasks of {name}", [task.name for task in (await graph.aget_state(config)).tasks])
    outer = StateGraph(Log).add_node("inner", _remote(scene, "ask")).add_edge(START, "inner")
    graph = outer.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": await scene.thread()}}
    await call("interrupt of the node", graph.ainvoke(INPUT, config))
    await call("resume of the node", graph.ainvoke(Command(resume="yes"), config))


async def events(scene: Scene) -> None:
    """Read runs by version 3 of the events."""
    call = scene.call
    for graph in ("steps", "ask", "failing"):
        await call(f"output of {graph}", _read_run(scene, graph))
    await call("unknown graph", _read_run(scene, "nowhere"))


async def _read_run(scene: Scene, graph: str) -> dict[str, Any]:
    """Return the output of a run, and its interrupts."""
    async with asyncio.timeout(15), await _remote(scene, graph).astream_events(INPUT, version="v3") as run:
        output = await run.output()
        return {
            "output": output,
            "interrupted": await run.interrupted(),
            "interrupts": await run.interrupts(),
        }


SCENARIOS = (invoke, stream, state, synchronous, describe, as_a_node, events)
