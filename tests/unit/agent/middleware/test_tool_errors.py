"""A failing tool is told to the model; a call that may have had an effect runs once."""

import asyncio
from typing import Any

import pytest
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.tools import tool
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from agent.middleware.tool_calls import NAMESPACE, MemoryJournal, ToolErrorHandlingMiddleware
from tests.harness.agents import THREAD, calls, chain, say, says, scripted, texts


class Works:
    """A tool that fails or hangs as told, and counts."""

    def __init__(self, *errors: BaseException, idempotent: bool = False) -> None:
        self.errors = list(errors)
        self.runs = 0
        self.begun = asyncio.Event()
        self.hangs = False

        @tool
        async def work(what: str = "it") -> str:
            """Work."""
            self.runs += 1
            self.begun.set()
            if self.hangs:
                await asyncio.Event().wait()
            if self.errors:
                raise self.errors.pop(0)
            return f"did {what}"

        work.metadata = {"idempotent": True} if idempotent else None
        self.tool = work


async def test_an_exception_becomes_an_error_without_the_name_of_its_class() -> None:
    works = Works(ValueError("no such city"))
    model = scripted(calls("work", "c1"), says("sorry"))
    values = await say(chain(model, ToolErrorHandlingMiddleware(), tools=[works.tool]), "go")
    failed = values["messages"][2]
    assert (failed.status, failed.tool_call_id) == ("error", "c1")
    assert failed.text == "The tool work failed: no such city"
    assert texts(values)[-1] == "sorry"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("key sk-abcdefgh refused", "key … refused"),
        ("[Errno 2] No such file or directory: '/a/b/a.txt'", "'…/a.txt'"),
        ("no /mnt/user-data/workspace/a.txt here", "/mnt/user-data/workspace/a.txt"),
        (
            "no /mnt/user-data/outputs/quarterly-report-2026.png",
            "no /mnt/user-data/outputs/quarterly-report-2026.png",
        ),
        (
            "no '/mnt/user-data/uploads/My report/quarterly_report_2026_final.pdf'",
            "'/mnt/user-data/uploads/My report/quarterly_report_2026_final.pdf'",
        ),
        ("(/mnt/skills/public/pdf-forms-2026/SKILL.md)", "(/mnt/skills/public/pdf-forms-2026/SKILL.md)"),
        ("a2" * 20 + " of /mnt/acp-workspace/2026/results.csv", "… of /mnt/acp-workspace/2026/results.csv"),
        ("word " * 60 + "/mnt/user-data/outputs/2026.txt", "word /mnt/user-data/outputs/2026.txt"),
        ("/srv/mnt/user-data/uploads/2026/report.txt", "…/report.txt"),
        ("'/tmp' is not below '/mnt/user-data/workspace'", "'/tmp' is not below '/mnt/user-data/workspace'"),
        ("'/tmp' is not below '/srv/somebody/a'", "'/tmp' is not below '…/a'"),
        ("see https://example.org/a/b", "https://example.org/a/b"),
        ("", "The tool work failed: os error"),
        ("two\nlines", "two lines"),
    ],
)
async def test_the_message_has_no_secret_and_no_host_path(message: str, told: str) -> None:
    works = Works(OSError(message))
    values = await say(
        chain(scripted(calls("work"), says("ok")), ToolErrorHandlingMiddleware(), tools=[works.tool]), "go"
    )
    text = values["messages"][2].text
    assert told in text
    assert "somebody" not in text
    assert "abcdefgh" not in text


