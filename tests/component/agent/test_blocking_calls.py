"""Graphs of the factory with blocking calls, and middleware with blocking hooks in asynchronous runs."""

from __future__ import annotations

import asyncio
import os
import threading
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, before_model, hook_config, wrap_model_call
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from agent.client import AgentClient
from agent.core.background_loop import process_loop
from agent.core.threaded_saver import with_async_methods
from agent.errors import ModelCallFailed
from agent.factory import create_agent_graph
from agent.features import Prev, RuntimeFeatures
from agent.middleware.blocking_hooks import with_async_hooks
from agent.middleware.loop_detection import LoopDetectionMiddleware
from agent.models.calls import ModelCalls
from roebot_testing.agent import Script, ScriptedChatModel
from tests.harness.agents import THREAD, calls, says, scripted, steps_of, texts

pytestmark = pytest.mark.may_block
PLAIN = RuntimeFeatures(sandbox=False)
ASK: dict[str, Any] = {"messages": ["Hello there"]}
_place: ContextVar[str] = ContextVar("place", default="nowhere")


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@tool
async def confirm(thing: str) -> str:
    """Ask about a thing."""
    return f"They said {interrupt({'question': thing})}."


def echo(**options: Any) -> Any:
    return create_agent_graph(ScriptedChatModel(environ={}), features=PLAIN, **options)


class TestBlockingCalls:
    """`invoke`, `stream` and `batch`."""

    def test_invoke_returns_the_values(self) -> None:
        assert texts(echo().invoke(ASK)) == ["Hello there", "Hello there"]

    def test_tools_of_the_agent_are_called(self) -> None:
        graph = create_agent_graph(
            scripted(calls("add", a=2, b=3), says("five")), [add], features=PLAIN, plan_mode=True
        )
        assert texts(graph.invoke(ASK)) == ["Hello there", "", "5", "five"]

    @pytest.mark.parametrize("subgraphs", [False, True])
    def test_stream_yields_as_the_asynchronous_version_does(self, subgraphs: bool) -> None:
        async def collect(graph: Any) -> list[Any]:
            options = {"stream_mode": ["messages", "updates"], "subgraphs": subgraphs}
            return [part async for part in graph.astream(ASK, **options)]

        parts = list(echo().stream(ASK, stream_mode=["messages", "updates"], subgraphs=subgraphs))
        assert [part[:-1] for part in parts] == [part[:-1] for part in asyncio.run(collect(echo()))]
        assert [part[-1][0].text for part in parts if "messages" in part] == ["Hello ", "there", ""]

    def test_batch_answers_each_input(self) -> None:
        asks = [{"messages": [HumanMessage(str(number))]} for number in range(12)]
        assert [texts(one)[-1] for one in echo().batch(asks)] == [str(number) for number in range(12)]

    async def test_they_work_while_a_loop_runs(self) -> None:
        assert texts(echo().invoke(ASK))[-1] == "Hello there"

    def test_a_thread_goes_on_and_shows_its_state(self) -> None:
        graph = echo(checkpointer=InMemorySaver())
        graph.invoke(ASK, THREAD)
        asyncio.run(graph.ainvoke(ASK, THREAD))
        assert len(graph.invoke(ASK, THREAD)["messages"]) == 6
        assert len(graph.get_state(THREAD).values["messages"]) == 6
        graph.update_state(THREAD, {"messages": [HumanMessage("more")]})
        assert texts(graph.get_state(THREAD).values)[-1] == "more"
        assert len(list(graph.get_state_history(THREAD))) > 6

    def test_a_blocking_checkpointer_works_both_ways(self, tmp_path: Path) -> None:
        with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
            graph = echo(checkpointer=saver)
            graph.invoke(ASK, THREAD)
            assert len(asyncio.run(graph.ainvoke(ASK, THREAD))["messages"]) == 4
            asyncio.run(graph.aupdate_state(THREAD, {"messages": [HumanMessage("more")]}))
            assert texts(graph.get_state(THREAD).values)[-1] == "more"
            assert asyncio.run(steps_of(graph)) == [one.metadata["step"] for one in saver.list(THREAD)]
            asyncio.run(graph.checkpointer.adelete_thread("t-1"))
            assert saver.get_tuple(THREAD) is None

    def test_an_asynchronous_checkpointer_keeps_its_methods(self) -> None:
        class Slow(InMemorySaver): ...

        for saver in (None, False, InMemorySaver(), Slow()):
            assert with_async_methods(saver) is saver

    def test_a_question_is_asked_and_answered(self) -> None:
        model = scripted(calls("confirm", thing="Really?"), says("done"))
        graph = create_agent_graph(model, [confirm], features=PLAIN, checkpointer=InMemorySaver())
        [question] = graph.invoke(ASK, THREAD)["__interrupt__"]
        assert question.value == {"question": "Really?"}
        assert texts(graph.invoke(Command(resume="yes"), THREAD))[-2:] == ["They said yes.", "done"]

    def test_a_failure_is_raised(self) -> None:
        graph = create_agent_graph(
            scripted(Script(fail="rate_limit")),
            features=PLAIN,
            extra_middleware=[ModelCalls(model_name="m")],
        )
        with pytest.raises(ModelCallFailed):
            graph.invoke(ASK)

    def test_leaving_a_stream_ends_the_run(self) -> None:
        ended = threading.Event()

        class Watch(AgentMiddleware):
            async def awrap_model_call(self, request: Any, handler: Any) -> Any:
                try:
                    request.runtime.stream_writer("begins")
                    return await asyncio.sleep(60)
                finally:
                    ended.set()

        graph = echo(extra_middleware=[Watch()])
        parts = graph.stream(ASK, stream_mode="custom")
        assert next(parts) == "begins"
        parts.close()
        assert ended.wait(10)

    def test_context_and_config_arrive(self) -> None:
        seen = []

        class Look(AgentMiddleware):
            async def abefore_agent(self, state: Any, runtime: Any) -> Any:
                seen.append((_place.get(), runtime.execution_info.thread_id))

        token = _place.set("here")
        try:
            echo(extra_middleware=[Look()]).with_config(tags=["x"]).invoke(ASK, THREAD)
        finally:
            _place.reset(token)
        assert seen == [("here", "t-1")]

    def test_as_a_node_of_a_blocking_graph(self) -> None:
        outer = StateGraph(MessagesState)
        outer.add_node("agent", echo())
        outer.add_edge(START, "agent")
        outer.add_edge("agent", END)
        assert texts(outer.compile().invoke(ASK)) == ["Hello there", "Hello there"]

    def test_a_call_on_the_background_loop_itself_is_refused(self) -> None:
        async def call() -> Any:
            return echo().invoke(ASK)

        with pytest.raises(RuntimeError, match="use the asynchronous version"):
            process_loop().run(call())
        assert texts(echo().invoke(ASK))[-1] == "Hello there"

    def test_a_child_process_gets_its_own_loop(self) -> None:
        echo().invoke(ASK)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer versions of Python warn of threads, which this is about
            child = os.fork()
        if not child:
            os._exit(0 if texts(echo().invoke(ASK))[-1] == "Hello there" else 1)
        assert os.waitpid(child, 0)[1] == 0


