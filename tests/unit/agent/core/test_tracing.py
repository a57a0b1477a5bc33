"""Where nothing is traced, middleware hooks have no spans."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain.agents import create_agent, factory
from langchain.agents.middleware import AgentMiddleware

from agent.core import telemetry
from agent.core.telemetry import trace_hooks_on_demand, trace_on_demand
from tests.harness.agents import says, scripted


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(factory), "traceable", vars(factory)["traceable"])
        yield


class Hooked(AgentMiddleware):
    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request)


@pytest.mark.parametrize("traced", [False, True])
async def test_only_what_is_traced_has_spans(monkeypatch: pytest.MonkeyPatch, *, traced: bool) -> None:
    """Decided by each call, not when the agent is created."""
    spans: list[str] = []

    def record(name: str, **_: Any) -> Callable[[Any], Any]:
        def decorate(hook: Any) -> Any:
            async def span(*args: Any) -> Any:
                spans.append(name)
                return await hook(*args)

            return span

        return decorate

    monkeypatch.setattr(telemetry, "traceable", record)
    trace_hooks_on_demand()
    agent: Any = create_agent(scripted(says("a"), says("b")), middleware=[Hooked()])
    monkeypatch.setattr(telemetry, "tracing_is_enabled", lambda: traced)
    await agent.ainvoke({"messages": ["go"]})
    assert spans == (["Hooked.awrap_model_call"] if traced else [])


@pytest.mark.parametrize("traced", [False, True])
async def test_a_hook_works_as_before(monkeypatch: pytest.MonkeyPatch, *, traced: bool) -> None:
    monkeypatch.setattr(telemetry, "tracing_is_enabled", lambda: traced)
    before = threading.active_count()

    @trace_on_demand(name="hook")
    async def hook(value: int) -> int:
        if value < 0:
            raise ValueError("below nothing")
        return value + 1

    assert [await hook(number) for number in range(20)] == [*range(1, 21)]
    with pytest.raises(ValueError, match="below nothing"):
        await hook(-1)
    assert traced or threading.active_count() <= before


@pytest.mark.may_block
def test_telemetry_loads_no_models_and_graphs() -> None:
    code = "import sys, agent.core.telemetry; "
    code += "print([name for name in ('langchain', 'langchain_core', 'langgraph') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
