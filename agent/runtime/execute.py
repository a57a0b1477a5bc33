"""One attempt of one run: from its stored specification to its outcome."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractContextManager, aclosing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.types import Command, Send

from agent.core.checkpoint_barrier import use_checkpoint_barrier
from agent.errors import BadRequest
from agent.runtime.accounting import cost, values_before
from agent.runtime.domain import Json, Outcome, Run, RunSpec, RunStatus
from agent.runtime.encode import dumps
from agent.runtime.event_log import RunChannel
from agent.runtime.failures import log_failure
from agent.runtime.faults import Faults, Step
from agent.runtime.graphs import READ, AnyGraph, GraphRegistry
from agent.runtime.redact import error_of
from agent.runtime.saver import RuntimeSaver
from agent.runtime.serializers import interrupts_view, run_context
from agent.runtime.stream_modes import Translator, native_modes


@dataclass(frozen=True, slots=True)
class Executor:
    """Executes runs on the registry's graphs."""

    graphs: GraphRegistry
    saver: RuntimeSaver
    faults: Faults

    async def execute(self, run: Run, channel: RunChannel, control: RunControl) -> Outcome:
        """Run the graph and emit its events.

        Raises `GraphDrained` when a stop was asked for; any other `Exception` is part of the outcome.
        """
        config = run_config(run)
        progress = _Progress()
        try:
            async with self.graphs.graph(run.spec.graph_id, config, context=run.spec.context) as graph:
                source = await self._input(run, config, graph)
                if source is not _DONE:
                    with self._storing(run):
                        await self._stream(graph, source, config, run, channel, control, progress)
                self.faults.reach(Step.LAST_CHECKPOINT)
                outcome = await _outcome(graph, run, progress)
                return replace(outcome, usage=await _used(graph, run, progress))
        except GraphDrained:
            raise
        except Exception as error:  # noqa: BLE001 - a graph may raise anything; the run ends with it
            facts = {"run_id": run.run_id, "thread_id": run.thread_id, "attempt": run.attempt}
            await log_failure("run_failed", error, **facts)
            told = error_of(error)
            if channel.wanted:
                channel.emit("error", dumps(told))
            values = None if progress.values is None else dumps(progress.values)
            used = cost(progress.first, progress.values)
            return Outcome(RunStatus.ERROR, values=values, error=told, usage=used)

    async def snapshot(self, run: Run) -> Outcome:
        """What a cancelled run leaves behind: the values of its last checkpoint."""
        try:
            async with self.graphs.graph(run.spec.graph_id, run_config(run), access=READ) as graph:
                state = await graph.aget_state({"configurable": {"thread_id": run.thread_id}})
                used = cost(await values_before(graph, run), state.values)
        except Exception as error:  # noqa: BLE001 - the run ends all the same
            await log_failure("snapshot_failed", error, run_id=run.run_id)
            return Outcome(RunStatus.INTERRUPTED)
        interrupts = dumps(interrupts_view(state))
        return Outcome(RunStatus.INTERRUPTED, values=dumps(state.values), interrupts=interrupts, usage=used)

    def _storing(self, run: Run) -> AbstractContextManager[None]:
        """Tell the graph's steps when what they began from is on disk; with durability `exit` none is."""
        if run.spec.durability == "exit":
            return nullcontext()
        return use_checkpoint_barrier(partial(self.saver.stored, run.thread_id))

    async def _input(self, run: Run, config: RunnableConfig, graph: AnyGraph) -> Any:
        """What the graph gets: the run's input, or nothing where an earlier attempt left a checkpoint."""
        if run.attempt > 1 and await self.saver.wrote(run.thread_id, run.run_id):
            configurable = config["configurable"]
            for key in ("checkpoint_id", "checkpoint_ns", "checkpoint_map"):
                configurable.pop(key, None)
            state = await graph.aget_state(config)
            if state.interrupts or _stopped_before(run.spec, state.next):
                return _DONE
            # What a task wrote counts as done already, but only its checkpoint keeps it for the next run.
            kept = await graph.aget_state(state.config)
            return None if kept.next else _DONE
        return graph_input(run.spec)

    async def _stream(
        self,
        graph: AnyGraph,
        source: Any,
        config: RunnableConfig,
        run: Run,
        channel: RunChannel,
        control: RunControl,
        progress: _Progress,
    ) -> None:
        translator = Translator(run.spec.stream_mode)
        chunks = _chunks(graph, source, config, run.spec, control)
        async with aclosing(chunks):
            async for namespace, mode, data in chunks:
                if mode == "values" and not namespace:
                    progress.see(data)
                if not channel.wanted:
                    continue
                if mode == "events":
                    channel.emit("events", dumps(data))
                else:
                    for name, body in translator.events(namespace, mode, data):
                        channel.emit(name, body)
                if channel.crowded:
                    await channel.room()


@dataclass(slots=True)
class _Progress:
    """The first and the newest state that the graph has shown."""

    first: Any = None
    values: Any = None
    interrupted: bool = False

    def see(self, values: Any) -> None:
        self.first = values if self.first is None else self.first
        self.values = values
        self.interrupted = isinstance(values, Mapping) and bool(values.get("__interrupt__"))


_DONE: Any = object()