class Recorder(AgentMiddleware):
    """Every blocking hook, and state of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.threads: set[int] = set()

    def _note(self, what: str) -> None:
        self.seen.append(what)
        self.threads.add(threading.get_ident())

    def before_agent(self, state: Any, runtime: Any) -> None:
        self._note("before_agent")

    def before_model(self, state: Any, runtime: Any) -> None:
        self._note("before_model")

    def after_model(self, state: Any, runtime: Any) -> None:
        self._note("after_model")

    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        self._note("after_agent")
        return {"title": "recorded"}

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        self._note("wrap_model_call")
        return handler(request)

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        self._note("wrap_tool_call")
        result = handler(request)
        return result.model_copy(update={"content": f"<{result.content}>"})


ORDER = ["before_agent", *["before_model", "wrap_model_call", "after_model"] * 2, "after_agent"]


class TestBlockingHooks:
    """`wrap_model_call` and the others, without an asynchronous version."""

    @pytest.mark.parametrize("blocking", [False, True])
    def test_every_hook_takes_part(self, blocking: bool) -> None:
        recorder = Recorder()
        model = scripted(calls("add", a=2, b=3), says("five"))
        graph = create_agent_graph(model, [add], features=PLAIN, extra_middleware=[recorder])
        values = graph.invoke(ASK) if blocking else asyncio.run(graph.ainvoke(ASK))
        assert texts(values) == ["Hello there", "", "<5>", "five"]
        assert values["title"] == "recorded"
        assert [what for what in recorder.seen if what != "wrap_tool_call"] == ORDER
        assert recorder.seen.count("wrap_tool_call") == 1
        assert threading.get_ident() not in recorder.threads

    def test_a_hook_may_call_the_model_again(self) -> None:
        class Again(AgentMiddleware):
            def wrap_model_call(self, request: Any, handler: Any) -> Any:
                try:
                    return handler(request)
                except ModelCallFailed:
                    return handler(request)

        model = scripted(Script(fail="rate_limit"), says("well"))
        extra = [Again(), ModelCalls(model_name="m")]
        graph = create_agent_graph(model, features=PLAIN, extra_middleware=extra)
        assert texts(graph.invoke(ASK))[-1] == "well"

    def test_a_hook_may_answer_itself(self) -> None:
        @wrap_model_call
        def cached(request: Any, handler: Any) -> AIMessage:
            return AIMessage("from the cache")

        assert texts(asyncio.run(echo(extra_middleware=[cached]).ainvoke(ASK)))[-1] == "from the cache"

    def test_a_hook_may_jump(self) -> None:
        @before_model(can_jump_to=["end"])
        def stop(state: Any, runtime: Any) -> dict[str, Any]:
            return {"jump_to": "end", "messages": [AIMessage("no")]}

        class Stop(AgentMiddleware):
            @hook_config(can_jump_to=["end"])
            def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
                return {"jump_to": "end", "messages": [AIMessage("never")]}

        assert texts(asyncio.run(echo(extra_middleware=[stop]).ainvoke(ASK)))[-1] == "no"
        assert texts(asyncio.run(echo(extra_middleware=[Stop()]).ainvoke(ASK)))[-1] == "never"

    def test_an_error_of_a_hook_is_raised(self) -> None:
        @wrap_model_call
        def broken(request: Any, handler: Any) -> Any:
            raise ValueError("broken")

        with pytest.raises(ValueError, match="broken"):
            asyncio.run(echo(extra_middleware=[broken]).ainvoke(ASK))

    def test_more_runs_than_a_thread_pool_has_threads(self) -> None:
        meeting = threading.Barrier(48)

        class Meet(AgentMiddleware):
            def wrap_model_call(self, request: Any, handler: Any) -> Any:
                meeting.wait(30)
                return handler(request)

        async def run_all() -> list[Any]:
            graph = echo(extra_middleware=[Meet()])
            return await asyncio.gather(*(graph.ainvoke(ASK) for _ in range(meeting.parties)))

        assert [texts(values)[-1] for values in asyncio.run(run_all())] == ["Hello there"] * 48

    def test_cancelling_a_run_ends_the_call_inside_the_hook(self) -> None:
        left = threading.Event()

        class Through(AgentMiddleware):
            def wrap_model_call(self, request: Any, handler: Any) -> Any:
                try:
                    return handler(request)
                finally:
                    left.set()

        class Stuck(AgentMiddleware):
            async def awrap_model_call(self, request: Any, handler: Any) -> Any:
                await asyncio.sleep(60)

        async def cancel() -> None:
            graph = echo(extra_middleware=[Through(), Stuck()])
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await graph.ainvoke(ASK)
            assert await asyncio.to_thread(left.wait, 10)

        asyncio.run(cancel())

    def test_a_middleware_with_both_versions_stays_itself(self) -> None:
        class Both(AgentMiddleware):
            def wrap_model_call(self, request: Any, handler: Any) -> Any: ...

            async def awrap_model_call(self, request: Any, handler: Any) -> Any: ...

        class Neither(AgentMiddleware): ...

        for one in (Both(), Neither(), LoopDetectionMiddleware()):
            assert with_async_hooks(one) is one

    def test_a_view_shares_the_attributes(self) -> None:
        recorder = Recorder()
        view = with_async_hooks(recorder)
        view.seen.append("x")
        view.more = 1
        assert (recorder.seen, recorder.more, view.name) == (["x"], 1, "Recorder")
        assert isinstance(view, Recorder)

    @pytest.fixture
    def client(self, tmp_path: Path) -> Iterator[tuple[AgentClient, Recorder]]:
        class Placed(Recorder): ...

        recorder = Prev(LoopDetectionMiddleware)(Placed)()
        config = {"models": [{"name": "m", "use": "roebot_testing.agent:ScriptedChatModel"}]}
        with AgentClient(
            {**config, "title": {"enabled": False}},
            read_file=False,
            home=tmp_path,
            extra_middleware=[recorder],
            environ={},
        ) as client:
            yield client, recorder

    def test_in_the_embedded_client(self, client: tuple[AgentClient, Recorder]) -> None:
        talking, recorder = client
        assert talking.chat("Hello") == "Hello"
        assert asyncio.run(talking.achat("Hello")) == "Hello"
        assert recorder.seen == [*ORDER[:4], ORDER[-1]] * 2

    def test_a_guard_also_watches_tools(self) -> None:
        class Guard(AgentMiddleware):
            def wrap_tool_call(self, request: Any, handler: Any) -> Any:
                return ToolMessage("refused", tool_call_id=request.tool_call["id"], status="error")

        model = scripted(calls("add", a=2, b=3), says("sorry"))
        graph = create_agent_graph(
            model, [add], features=RuntimeFeatures(sandbox=False, guardrail=Guard()), checkpointer=None
        )
        assert texts(graph.invoke(ASK))[-2:] == ["refused", "sorry"]
