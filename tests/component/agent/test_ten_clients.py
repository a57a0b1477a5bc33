"""Ten clients in one process, blocking and asynchronous, on two loops, with all that an agent can have.

The providers are as strict as the real ones; no request may be rejected or sent twice.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from agent.client import AgentClient
from agent.config.extensions_file import PATH_VARIABLE
from agent.core.background_loop import BackgroundLoop
from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.lead import make_lead_agent
from tests.component.agent.test_several_clients import QUIET, TOOLS, add
from tests.harness.mcp import PATIENT, ours, serve_forked
from tests.harness.strict_providers.threaded import PACKAGES, EchoProviders, echo_providers

pytestmark = pytest.mark.may_block
OWN_SUM, SERVER_SUM = '[tool=add {"a": 2, "b": 3}]', '[tool=sums_add {"a": 4, "b": 5}]'
OTHERS = ("gemini", "deepseek", "mistral", "groq", "ollama", "openrouter", "responses")


class Recorder(AgentMiddleware):
    """Has blocking hooks alone."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def before_model(self, state: Any, runtime: Any) -> None:
        self.seen.append("before_model")

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        self.seen.append("wrap_model_call")
        return handler(request)

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        self.seen.append("wrap_tool_call")
        return handler(request)


@pytest.fixture(scope="module")
def sums() -> Iterator[dict[str, Any]]:
    """An MCP server over HTTP, as an entry of the extensions file."""
    with serve_forked("mcp_server", "http") as (port, _):
        yield {"type": "http", "url": f"http://127.0.0.1:{port}/mcp", "start_seconds": PATIENT}


@contextmanager
def two_loops() -> Iterator[list[BackgroundLoop]]:
    """Two event loops, each running in a thread."""
    loops = [BackgroundLoop("first"), BackgroundLoop("second")]
    try:
        yield loops
    finally:
        for loop in loops:
            loop.close()


class Clients:
    """Makes clients of many kinds: with and without an own checkpointer, extra middleware, MCP servers."""

    def __init__(self, providers: EchoProviders, home: Path, stack: ExitStack, sums: dict[str, Any]) -> None:
        self._providers, self._home, self._stack, self._sums = providers, home, stack, sums
        self._shared = InMemorySaver()
        self.recorders: list[Recorder] = []

    def make(self, number: int, provider: str = "") -> AgentClient:
        """Return a client that the caller closes."""
        kind = number % 3
        saver: Any = None if kind == 0 else self._shared
        if kind == 2:
            path = str(self._home / f"threads-{number}.db")
            saver = self._stack.enter_context(SqliteSaver.from_conn_string(path))
        self.recorders.append(Recorder())
        client = AgentClient(
            {**QUIET, **TOOLS, "models": [self._providers.entry(provider or PACKAGES[number % 2])]},
            read_file=False,
            home=self._home / f"home-{number}",
            checkpointer=saver,
            extra_middleware=[self.recorders[-1]],
            environ={},
        )
        client.update_mcp_config({"sums": self._sums})
        return client


def talk(client: AgentClient, number: int, loop: BackgroundLoop) -> None:
    """Use a client in every way, for four threads of conversation."""
    one, two = f"blocking-{number}", f"asynchronous-{number}"
    assert client.chat(f"hello {number}", one) == f"hello {number}"
    assert loop.run(client.achat(OWN_SUM, two)) == "5"
    assert client.chat(SERVER_SUM, one) == "9"
    assert loop.run(client.achat(SERVER_SUM, two)) == "9"
    *_, values, end = client.stream(OWN_SUM, two)
    assert AIMessage(values.data["messages"][-1]["content"]).text == "5"
    assert end.type == "end"

    async def ask_twice() -> list[str]:
        return await asyncio.gather(*(client.achat(f"{number} at once", f"{one}-{at}") for at in range(2)))

    assert loop.run(ask_twice()) == [f"{number} at once"] * 2
    assert asyncio.run(client.achat(f"bye {number}", two)) == f"bye {number}"


REQUESTS = 1 + 2 * 4 + 2 + 1
"""Those of `talk`."""


