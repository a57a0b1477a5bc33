"""Execution of a run's attempt, from its stored specification to its outcome."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from contextvars import Context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import UUID
from warnings import catch_warnings

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.types import Command, Send, StateSnapshot
from structlog.contextvars import bind_contextvars

from agent.core.checkpoint_barrier import use_checkpoint_barrier
from agent.core.state import usage_between
from agent.errors import BadRequest
from agent.runtime.access import User
from agent.runtime.domain import AttemptOutcome, Json, Run, RunSpec, RunStatus, usage_in
from agent.runtime.encode import dumps
from agent.runtime.event_log import RunChannel
from agent.runtime.failures import describe_exception, log_failure
from agent.runtime.faults import Faults, RunStep
from agent.runtime.graphs import READ, AnyGraph, GraphRegistry
from agent.runtime.protocol.translation import ProtocolTranslator
from agent.runtime.run_saver import RunSaver
from agent.runtime.serializers import INTERRUPTS, interrupts_view, run_context
from agent.runtime.store.leases import LeaseLost
from agent.runtime.stream_modes import EventTranslator, native_modes
from agent.shared.tracing import record_span, traceparent

_Chunk = tuple[tuple[str, ...], str, Any]
"""Namespace, mode and data of a part of langgraph's stream."""
_ADDRESS = ("checkpoint_id", "checkpoint_ns", "checkpoint_map")


def usage_of_states(before: Any, after: Any) -> Json | None:
    """Return the tokens used between two states, or None if the graph does not count them."""
    later = usage_in(after)
    return dict(usage_between(usage_in(before), later)) if later and before is not None else None


async def values_before(graph: AnyGraph, run: Run) -> Any:
    """Read the thread's values at the start of the run from its checkpoints; None if the run has none."""
    config: RunnableConfig = {"configurable": {"thread_id": run.thread_id}}
    first = None
    async for state in graph.aget_state_history(config, filter={"run_id": run.run_id}):
        first = state
    if first is None:
        return None
    if first.parent_config is None:
        return {}
    return (await graph.aget_state(first.parent_config)).values


@dataclass(frozen=True, slots=True)
class Executor:
    """Executes runs on the registry's graphs."""

    graphs: GraphRegistry
    saver: RunSaver
    faults: Faults

    async def execute_run(self, run: Run, channel: RunChannel, control: RunControl) -> AttemptOutcome:
        """Run the graph and emit its events.

        Raises `GraphDrained` if a stop was requested, and `LeaseLost` if another process executes the run.
        Any other `Exception` becomes part of the outcome.
        """
        config = run_config(run)
        progress = _Progress()
        name = run.spec.graph_id
        about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        about |= {"gen_ai.conversation.id": run.thread_id, "roebot.run": run.run_id}
        try:
            with record_span(f"invoke_agent {name}", about, expected=(GraphDrained,)):
                async with self.graphs.open_graph(name, config, context=run.spec.context) as graph:
                    source = await self._choose_input(run, config, graph)
                    if source is not _DONE:
                        attempt = _Attempt(graph, source, config, run, channel, control, progress)
                        with self._wait_for_checkpoints(run):
                            await (attempt.stream_protocol if run.spec.protocol else attempt.stream_events)()
                    self.faults.reach(RunStep.LAST_CHECKPOINT)
                    outcome = await _make_outcome(graph, run, progress)
                    return replace(outcome, usage=await _usage_of_run(graph, run, progress))
        except (GraphDrained, LeaseLost):
            raise
        except Exception as error:  # noqa: BLE001 - a graph may raise anything, which ends its run
            facts = {"run_id": run.run_id, "thread_id": run.thread_id, "attempt": run.attempt}
            await log_failure("run_failed", error, **facts)
            description = describe_exception(error)
            if channel.has_audience:
                channel.emit_event("error", dumps(description))
            values = None if progress.values is None else dumps(progress.values)
            usage = usage_of_states(progress.first, progress.values)
            # Other tasks of the step may wait for an answer.
            waiting = (await self.snapshot_run(run)).interrupts
            return AttemptOutcome(
                RunStatus.ERROR, values=values, interrupts=waiting, error=description, usage=usage
            )

    async def snapshot_run(self, run: Run) -> AttemptOutcome:
        """Return the outcome of a run that did not end by itself, from the last checkpoint of its thread."""
        try:
            async with self.graphs.open_graph(run.spec.graph_id, run_config(run), access=READ) as graph:
                state = await graph.aget_state({"configurable": {"thread_id": run.thread_id}})
                usage = usage_of_states(await values_before(graph, run), state.values)
        except Exception as error:  # noqa: BLE001 - the run ends in any case
            await log_failure("snapshot_failed", error, run_id=run.run_id)
            return AttemptOutcome(RunStatus.INTERRUPTED, is_waiting=True)
        if state.created_at is None:
            return AttemptOutcome(RunStatus.INTERRUPTED)
        return _outcome_of_state(RunStatus.INTERRUPTED, state.values, state, usage=usage)

    def _wait_for_checkpoints(self, run: Run) -> AbstractContextManager[None]:
        """Make the graph's steps wait until their checkpoint is on disk, except with durability `exit`."""
        if run.spec.durability == "exit":
            return nullcontext()
        return use_checkpoint_barrier(partial(self.saver.wait_stored, run.thread_id))

    async def _choose_input(self, run: Run, config: RunnableConfig, graph: AnyGraph) -> Any:
        """Return the run's input, or None if there is a checkpoint of an earlier attempt to resume from."""
        if run.attempt > 1 and await self.saver.has_checkpoint_of(run.thread_id, run.run_id):
            configurable = config["configurable"]
            for key in _ADDRESS:
                configurable.pop(key, None)
            state = await graph.aget_state(config)
            if state.interrupts or _stopped_before(run.spec, state.next):
                return _DONE
            # Pending writes of tasks count as done in `state`, but the next run only sees the checkpoint.
            at_checkpoint = await graph.aget_state(state.config)
            return None if at_checkpoint.next else _DONE
        return run.spec.input if run.spec.command is None else parse_command(run.spec.command)


