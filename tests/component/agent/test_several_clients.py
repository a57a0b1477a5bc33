"""Any number of embedded clients in one process, blocking and asynchronous, on several event loops."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agent.client import AgentClient
from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.models.http import shared_client, use_per_loop_client
from agent.models.resolve import build_model
from agent.models.spec import ModelSpec
from tests.harness.strict_providers.threaded import CLASSES, PACKAGES, EchoProviders, echo_providers

pytestmark = pytest.mark.may_block
QUIET: dict[str, Any] = {
    "title": {"enabled": False},
    "memory": {"enabled": False},
    "sandbox": {"enabled": False},
}


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


TOOLS = {"tools": [{"name": "add", "group": "t", "use": "tests.component.agent.test_several_clients:add"}]}


@pytest.fixture
def server() -> Iterator[EchoProviders]:
    with echo_providers(*PACKAGES) as served:
        yield served


def make_client(server: EchoProviders, provider: str, home: Path) -> AgentClient:
    config = {**QUIET, **TOOLS, "models": [server.entry(provider)]}
    return AgentClient(config, read_file=False, home=home, environ={})


def run_on_new_loop(*works: Any) -> list[Any]:
    """Run the coroutines one after the other on a loop that is closed afterwards."""

    async def run_all() -> list[Any]:
        return [await work for work in works]

    return asyncio.run(run_all())


@pytest.mark.guard(
    "connections belong to the loop that uses them",
    "agent/models/http.py",
    "        loop = asyncio.get_running_loop()\n        if loop not in self._open:\n            # Reads",
    "        loop = next(iter(self._open), asyncio.get_running_loop())\n"
    "        if loop not in self._open:\n"
    "            # Reads",
    against="event loops",
)
@pytest.mark.long
def test_ten_clients_on_two_loops(server: EchoProviders, tmp_path: Path) -> None:
    clients = [make_client(server, PACKAGES[n % 2], tmp_path / str(n)) for n in range(10)]
    loops = [asyncio.new_event_loop(), asyncio.new_event_loop()]
    for number, client in enumerate(clients):
        said, loop = f"hello {number}", loops[number // 2 % 2]
        assert client.chat(said, "blocking") == said
        assert loop.run_until_complete(client.achat(said, "asynchronous")) == said
        *_, values, end = client.stream(said, "blocking")
        # Anthropic's answers are lists of blocks.
        assert AIMessage(values.data["messages"][-1]["content"]).text == said
        assert end.type == "end"
    for loop in loops:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
    for number, client in enumerate(clients):
        assert run_on_new_loop(client.achat(f"after {number}", "asynchronous")) == [f"after {number}"]
        assert client.chat(f"last {number}", "blocking") == f"last {number}"
        client.close()
    server.assert_nothing_failed(10 * (3 + 2))
    last = server.requests[-1]["messages"]
    asked = [message["content"] for message in last if message["role"] == "user"][-1]
    assert (asked if isinstance(asked, str) else asked[-1]["text"]) == "last 9"


def test_clients_of_one_process_answer_at_the_same_time(server: EchoProviders, tmp_path: Path) -> None:
    clients = [make_client(server, PACKAGES[n % 2], tmp_path / str(n)) for n in range(4)]
    together = threading.Barrier(len(clients))

    def talk(number: int) -> list[str]:
        together.wait()
        client = clients[number]
        sums = [client.chat('[tool=add {"a": 2, "b": 3}]', "t"), *run_on_new_loop(client.achat("x", "t"))]
        client.close()
        return sums

    with ThreadPoolExecutor(len(clients)) as pool:
        assert list(pool.map(talk, range(len(clients)))) == [["5", "x"]] * len(clients)
    server.assert_nothing_failed(4 * 3)


@pytest.mark.parametrize("provider", PACKAGES)
def test_a_model_of_somebody_works_on_every_loop(server: EchoProviders, provider: str) -> None:
    entry = server.entry(provider, max_retries=0)
    module, _, name = entry.pop("use").partition(":")
    given = getattr(__import__(module), name)(**{key: entry[key] for key in ("model", "api_key", "base_url")})
    graph = create_agent_graph(given, [add], features=RuntimeFeatures(sandbox=False))
    ask = {"messages": ['[tool=add {"a": 2, "b": 3}]']}
    for _ in range(2):
        assert asyncio.run(graph.ainvoke(ask))["messages"][-1].text == "5"
        assert graph.invoke(ask)["messages"][-1].text == "5"
    server.assert_nothing_failed(4 * 2)
    package = use_per_loop_client(given)
    assert package is not given
    assert use_per_loop_client(package) is package


@pytest.mark.parametrize("provider", PACKAGES)
async def test_a_loop_shares_its_connections_and_closes_them(server: EchoProviders, provider: str) -> None:
    spec = ModelSpec(
        name="m",
        use=CLASSES[provider],
        model="some-model",
        display_name="M",
        settings={key: server.entry(provider)[key] for key in ("api_key", "base_url")},
    )
    models = [await asyncio.to_thread(build_model, spec) for _ in range(3)]
    assert [(await model.ainvoke("x")).text for model in models] == ["x"] * 3
    calls = server.served[provider].calls
    assert len({call.connection for call in calls}) == 1
    await asyncio.to_thread(lambda: asyncio.run(models[0].ainvoke("x")))
    assert len({call.connection for call in calls}) == 2
    assert (await models[1].ainvoke("x")).text == "x"
    assert len({call.connection for call in calls}) == 2


async def test_a_client_works_beside_a_server_of_its_process(server: EchoProviders, tmp_path: Path) -> None:
    async with shared_client():
        with make_client(server, "openai", tmp_path) as client:
            assert await client.achat("hello", "t") == "hello"
            assert await asyncio.to_thread(client.chat, "again", "t") == "again"
    server.assert_nothing_failed(2)


def test_socket_options_that_somebody_chose_stay(server: EchoProviders) -> None:
    entry = server.entry("openai")
    settings = {**{key: entry[key] for key in ("api_key", "base_url")}, "http_socket_options": ()}
    made = build_model(
        ModelSpec(name="m", use=CLASSES["openai"], model="m", display_name="M", settings=settings)
    )
    assert use_per_loop_client(made) is made


def test_agents_of_closed_loops_are_dropped(server: EchoProviders, tmp_path: Path) -> None:
    with make_client(server, "openai", tmp_path) as client:
        for number in range(4):
            assert run_on_new_loop(client.achat(str(number), "t")) == [str(number)]
            assert len(client._agents.items()) == 1
    server.assert_nothing_failed(4)


def test_threads_go_on_when_blocking_follows_asynchronous_calls(
    server: EchoProviders, tmp_path: Path
) -> None:
    saver = InMemorySaver()
    for provider in PACKAGES:
        config = {**QUIET, "models": [server.entry(provider)]}
        with AgentClient(config, read_file=False, home=tmp_path, checkpointer=saver, environ={}) as client:
            assert run_on_new_loop(client.achat(f"a {provider}", "t"), client.achat("b", "t"))[1] == "b"
            assert client.chat("c", "t") == "c"
    asked = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "user"]
    assert len(asked) == 6
    server.assert_nothing_failed(6)
