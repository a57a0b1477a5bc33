"""Registry of the graphs served by this runtime, bound to its saver and store."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

from agent.errors import GraphLoadError, NotFound
from agent.runtime.access import REQUEST_USER, User
from agent.runtime.domain import USER_KEYS, Assistant, Json, assistant_uuid
from agent.shared.gc_tuning import freeze_heap, pause_gc

RUN: Final = "threads.create_run"
READ: Final = "threads.read"
UPDATE: Final = "threads.update"
DESCRIBE: Final = "assistants.read"
_DEFAULT_NAME: Final = "LangGraph"
"""langgraph's name of a graph that was compiled without one."""

AnyGraph = Pregel[Any, Any, Any, Any]


@dataclass(frozen=True, slots=True)
class FactoryRuntime:
    """Second argument of a graph factory: the reason for the call, the user and the store."""

    access_context: str
    store: BaseStore | None
    user: Any = None
    context: Any = None

    @property
    def execution_runtime(self) -> FactoryRuntime | None:
        """Return this object if a run is about to be executed, else None."""
        return self if self.access_context == RUN else None

    def ensure_user(self) -> Any:
        """Return the user. Raises `PermissionError` if there is none."""
        if self.user is None:
            raise PermissionError("this call has no user")
        return self.user


class GraphRegistry:
    """Graphs by name; a source is a compiled graph, a builder, or a factory of one."""

    def __init__(
        self,
        sources: Mapping[str, Callable[[], Any]],
        *,
        saver: BaseCheckpointSaver[Any],
        store: BaseStore | None,
        started_at: float,
        descriptions: Mapping[str, str] | None = None,
    ) -> None:
        """`sources` maps a name to a function that imports and returns the graph's source."""
        self._sources = dict(sources)
        self._saver = saver
        self._store = store
        self._descriptions = descriptions or {}
        self._started_at = started_at
        self._loaded: dict[str, Any] = {}
        self._ready: dict[str, AnyGraph] = {}
        self._bound: WeakKeyDictionary[Any, AnyGraph] = WeakKeyDictionary()
        self._lock = asyncio.Lock()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._sources)

    def system_assistant(self, graph_id: str) -> Assistant:
        """Return the system assistant of a graph. Raises `NotFound`."""
        if graph_id not in self._sources:
            raise NotFound(f"No graph or assistant named {graph_id!r}")
        at = self._started_at
        return Assistant(
            assistant_id=assistant_uuid(graph_id),
            graph_id=graph_id,
            name=graph_id,
            created_at=at,
            updated_at=at,
            description=self._descriptions.get(graph_id),
            metadata={"created_by": "system"},
        )

    async def load_source(self, name: str) -> Any:
        """Return a source, which is imported once in a thread. Raises `GraphLoadError`."""
        if name not in self._loaded:
            async with self._lock:
                if name not in self._loaded:
                    pause_gc()
                    try:
                        self._loaded[name] = await asyncio.to_thread(self._sources[name])
                    finally:
                        freeze_heap()
        return self._loaded[name]

    @asynccontextmanager
    async def open_graph(
        self, name: str, config: RunnableConfig, *, access: str = RUN, context: Json | None = None
    ) -> AsyncIterator[AnyGraph]:
        """Yield the graph for one use. A factory without parameters is called once, others each time."""
        ready = self._ready.get(name)
        if ready is not None:
            yield ready
            return
        source = await self.load_source(name)
        if isinstance(source, (Pregel, StateGraph)) or not callable(source):
            self._ready[name] = self._bind_graph(source, name)
            yield self._ready[name]
            return
        parameters = factory_parameters(source)
        user = REQUEST_USER.get()
        if user is not None:
            config = {**config, "configurable": {**config.get("configurable", {}), **user.configurable}}
        user = config.get("configurable", {}).get(USER_KEYS[0])
        runtime = FactoryRuntime(access, self._store, user if isinstance(user, User) else None, context)
        arguments = [runtime if kind == "runtime" else config for kind in parameters]
        product = await _call_factory(source, arguments)
        if isinstance(product, AbstractAsyncContextManager):
            async with product as graph:
                yield self._bind_graph(graph, name)
            return
        if isinstance(product, AbstractContextManager):
            with product as graph:
                yield self._bind_graph(graph, name)
            return
        bound = self._bind_graph(product, name)
        if not parameters:
            self._ready[name] = bound
        yield bound

    def _bind_graph(self, graph: Any, name: str) -> AnyGraph:
        if isinstance(graph, StateGraph):
            return graph.compile(checkpointer=self._saver, store=self._store, name=name)
        if not isinstance(graph, Pregel):
            raise GraphLoadError(f"graph {name!r} is a {type(graph).__name__}, not a langgraph graph")
        bound = self._bound.get(graph)
        if bound is None:
            given = name if graph.name == _DEFAULT_NAME else graph.name
            bound = graph.copy(
                {"checkpointer": self._saver, "store": self._store or graph.store, "name": given}
            )
            self._bound[graph] = bound
            # The factory may have imported a provider's package.
            freeze_heap()
        return bound


def factory_parameters(factory: Callable[..., Any]) -> tuple[str, ...]:
    """Return `config` or `runtime` for each parameter of a factory. Raises `GraphLoadError` for more than
    two.
    """
    required = [
        parameter
        for parameter in inspect.signature(factory).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and (parameter.default is parameter.empty or parameter.name in {"config", "runtime"})
    ]
    if len(required) > 2:
        raise GraphLoadError("a graph factory takes at most two parameters: config and runtime")
    return tuple("runtime" if _wants_runtime(parameter) else "config" for parameter in required)


def _wants_runtime(parameter: inspect.Parameter) -> bool:
    note = parameter.annotation
    text = note if isinstance(note, str) else getattr(note, "__name__", str(note))
    return parameter.name == "runtime" or "Runtime" in text


async def _call_factory(factory: Callable[..., Any], arguments: list[Any]) -> Any:
    if inspect.iscoroutinefunction(factory):
        return await factory(*arguments)
    product = await asyncio.to_thread(factory, *arguments)
    return await product if inspect.isawaitable(product) else product