@dataclass(slots=True)
class _Progress:
    """The first and latest state of an attempt, and its interrupts by namespace."""

    first: Any = None
    values: Any = None
    interrupts: dict[tuple[str, ...], list[Any]] = field(default_factory=dict)

    def record_values(self, namespace: tuple[str, ...], values: Any) -> Any:
        """Record values, and return them with all interrupts of their graph so far.

        langgraph sends each interrupt of a step alone, then the values of the step without any.
        """
        if not isinstance(values, Mapping):
            plain = values
        else:
            plain = {key: value for key, value in values.items() if key != INTERRUPTS}
            if raised := values.get(INTERRUPTS):
                known = self.interrupts.setdefault(namespace, [])
                known += [item for item in raised if item not in known]
            if namespace in self.interrupts:
                values = {**plain, INTERRUPTS: tuple(self.interrupts[namespace])}
        if not namespace:
            self.first = plain if self.first is None else self.first
            self.values = plain
        return values


_DONE: Any = object()


def _stopped_before(spec: RunSpec, following: tuple[str, ...]) -> bool:
    stops = spec.interrupt_before
    return stops == "*" or bool(stops and set(stops) & set(following))


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An attempt on an open graph, and where its events and states go."""

    graph: AnyGraph
    source: Any
    config: RunnableConfig
    run: Run
    channel: RunChannel
    control: RunControl
    progress: _Progress

    async def stream_events(self) -> None:
        """Emit the events of the stream modes that the run requests."""
        translator, channel = EventTranslator(self.run.spec.stream_mode), self.channel
        async with aclosing(self._open_stream()) as chunks:
            async for namespace, mode, chunk in chunks:
                data = self.progress.record_values(namespace, chunk) if mode == "values" else chunk
                if not channel.has_audience:
                    continue
                if mode == "events":
                    channel.emit_event("events", dumps(data))
                else:
                    for name, body in translator.translate(namespace, mode, data):
                        channel.emit_event(name, body)
                if channel.is_full:
                    await channel.wait_for_room()

    async def stream_protocol(self) -> None:
        """Emit the events of the thread protocol."""
        translator, channel = ProtocolTranslator(self.run.run_id), self.channel
        with catch_warnings(action="ignore"):
            # langgraph warns that the protocol may change. Nothing else runs here: the call only prepares.
            stream = await self.graph.astream_events(
                self.source, self.config, version="v3", **self._make_options()
            )
        async with stream:
            async for event in stream:
                params = event["params"]
                if event["method"] == "values" and not params["namespace"]:
                    values = _with_interrupts(params["data"], params.get("interrupts", ()))
                    self.progress.record_values((), values)
                for name, body in translator.translate(event):
                    channel.emit_event(name, body)
                if channel.is_full:
                    await channel.wait_for_room()

    def _open_stream(self) -> AsyncGenerator[_Chunk]:
        spec = self.run.spec
        modes = native_modes(spec.stream_mode)
        options = {"stream_mode": modes, "subgraphs": spec.stream_subgraphs, **self._make_options()}
        return self._stream_with_events(options) if "events" in spec.stream_mode else self._stream(options)

    def _make_options(self) -> Json:
        spec = self.run.spec
        options: Json = {
            "interrupt_before": _list_nodes(spec.interrupt_before),
            "interrupt_after": _list_nodes(spec.interrupt_after),
            "durability": spec.durability,
            "control": self.control,
        }
        context = run_context(self.graph, spec)
        return options if context is None else {**options, "context": context}

    async def _stream(self, options: Json) -> AsyncGenerator[_Chunk]:
        subgraphs = options["subgraphs"]
        async with aclosing(self.graph.astream(self.source, self.config, **options)) as stream:  # type: ignore[type-var]
            async for chunk in stream:
                yield _split_chunk(chunk, subgraphs)

    async def _stream_with_events(self, options: Json) -> AsyncGenerator[_Chunk]:
        root = str(self.config["run_id"])
        events = self.graph.astream_events(self.source, self.config, version="v2", **options)
        async with aclosing(events) as stream:  # type: ignore[type-var]
            async for event in stream:
                if event["event"] == "on_chain_stream" and event["run_id"] == root:
                    yield _split_chunk(event["data"]["chunk"], options["subgraphs"])
                else:
                    yield (), "events", event


def _with_interrupts(values: Any, interrupts: Sequence[Any]) -> Any:
    """Return a state in the format of langgraph's older streams, which includes the interrupts."""
    return {**values, INTERRUPTS: interrupts} if interrupts and isinstance(values, Mapping) else values


