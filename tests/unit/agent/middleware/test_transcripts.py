"""What a summary replaces is stored word for word, in files that it names."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from agent.core.interfaces import SandboxError
from agent.middleware.transcripts import Transcripts, list_entries
from agent.uploads.transcripts import Entry
from roebot_testing.agent.sandbox import MemorySandbox, MemorySandboxProvider
from tests.harness.agents import chain, say, says, scripted, texts
from tests.unit.agent.middleware.test_summarization import _call, _result, summarizing, talk


class Full(MemorySandboxProvider):
    """A provider whose sandboxes are full."""

    def get(self, sandbox_id: str) -> MemorySandbox | None:
        sandbox = super().get(sandbox_id)
        if sandbox is not None:
            sandbox.released = True
        return sandbox


async def transcript(provider: MemorySandboxProvider, number: int) -> str:
    sandbox = provider.get(await provider.acquire("t-1"))
    assert sandbox is not None
    found = await sandbox.read_file(f"/mnt/user-data/workspace/.transcripts/{number:03}.txt")
    await provider.release("memory-t-1")
    return found.decode()


NAMED = (
    "<transcript>\nThe removed messages, word for word: /mnt/user-data/workspace/.transcripts/{files}. "
    "Search there for what the summary leaves out.\n</transcript>"
)


@pytest.mark.guard(
    "what goes is kept in a file that the summary names",
    "agent/middleware/summary_message.py",
    "_render_transcripts(transcripts or StoredTranscripts()),",
    '"",',
    against="lost words",
)
async def test_what_goes_is_kept_in_a_file_that_the_summary_names() -> None:
    provider = MemorySandboxProvider()
    graph = chain(scripted(says("ok")), summarizing(transcripts=Transcripts(provider)))
    values = await talk(graph, 4)
    assert texts(values)[0].endswith(NAMED.format(files="001.txt"))
    first = await transcript(provider, 1)
    assert [f"fact {number}" in first for number in range(4)] == [True, True, True, False]
    values = await talk(graph, 3)
    assert texts(values)[0].endswith(NAMED.format(files="002.txt (before it: 001.txt to 001.txt)"))
    second = await transcript(provider, 2)
    assert "SUMMARY" not in second, "only what people and the agent wrote"
    assert await transcript(provider, 1) == first
    assert provider.held == [], "no sandbox stays acquired"


async def test_a_cut_that_is_repeated_writes_the_same_file() -> None:
    """As after a crash between the file and the checkpoint."""
    provider = MemorySandboxProvider()
    model = scripted(*[says("ok")] * 3, says("", fail="overloaded"), says("ok"))
    graph = chain(model, summarizing(transcripts=Transcripts(provider)))
    await talk(graph, 3)
    with pytest.raises(Exception, match="overloaded"):
        await say(graph, "fact 3")
    values = await say(graph, "fact 4")
    assert texts(values)[0].endswith(NAMED.format(files="001.txt"))
    assert (await transcript(provider, 1)).count("fact 0") == 1
    with pytest.raises(SandboxError):
        await transcript(provider, 2)


async def test_a_transcript_that_cannot_be_written_is_not_named() -> None:
    values = await talk(chain(scripted(says("ok")), summarizing(transcripts=Transcripts(Full()))), 4)
    assert texts(values)[0].endswith("SUMMARY\n</summary>")


class Failing(MemorySandboxProvider):
    """A provider of another author, which fails with errors of its own while `error` is set."""

    error: Exception | None = None

    async def acquire(self, thread_id: str) -> str:
        if self.error is not None:
            raise self.error
        return await super().acquire(thread_id)


async def test_a_summary_says_what_no_transcript_holds() -> None:
    provider = Failing()
    graph = chain(scripted(says("ok")), summarizing(transcripts=Transcripts(provider)))
    await talk(graph, 4)
    provider.error = RuntimeError("down")
    values = await talk(graph, 3)
    first = NAMED.format(files="001.txt")
    assert texts(values)[0].endswith(
        first.replace("Search", "Those that were removed last could not be stored. Search")
    ), "the summary is kept, and names no file for what it replaced"
    provider.error = None
    values = await talk(graph, 3)
    later = NAMED.format(files="003.txt (before it: 001.txt to 002.txt)")
    assert texts(values)[0].endswith(later.replace("Search", "Some of them could not be stored. Search"))


def test_a_transcript_tells_who_wrote_what() -> None:
    call = AIMessage("", id="a1", tool_calls=[_call("a")])
    summary = HumanMessage("SUMMARY", id="s", additional_kwargs={"lc_source": "summarization"})
    note = HumanMessage("NOTE", id="n", additional_kwargs={"lc_source": "note"})
    said = [HumanMessage("says h1", id="h1", additional_kwargs={"sender": "x:1"}), summary, call]
    said += [_result("a").model_copy(update={"id": "t1", "name": "look"}), note]
    said += [HumanMessage("says h2", id="h2", additional_kwargs={"sender": "x:2"})]
    said += [HumanMessage("says h3", id="h3")]
    assert list_entries(said, said[1:]) == [
        Entry("assistant", '(called look with {"at": "x"})'),
        Entry("tool", "saw it", name="look"),
        Entry("service", "NOTE"),
        Entry("person", "says h2", "x:2"),
        Entry("person", "says h3"),
    ]
