"""Where nothing is traced the spans around middlewares take no thread."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar, copy_context
from typing import Any

import pytest
from langsmith import set_runtime_overrides, traceable
from langsmith.utils import get_env_var

from agent.core.telemetry import run_span_step, trace_inline

seen: ContextVar[str] = ContextVar("seen", default="")


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    set_runtime_overrides()
    get_env_var.cache_clear()


@pytest.mark.parametrize("traced", [False, True])
async def test_only_what_is_traced_takes_threads(monkeypatch: pytest.MonkeyPatch, *, traced: bool) -> None:
    monkeypatch.setenv("LANGSMITH_TRACING", "true" if traced else "false")
    get_env_var.cache_clear()
    used: list[bool] = []

    async def in_thread(context: Any, work: Any, /, *args: Any, **more: Any) -> Any:
        used.append(True)
        return context.run(work, *args, **more)

    context = copy_context()
    assert await run_span_step(in_thread, context, _work, "a", more="b") == ("a", "b")
    assert context[seen] == "a"
    assert seen.get() == ""
    assert bool(used) is traced


def _work(first: str, *, more: str) -> tuple[str, str]:
    seen.set(first)
    return first, more


async def test_a_hook_works_as_before() -> None:
    trace_inline()
    before = threading.active_count()

    @traceable(name="hook")
    async def hook(value: int) -> int:
        if value < 0:
            raise ValueError("below nothing")
        return value + 1

    assert [await hook(number) for number in range(20)] == [*range(1, 21)]
    with pytest.raises(ValueError, match="below nothing"):
        await hook(-1)
    assert threading.active_count() <= before


@pytest.mark.may_block
def test_telemetry_loads_no_models_and_graphs() -> None:
    code = "import sys, agent.core.telemetry; "
    code += "print([name for name in ('langchain', 'langchain_core', 'langgraph') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