def _list_nodes(names: str | tuple[str, ...] | None) -> Any:
    return list(names) if isinstance(names, tuple) else names


def _split_chunk(chunk: Any, subgraphs: bool) -> _Chunk:
    if subgraphs:
        namespace, mode, data = chunk
        return namespace, mode, data
    mode, data = chunk
    return (), mode, data


def make_run_context(run: Run) -> Context:
    """Return an empty context with the span that a run belongs to, and the run's ids for logs."""
    context, above = Context(), str(run.spec.metadata.get("traceparent") or "")
    ids = {"run_id": run.run_id, "thread_id": run.thread_id}
    if above:
        turn = str(run.spec.metadata.get("idempotency_key") or "").partition(":")[0]
        ids |= {"turn": turn, "trace_id": above[3:35]}
    context.run(traceparent.set, above)
    context.run(bind_contextvars, **ids)
    return context


def run_config(run: Run) -> RunnableConfig:
    """Return the runnable config of an attempt: the request's config with the run's ids."""
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
        **{key: at[key] for key in _ADDRESS if at.get(key)},
        **facts,
        **({} if spec.user is None else User(spec.user).configurable),
    }
    config["metadata"] = {
        **spec.config.get("metadata", {}),
        **spec.metadata,
        **facts,
        "run_attempt": run.attempt,
    }
    config["run_id"] = UUID(run.run_id)
    return config  # type: ignore[no-any-return]


def parse_command(command: Json) -> Command[Any] | None:
    """Convert an API command to langgraph's; None, which continues the run, if it is empty.

    Raises `BadRequest` for a step without a node.
    """
    if all(command.get(key) is None for key in ("resume", "update", "goto")):
        return None
    update = command.get("update")
    if isinstance(update, list):
        update = [tuple(pair) if isinstance(pair, list) else pair for pair in update]
    goto = command.get("goto") or ()
    steps = goto if isinstance(goto, (list, tuple)) else [goto]
    return Command(resume=command.get("resume"), update=update, goto=[_parse_step(step) for step in steps])


def _parse_step(step: Any) -> Send | str:
    if isinstance(step, Mapping):
        if "node" not in step:
            raise BadRequest("A step in command.goto needs a node")
        return Send(step["node"], step.get("input"))
    return str(step)


async def _usage_of_run(graph: AnyGraph, run: Run, progress: _Progress) -> Json | None:
    """Return the tokens used by all attempts of the run."""
    if run.attempt == 1:
        return usage_of_states(progress.first, progress.values)
    values = progress.values
    if values is None:
        values = (await graph.aget_state({"configurable": {"thread_id": run.thread_id}})).values
    before = await values_before(graph, run)
    return usage_of_states(progress.first if before is None else before, values)


async def _make_outcome(graph: AnyGraph, run: Run, progress: _Progress) -> AttemptOutcome:
    """Return the outcome of an attempt that did not raise."""
    spec = run.spec
    stops = (
        spec.interrupt_before
        or spec.interrupt_after
        or graph.interrupt_before_nodes
        or graph.interrupt_after_nodes
    )
    if progress.values is not None and not progress.interrupts and not stops:
        return AttemptOutcome(RunStatus.SUCCESS, values=dumps(progress.values))
    state = await graph.aget_state({"configurable": {"thread_id": run.thread_id}})
    values = state.values if progress.values is None else progress.values
    return _outcome_of_state(RunStatus.SUCCESS, values, state)


def _outcome_of_state(
    status: RunStatus, values: Any, state: StateSnapshot, usage: Json | None = None
) -> AttemptOutcome:
    return AttemptOutcome(
        status,
        values=dumps(values),
        interrupts=dumps(interrupts_view(state)),
        is_waiting=bool(state.next),
        usage=usage,
    )