def _stopped_before(spec: RunSpec, following: tuple[str, ...]) -> bool:
    stops = spec.interrupt_before
    return stops == "*" or bool(stops and set(stops) & set(following))


def _chunks(
    graph: AnyGraph, source: Any, config: RunnableConfig, spec: RunSpec, control: RunControl
) -> AsyncGenerator[tuple[tuple[str, ...], str, Any]]:
    options: Json = {
        "stream_mode": native_modes(spec.stream_mode),
        "subgraphs": spec.stream_subgraphs,
        "interrupt_before": _nodes(spec.interrupt_before),
        "interrupt_after": _nodes(spec.interrupt_after),
        "durability": spec.durability,
        "control": control,
    }
    context = run_context(graph, spec)
    if context is not None:
        options["context"] = context
    if "events" in spec.stream_mode:
        return _with_events(graph, source, config, options)
    return _native(graph, source, config, options)


def _nodes(names: str | tuple[str, ...] | None) -> Any:
    return list(names) if isinstance(names, tuple) else names


async def _native(
    graph: AnyGraph, source: Any, config: RunnableConfig, options: Json
) -> AsyncGenerator[tuple[tuple[str, ...], str, Any]]:
    subgraphs = options["subgraphs"]
    async with aclosing(graph.astream(source, config, **options)) as stream:  # type: ignore[type-var]
        async for chunk in stream:
            yield _parts(chunk, subgraphs)


def _parts(chunk: Any, subgraphs: bool) -> tuple[tuple[str, ...], str, Any]:
    if subgraphs:
        namespace, mode, data = chunk
        return namespace, mode, data
    mode, data = chunk
    return (), mode, data


async def _with_events(
    graph: AnyGraph, source: Any, config: RunnableConfig, options: Json
) -> AsyncGenerator[tuple[tuple[str, ...], str, Any]]:
    root = str(config["run_id"])
    async with aclosing(graph.astream_events(source, config, version="v2", **options)) as stream:  # type: ignore[type-var]
        async for event in stream:
            if event["event"] == "on_chain_stream" and event["run_id"] == root:
                yield _parts(event["data"]["chunk"], options["subgraphs"])
            yield (), "events", event


def run_config(run: Run) -> RunnableConfig:
    """The runnable config of an attempt: the request's, and whose run it is."""
    spec = run.spec
    facts = {
        "run_id": run.run_id,
        "thread_id": run.thread_id,
        "graph_id": spec.graph_id,
        "assistant_id": spec.assistant_id,
    }
    config: Any = {key: value for key, value in spec.config.items() if key != "configurable"}
    at = spec.checkpoint or {}
    config["configurable"] = {
        **spec.config.get("configurable", {}),
        **(spec.context or {}),
        **{key: at[key] for key in ("checkpoint_id", "checkpoint_ns", "checkpoint_map") if at.get(key)},
        **facts,
    }
    config["metadata"] = {
        **spec.config.get("metadata", {}),
        **spec.metadata,
        **facts,
        "created_by": "system",
        "run_attempt": run.attempt,
    }
    config["run_id"] = UUID(run.run_id)
    return config  # type: ignore[no-any-return]


def graph_input(spec: RunSpec) -> Any:
    """The run's input, or its command. Raises `BadRequest`."""
    return spec.input if spec.command is None else command_of(spec.command)


def command_of(command: Json) -> Command[Any]:
    """langgraph's command from the API's. Raises `BadRequest` for a step without a node."""
    update = command.get("update")
    if isinstance(update, list):
        update = [tuple(pair) if isinstance(pair, list) else pair for pair in update]
    goto = command.get("goto") or ()
    steps = goto if isinstance(goto, (list, tuple)) else [goto]
    return Command(resume=command.get("resume"), update=update, goto=[_step(step) for step in steps])


def _step(step: Any) -> Send | str:
    if isinstance(step, Mapping):
        if "node" not in step:
            raise BadRequest("A step of command.goto needs a node")
        return Send(step["node"], step.get("input"))
    return str(step)


async def _used(graph: AnyGraph, run: Run, progress: _Progress) -> Json | None:
    """What all attempts of the run cost together."""
    if run.attempt == 1:
        return cost(progress.first, progress.values)
    values = progress.values
    if values is None:
        values = (await graph.aget_state({"configurable": {"thread_id": run.thread_id}})).values
    return cost(await values_before(graph, run), values)


async def _outcome(graph: AnyGraph, run: Run, progress: _Progress) -> Outcome:
    """The end of an attempt that raised nothing."""
    spec = run.spec
    stops = (
        spec.interrupt_before
        or spec.interrupt_after
        or graph.interrupt_before_nodes
        or graph.interrupt_after_nodes
    )
    if progress.values is not None and not progress.interrupted and not stops:
        return Outcome(RunStatus.SUCCESS, values=dumps(progress.values))
    config: RunnableConfig = {"configurable": {"thread_id": run.thread_id}}
    state = await graph.aget_state(config)
    waits = bool(state.next)
    values = state.values if progress.values is None else progress.values
    return Outcome(
        RunStatus.SUCCESS,
        values=dumps(values),
        interrupts=dumps(interrupts_view(state)),
        interrupted_by_graph=waits,
    )