@pytest.mark.parametrize("retry", [2, ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)])
async def test_a_call_is_repeated_as_often_as_wanted(retry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langchain.agents.middleware.tool_retry.calculate_delay", lambda *_, **__: 0.0)
    works = Works(ValueError("once"), ValueError("twice"))
    graph = chain(
        scripted(calls("work"), says("ok")), ToolErrorHandlingMiddleware(retry=retry), tools=[works.tool]
    )
    assert texts(await say(graph, "go"))[2] == "did it"
    assert works.runs == 3


async def test_what_stays_broken_after_all_tries_is_told_in_the_same_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("langchain.agents.middleware.tool_retry.calculate_delay", lambda *_, **__: 0.0)
    works = Works(ValueError("once"), ValueError("twice"))
    graph = chain(
        scripted(calls("work"), says("ok")), ToolErrorHandlingMiddleware(retry=1), tools=[works.tool]
    )
    assert texts(await say(graph, "go"))[2] == "The tool work failed: value error: twice"


async def test_a_question_of_a_tool_passes_and_its_answer_comes_back() -> None:
    asked = 0

    @tool
    async def careful() -> str:
        """Ask first."""
        nonlocal asked
        asked += 1
        return f"they said {interrupt('really?')}"

    store = InMemoryStore()
    graph = chain(
        scripted(calls("careful"), says("ok")), ToolErrorHandlingMiddleware(), tools=[careful], store=store
    )
    values = await say(graph, "go")
    assert values["__interrupt__"][0].value == "really?"
    values = await graph.ainvoke(Command(resume="yes"), THREAD)
    assert texts(values)[2] == "they said yes"
    assert asked == 2


async def stopped_while_running(graph: Any, works: Works) -> None:
    """A run that ends while its tool is at work, as at a crash."""
    works.hangs = True
    run = asyncio.create_task(say(graph, "go"))
    await works.begun.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    works.hangs = False


@pytest.mark.parametrize("with_store", [True, False])
async def test_a_call_that_was_running_is_not_run_again(with_store: bool) -> None:
    works = Works()
    store = InMemoryStore() if with_store else None
    graph = chain(
        scripted(calls("work", "c1"), says("I'll look")),
        ToolErrorHandlingMiddleware(),
        tools=[works.tool],
        store=store,
    )
    await stopped_while_running(graph, works)
    values = await graph.ainvoke(None, THREAD)
    assert works.runs == 1
    told = values["messages"][2]
    assert told.status == "error"
    assert "interrupted (outcome unknown)" in told.text
    assert texts(values)[-1] == "I'll look"
    if store is not None:
        assert await store.asearch((NAMESPACE,)) == [], "nothing is left once a model has seen the result"


async def test_another_process_knows_by_the_store() -> None:
    works, store = Works(), InMemoryStore()
    model = scripted(calls("work"), says("ok"))
    first = chain(model, ToolErrorHandlingMiddleware(), tools=[works.tool], store=store)
    await stopped_while_running(first, works)
    second = chain(
        model, ToolErrorHandlingMiddleware(), tools=[works.tool], store=store, checkpointer=first.checkpointer
    )
    assert "outcome unknown" in texts(await second.ainvoke(None, THREAD))[2]
    assert works.runs == 1


async def test_an_idempotent_one_runs_again() -> None:
    works = Works(idempotent=True)
    graph = chain(
        scripted(calls("work"), says("ok")),
        ToolErrorHandlingMiddleware(),
        tools=[works.tool],
        store=InMemoryStore(),
    )
    await stopped_while_running(graph, works)
    assert texts(await graph.ainvoke(None, THREAD))[2] == "did it"
    assert works.runs == 2


async def test_the_same_id_in_a_later_answer_is_another_call() -> None:
    works = Works()
    model = scripted(calls("work", "call_0"), calls("work", "call_0"), says("ok"))
    graph = chain(model, ToolErrorHandlingMiddleware(journal=MemoryJournal()), tools=[works.tool])
    assert texts(await say(graph, "go"))[2::2] == ["did it", "did it"]


async def test_a_call_of_no_known_tool_is_told_as_langgraph_tells_it() -> None:
    works = Works()
    graph = chain(scripted(calls("unknown"), says("ok")), ToolErrorHandlingMiddleware(), tools=[works.tool])
    assert "not a valid tool" in texts(await say(graph, "go"))[2]


async def test_the_journal_of_a_process_is_bounded() -> None:
    journal = MemoryJournal(max_entries=2)
    for call in ("a", "b", "c"):
        assert not await journal.begin("t", call)
    assert await journal.begin("t", "c")
    assert not await journal.begin("t", "a"), "the oldest went"
    await journal.finish("t", "c")
    assert not await journal.begin("t", "c")
