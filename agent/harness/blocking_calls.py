"""A compiled agent that also supports blocking calls.

Middleware and tools are asynchronous only: a blocking version of each hook would have to be tested and kept
equal. Blocking calls run the asynchronous graph on a background loop of the process, and raise an error on
that loop itself, where they would wait forever.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from typing import Any, Self, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from agent.core.background_loop import process_loop


class AgentGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled agent whose `invoke`, `stream` and `batch` work like their asynchronous versions.

    Its middleware and tools are asynchronous. Blocking calls run on the background loop of the process, so
    they also work while the caller's own loop runs. They raise RuntimeError on that background loop itself.
    """

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any]) -> Self:
        """Return the same graph with blocking calls enabled."""
        return cls(**{name: value for name, value in vars(graph).items() if name != "__orig_class__"})

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        """Yield the parts of a run; `invoke` and `batch` of the base class call this. See `astream`."""
        parts = cast("AsyncGenerator[Any, None]", self.astream(input, config, **options))
        return process_loop().iterate(parts)