@pytest.mark.long
def test_ten_clients_talk_at_the_same_time_and_then_in_turn(sums: dict[str, Any], tmp_path: Path) -> None:
    with echo_providers(*PACKAGES) as providers, ExitStack() as stack, two_loops() as loops:
        clients = Clients(providers, tmp_path, stack, sums)
        at_once = [clients.make(number) for number in range(10)]
        with ThreadPoolExecutor(10) as pool:
            done = [
                pool.submit(talk, client, number, loops[number // 2 % 2])
                for number, client in enumerate(at_once)
            ]
            assert [one.result() for one in done] == [None] * 10
        for client in at_once:
            client.close()
        for number in range(10, 13):
            with clients.make(number) as client:
                talk(client, number, loops[number % 2])
        assert {tuple(sorted(set(one.seen))) for one in clients.recorders} == {
            ("before_model", "wrap_model_call", "wrap_tool_call")
        }
        providers.assert_nothing_failed(13 * REQUESTS)


@pytest.mark.long
def test_clients_of_the_other_providers(sums: dict[str, Any], tmp_path: Path) -> None:
    with echo_providers(*OTHERS) as providers, ExitStack() as stack, two_loops() as loops:
        clients = Clients(providers, tmp_path, stack, sums)
        for number, name in enumerate(OTHERS):
            with clients.make(number, name) as client:
                talk(client, number, loops[number % 2])
        providers.assert_nothing_failed(len(OTHERS) * REQUESTS)


@pytest.mark.guard(
    "graphs of the factory work with blocking calls",
    "agent/harness/blocking_calls.py",
    "return process_loop().iterate(parts)",
    "return super().stream(input, config, **options)",
    against="blocking calls",
)
@pytest.mark.guard(
    "blocking hooks take part in asynchronous runs",
    "agent/middleware/blocking_hooks.py",
    "    if not added:\n        return one",
    "    if True:\n        return one",
    against="blocking calls",
)
def test_graphs_of_the_factory_between_clients(sums: dict[str, Any], tmp_path: Path) -> None:
    ask: dict[str, Any] = {"messages": [OWN_SUM]}
    with echo_providers(*PACKAGES) as providers, ExitStack() as stack, two_loops() as loops:
        clients = Clients(providers, tmp_path, stack, sums)
        for number, provider in enumerate(PACKAGES):
            entry = providers.entry(provider)
            module, _, name = entry["use"].partition(":")
            model = getattr(__import__(module), name)(
                **{key: entry[key] for key in ("model", "api_key", "base_url")}
            )
            recorder = Recorder()
            graph = create_agent_graph(
                model,
                [add],
                features=RuntimeFeatures(sandbox=False),
                extra_middleware=[recorder],
                checkpointer=stack.enter_context(SqliteSaver.from_conn_string(str(tmp_path / provider))),
            )
            thread: Any = {"configurable": {"thread_id": "t"}}
            with clients.make(number) as client:
                for loop in loops:
                    assert graph.invoke(ask, thread)["messages"][-1].text == "5"
                    assert loop.run(client.achat("hello")) == "hello"
                    assert loop.run(graph.ainvoke(ask, thread))["messages"][-1].text == "5"
                    *_, last = graph.stream(ask, thread, stream_mode="values")
                    assert last["messages"][-1].text == "5"
                    assert client.chat(OWN_SUM) == "5"
            assert len(graph.get_state(thread).values["messages"]) == 2 * 3 * 4
            assert recorder.seen.count("wrap_tool_call") == 6
        providers.assert_nothing_failed(len(PACKAGES) * 2 * (3 * 2 + 1 + 2))


@pytest.mark.guard(
    "MCP sessions belong to the loop that uses them",
    "agent/mcp/pool.py",
    "        if self._loop is None or self._loop is asyncio.get_running_loop():",
    "        if True:",
    against="event loops",
    case="http",
)
@pytest.mark.parametrize("transport", ["http", pytest.param("stdio", marks=pytest.mark.long)])
def test_graphs_of_the_lead_agent_with_mcp_servers_on_several_loops(
    sums: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    """Each graph on the loop that built it, on the others, and with blocking calls."""
    server = sums if transport == "http" else ours(start_seconds=PATIENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROEBOT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path / "extensions.json"))
    (tmp_path / "extensions.json").write_text(json.dumps({"mcpServers": {"sums": server}}))
    ask = {"messages": [SERVER_SUM]}
    thread: Any = {"configurable": {"thread_id": "t"}}
    with echo_providers(*PACKAGES) as providers, two_loops() as loops:
        models = [providers.entry(provider) for provider in PACKAGES]
        config = {"config_version": 1, **QUIET, **TOOLS, "models": models}
        (tmp_path / "config.yaml").write_text(json.dumps(config))
        for name in PACKAGES:
            chosen: Any = {"configurable": {"model_name": name}}
            graphs = [loop.run(make_lead_agent(chosen)) for loop in loops]
            graphs.append(asyncio.run(make_lead_agent(chosen)))
            for graph in graphs:
                answers = [loop.run(graph.ainvoke(ask, thread)) for loop in loops]
                answers.append(graph.invoke(ask, thread))
                answers.append(asyncio.run(graph.ainvoke(ask, thread)))
                assert [values["messages"][-1].text for values in answers] == ["9"] * 4
        providers.assert_nothing_failed(len(PACKAGES) * 3 * 4 * 2)
