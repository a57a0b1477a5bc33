"""Scenarios by family. Each is an async function that records its steps in a scene."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from tests.conformance.langgraph_api.recorder import Scene
from tests.conformance.langgraph_api.steps import (
    assistants,
    crons,
    interrupts,
    multitask,
    remote_graph,
    runs,
    states,
    store,
    streams,
    system,
    thread_stream,
    threads,
)

Scenario = Callable[[Scene], Awaitable[None]]
BOTH: Mapping[str, tuple[Scenario, ...]] = {
    "assistants": assistants.SCENARIOS,
    "threads": threads.SCENARIOS,
    "states": states.SCENARIOS,
    "runs": runs.SCENARIOS,
    "streams": streams.SCENARIOS,
    "interrupts": interrupts.SCENARIOS,
    "multitask": multitask.SCENARIOS,
    "crons": crons.SCENARIOS,
    "store": store.SCENARIOS,
}
FAMILIES: Mapping[str, Mapping[str, tuple[Scenario, ...]]] = {
    "python": {**BOTH, "system": system.SCENARIOS, "remote_graph": remote_graph.SCENARIOS},
    "javascript": {**BOTH, "thread_stream": thread_stream.SCENARIOS},
}
ALONE = (multitask.cancel_by_status,)
"""Scenarios that run after all others, because they affect the runs of others."""
