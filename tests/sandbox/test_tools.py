"""The tools of the sandbox, through compiled graphs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agent.core.interfaces import SandboxFacts, SandboxProvider
from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.middleware.sandbox import SandboxMiddleware
from agent.sandbox.options import SandboxLimits
from agent.sandbox.running import run
from agent.shared.process import ProgramStart
from agent.shared.run_identity import PRESENTED_FILES
from agent.tools.network_failure import NO_NETWORK, ONLY
from agent.tools.sandbox import sandbox_tools
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from roebot_testing.agent.sandbox import OUTPUT_BYTES, MemorySandboxProvider
from tests.sandbox.sandbox_fixtures import unprotected


class Chat:
    """An agent that calls what it is told to call."""

    def __init__(self, provider: SandboxProvider, *, tools: Any = (), **given: Any) -> None:
        self._middleware = SandboxMiddleware(provider=provider, **given)
        self._tools = list(tools)
        self._saver = InMemorySaver()

    async def calls(self, *uses: ToolUse) -> list[str]:
        """The results of tool calls that are made in one answer, in their order."""
        self.model = ScriptedChatModel(steps=(Script(tools=uses), Script(reply="done")), environ={})
        graph = create_agent_graph(
            self.model,
            self._tools,
            features=RuntimeFeatures(sandbox=self._middleware, loop_detection=False),
            checkpointer=self._saver,
        )
        config: Any = {"configurable": {"thread_id": "t"}}
        self.values = await graph.ainvoke({"messages": [("human", "go")]}, config)
        found = [message for message in self.values["messages"] if isinstance(message, ToolMessage)]
        return [message.text for message in found[-len(uses) :]]

    async def call(self, name: str, **args: object) -> str:
        """The result of one."""
        return (await self.calls(ToolUse(name, args)))[0]


@pytest.fixture
def provider() -> MemorySandboxProvider:
    return MemorySandboxProvider()


@pytest.fixture
def chat(provider: MemorySandboxProvider) -> Chat:
    return Chat(provider)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo hello", "hello"),
        ("echo a; exit 3", "a\n[exit code 3]"),
        ("exit 0", "(no output)"),
        ("no-such-command", "no-such-command: not found\n[exit code 127]"),
    ],
)
async def test_bash(chat: Chat, command: str, told: str) -> None:
    assert await chat.call("bash", command=command) == told


async def test_bash_that_takes_too_long(chat: Chat) -> None:
    told = await chat.call("bash", command="echo begun; sleep 60", timeout_seconds=1)
    assert told.startswith("begun\n[stopped: it took too long")


async def test_writing_reading_and_changing(chat: Chat) -> None:
    assert await chat.call("write_file", path="a/b.txt", content="one\n") == "Wrote a/b.txt (4 characters)."
    told = await chat.call("write_file", path="a/b.txt", content="two\ntwo\n", append=True)
    assert told == "Appended to a/b.txt (8 characters)."
    assert await chat.call("read_file", path="a/b.txt") == "one\ntwo\ntwo\n"
    assert await chat.call("read_file", path="a/b.txt", offset=2, limit=1) == ("two\n\n[lines 2 to 2 of 3]")
    assert await chat.call("read_file", path="a/b.txt", offset=3, limit=99) == ("two\n\n[lines 3 to 3 of 3]")
    told = await chat.call("str_replace", path="a/b.txt", old_str="one", new_str="1")
    assert told == "Replaced 1 occurrence in a/b.txt."
    told = await chat.call("str_replace", path="a/b.txt", old_str="two", new_str="2", replace_all=True)
    assert told == "Replaced 2 occurrences in a/b.txt."
    assert await chat.call("read_file", path="/mnt/user-data/workspace/a/b.txt") == "1\n2\n2\n"


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        ("read_file", {"file_path": "f", "offset": "2", "limit": 1}, "two\n\n[lines 2 to 2 of 3]"),
        ("read_file", {"absolute_path": "f", "start_line": 2, "end_line": "2"}, "two\n\n[lines 2 to 2 of 3]"),
        ("read_file", {"filename": "f", "limit": 2}, "one\ntwo\n\n[lines 1 to 2 of 3]"),
        ("bash", {"cmd": "cat f", "timeout": 5, "description": "Show it"}, "one\ntwo\nthree"),
        ("bash", {"command": ["cat", "f"], "seconds": "5"}, "one\ntwo\nthree"),
        ("bash", {"command": "sleep 9", "timeout": 1}, "[stopped: it took too long"),
        ("bash", {"command": "cat f", "run_in_background": False}, "one\ntwo\nthree"),
        ("write_file", {"file_path": "g", "file_text": "x"}, "Wrote g (1 characters)."),
        ("write_file", {"path": "g", "text": "x"}, "Wrote g (1 characters)."),
        ("str_replace", {"file_path": "f", "old_string": "two", "new_string": "2"}, "Replaced 1 occurrence"),
        ("ls", {"directory": "."}, "f (14 bytes)"),
        (
            "bash",
            {"command": "rm f", "sudo": True, "cwd": "/"},
            'bash has no argument "sudo", "cwd"; it has: command, description, timeout_seconds. The call was '
            "not run.",
        ),
    ],
)
async def test_arguments_by_the_names_of_other_agents_are_understood_or_named(
    chat: Chat, name: str, args: dict[str, Any], told: str
) -> None:
    await chat.call("write_file", path="f", content="one\ntwo\nthree\n")
    assert (await chat.call(name, **args)).startswith(told)
    assert await chat.call("bash", command="cat f") != "", "it is still there"


TAGGED = "<MessageList>\n<message id='1'>one</message>\n<·message>\n</MessageList>\n"
SHOWN = "<MessageList>\n<·message id='1'>one<·/message>\n<··message>\n</MessageList>\n"


async def test_code_with_tags_like_the_services_is_read_and_written_back(
    chat: Chat, provider: MemorySandboxProvider
) -> None:
    async def stored() -> str:
        sandbox = provider.get(await provider.acquire("t"))
        assert sandbox is not None
        return (await sandbox.read_file("f")).decode()

    await chat.call("write_file", path="f", content=SHOWN)
    assert await stored() == TAGGED
    assert await chat.call("read_file", path="f") == SHOWN
    told = await chat.call("str_replace", path="f", old_str="<·message id='1'>one", new_str="<message>two")
    assert told == "Replaced 1 occurrence in f."
    assert await stored() == TAGGED.replace("<message id='1'>one", "<message>two")
    assert await chat.call("bash", command="echo <··message>") == "<··message>", "as any argument"


async def test_changes_of_one_answer_do_not_undo_each_other(chat: Chat) -> None:
    await chat.call("write_file", path="f", content="".join(f"<{n}>" for n in range(8)))
    await chat.calls(
        *(ToolUse("str_replace", {"path": "f", "old_str": f"<{n}>", "new_str": str(n)}) for n in range(8))
    )
    assert await chat.call("read_file", path="f") == "01234567"


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        (
            "read_file",
            {"path": "none"},
            "workspace/none; /mnt/user-data/workspace has: binary, f",
        ),
        ("read_file", {"path": "../x"}, "outside the sandbox"),
        ("read_file", {"path": "f", "offset": 9}, "has lines 1 to 2"),
        ("read_file", {"path": "binary"}, "not a text file"),
        ("str_replace", {"path": "f", "old_str": "z", "new_str": ""}, "does not contain this text"),
        ("str_replace", {"path": "f", "old_str": "x", "new_str": ""}, "2 times"),
        ("str_replace", {"path": "f", "old_str": "", "new_str": "y"}, "old_str is empty"),
        ("ls", {"path": "none/x"}, "workspace/none/x; /mnt/user-data/workspace has: binary, f"),
        ("present_files", {"paths": []}, "paths is empty"),
        (
            "present_files",
            {"paths": ["f"]},
            "workspace/f is not in /mnt/user-data/outputs; copy it there, then",
        ),
        (
            "present_files",
            {"paths": ["/mnt/user-data/workspace/f"]},
            "workspace/f is not in /mnt/user-data/outputs; copy it there, then present the copy.",
        ),
        ("present_files", {"paths": ["/mnt/user-data/outputs-x/f"]}, "not in /mnt/user-data/outputs"),
        ("present_files", {"paths": ["/mnt/user-data/outputs/../workspace/f"]}, "outside"),
        ("present_files", {"paths": ["/mnt/user-data/outputs/none.png"]}, "no such file: "),
        ("present_files", {"paths": ["/mnt/user-data/outputs/folder"]}, "no such file: "),
    ],
)
async def test_what_goes_wrong_is_told(
    chat: Chat, provider: MemorySandboxProvider, name: str, args: dict[str, Any], told: str
) -> None:
    sandbox = provider.get(await provider.acquire("t"))
    assert sandbox is not None
    await sandbox.write_file("f", b"x\nx\n")
    await sandbox.write_file("binary", b"\x89PNG\x00")
    await sandbox.write_file("/mnt/user-data/outputs/folder/f", b"x")
    assert told in await chat.call(name, **args)
    assert "artifacts" not in chat.values or chat.values["artifacts"] == []


async def test_ls_shows_two_levels(chat: Chat, provider: MemorySandboxProvider) -> None:
    sandbox = provider.get(await provider.acquire("t"))
    assert sandbox is not None
    for path in ("b.txt", "a/one.txt", "a/deep/two.txt", ".hidden/x", "a/.git/x"):
        await sandbox.write_file(path, b"12345")
    assert await chat.call("ls") == "a/\n  deep/\n  one.txt (5 bytes)\nb.txt (5 bytes)"
    assert await chat.call("ls", path="a") == "deep/\n  two.txt (5 bytes)\none.txt (5 bytes)"
    assert await chat.call("ls", path="/mnt/user-data/outputs") == "(empty)"
    assert "/mnt/user-data/uploads/" in await chat.call("ls", path="/mnt/user-data")


async def test_ls_of_many_files_is_cut(chat: Chat, provider: MemorySandboxProvider) -> None:
    sandbox = provider.get(await provider.acquire("t"))
    assert sandbox is not None
    for number in range(320):
        await sandbox.write_file(f"f{number:03}", b"")
    told = await chat.call("ls")
    assert told.splitlines()[-1] == "[20 more; list a subfolder to see them]"
    assert len(told.splitlines()) == 301


async def test_presented_files_are_artifacts(chat: Chat, provider: MemorySandboxProvider) -> None:
    sandbox = provider.get(await provider.acquire("t"))
    assert sandbox is not None
    paths = ["/mnt/user-data/outputs/chart.png", "/mnt/user-data/outputs/sub/table.csv"]
    for path in paths:
        await sandbox.write_file(path, b"x")
    assert await chat.call("present_files", paths=paths) == f"Presented: {', '.join(paths)}."
    assert chat.values["artifacts"] == paths
    assert chat.values["messages"][-2].artifact == {PRESENTED_FILES: paths}
    await chat.call("present_files", paths=paths[:1])
    assert chat.values["artifacts"] == paths


@pytest.mark.guard(
    "a file that can't be presented does not refuse the others",
    "agent/tools/sandbox.py",
    '            refused.append(str(error).rstrip("."))',
    "            raise",
    against="truthful results",
)
async def test_presented_files_may_be_named_and_a_bad_one_does_not_refuse_the_others(
    chat: Chat, provider: MemorySandboxProvider
) -> None:
    sandbox = provider.get(await provider.acquire("t"))
    assert sandbox is not None
    for path in ("/mnt/user-data/outputs/chart.png", "/mnt/user-data/outputs/sub/table.csv", "draft.md"):
        await sandbox.write_file(path, b"x")
    names = [
        "chart.png",
        "./outputs/sub/table.csv",
        "sandbox:/mnt/user-data/outputs/chart.png",
        "draft.md",
        "no",
    ]
    told = await chat.call("present_files", paths=names)
    assert told == (
        "Presented: /mnt/user-data/outputs/chart.png, /mnt/user-data/outputs/sub/table.csv. Not presented: "
        "/mnt/user-data/workspace/draft.md is not in /mnt/user-data/outputs; copy it there, then present the "
        "copy; no such file: /mnt/user-data/outputs/no; /mnt/user-data/outputs has: chart.png, sub/."
    )
    assert chat.values["artifacts"] == [
        "/mnt/user-data/outputs/chart.png",
        "/mnt/user-data/outputs/sub/table.csv",
    ]


async def test_a_file_may_be_created_by_an_earlier_call_of_the_answer(chat: Chat) -> None:
    path = "/mnt/user-data/outputs/sub/letter.md"
    told = await chat.calls(
        ToolUse("present_files", {"paths": [path]}),
        ToolUse("write_file", {"path": path, "content": "Dear Ada"}),
        ToolUse("present_files", {"paths": [path]}),
    )
    assert told[0].endswith(
        "no such file or folder: /mnt/user-data/outputs/sub; /mnt/user-data/outputs is empty."
    )
    assert told[1:] == [f"Wrote {path} (8 characters).", f"Presented: {path}."]
    assert chat.values["artifacts"] == [path]


async def test_an_output_that_lost_its_middle_says_so(chat: Chat, provider: MemorySandboxProvider) -> None:
    told = await chat.call("bash", command="seq 100000")
    assert told.endswith("its output in a file: command > output.txt]")
    assert told.startswith("[What was kept of this output (488,895 bytes were not) has 100,205 characters")
    assert "[488,895 bytes in the middle of the output were not kept anywhere." in told
    sandbox = provider.get(await provider.acquire("t"))
    assert sandbox is not None
    assert "All of it is in" not in told
    path = told.partition("That is in ")[2].partition(":")[0]
    kept = (await sandbox.read_file(path)).decode()
    whole = "".join(f"{number}\n" for number in range(1, 100_001))
    [count] = re.findall(r"\[\.\.\. ([\d,]+) bytes of output were not kept \.\.\.\]", kept)
    assert (count, int(count.replace(",", ""))) == ("488,895", len(whole) - OUTPUT_BYTES)
    assert "not kept" not in await chat.call("bash", command="seq 10000")


async def test_thirty_thousand_lines_are_kept(tmp_path: Path) -> None:
    chat = Chat(unprotected(tmp_path))
    told = await chat.call("bash", command="seq -f 'line %.0f with a few more words in it' 30000")
    assert told.startswith("[This output has 1,158,893 characters in 30,000 lines. All of it is in /mnt/")
    path = told.partition("All of it is in ")[2].partition(":")[0]
    assert await chat.call("bash", command=f"grep -c line {path}") == "30000"


@pytest.mark.parametrize(
    ("command", "network", "note"),
    [
        ("echo 'curl: (6) Could not resolve host: a.test'; exit 6", "", NO_NETWORK),
        ("echo 'socket.gaierror: [Errno -3] Temporary failure in name resolution'; exit 1", "", NO_NETWORK),
        (
            "echo 'curl: (6) Could not resolve host: a.test'; exit 6",
            "a.example",
            ONLY.format(hosts="a.example"),
        ),
        ("echo 'curl: (6) Could not resolve host: a.test'; exit 6", None, ""),
        ("echo 'Could not resolve host'; exit 0", "", ""),
        ("echo 'no such thing'; exit 1", "", ""),
    ],
)
async def test_a_command_that_looked_for_a_host_is_told_about_the_network(
    command: str, network: str | None, note: str
) -> None:
    class Described(MemorySandboxProvider):
        facts = SandboxFacts(network=network)

    told = await Chat(Described()).call("bash", command=command)
    assert told.endswith(f"]\n{note}" if note else "]" if "exit 0" not in command else "host'")


@pytest.mark.parametrize(
    "written",
    [b"line\n" * 500, "日本語 and more. ".encode() * 100, "é".encode() * 3_000, b"\xff\xfe" * 900],
    ids=["lines", "one-line", "one-word", "no-text"],
)
async def test_every_byte_is_kept_or_counted(tmp_path: Path, written: bytes) -> None:
    """Characters stay whole where an output is cut."""
    (tmp_path / "output").write_bytes(written)
    for limit in range(1_000, 1_008):
        result = await run(
            ProgramStart(["/bin/cat", str(tmp_path / "output")], {}), SandboxLimits(output_bytes=limit)
        )
        begin, count, end = re.split(
            r"\n\[\.\.\. ([\d,]+) bytes of output were not kept \.\.\.\]\n", result.output
        )
        expected = written.decode(errors="replace")
        assert expected.startswith(begin)
        assert expected.endswith(end)
        if "\ufffd" not in expected:
            assert len(begin.encode()) + len(end.encode()) + int(count.replace(",", "")) == len(written)


async def test_a_long_file_is_read_in_parts(chat: Chat, provider: MemorySandboxProvider) -> None:
    sandbox = provider.get(await provider.acquire("t"))
    assert sandbox is not None
    await sandbox.write_file("long", "".join(f"line {n}\n" for n in range(1, 5001)).encode())
    told = await chat.call("read_file", path="long")
    note = told.splitlines()[-1]
    assert note.startswith("[lines 1 to ")
    following = int(note.rstrip("]").rpartition("=")[2])
    again = await chat.call("read_file", path="long", offset=following)
    assert again.startswith(f"line {following}\n")


async def test_a_long_output_becomes_a_file(provider: MemorySandboxProvider) -> None:
    """Of the sandbox's own tools, and of any other."""

    @tool
    def elsewhere() -> str:
        """Say much."""
        return "word " * 5_000

    chat = Chat(provider, tools=[elsewhere])
    for use in (ToolUse("bash", {"command": "seq 6000"}), ToolUse("elsewhere")):
        told = (await chat.calls(use))[0]
        assert len(told) < 9_500
        path = told.partition("All of it is in ")[2].partition(":")[0]
        sandbox = provider.get(await provider.acquire("t"))
        assert sandbox is not None
        kept = (await sandbox.read_file(path)).decode()
        assert kept.startswith(told.partition("begins:]\n")[2][:6_000])
        assert kept.endswith(told[-3_000:])


async def test_an_output_that_cannot_be_kept_is_still_cut(tmp_path: Path) -> None:
    chat = Chat(unprotected(tmp_path, limits=SandboxLimits(disk_mb=1, free_mb=0)))
    told = await chat.call("bash", command="head -c 1500000 /dev/zero > full; seq 6000")
    assert "could not be stored (Either the thread's folders (1 MB) or the disk is full" in told
    assert len(told) < 9_500


def test_groups_say_which_tools_there_are() -> None:
    everything = {tool.name for tool in sandbox_tools()}
    assert everything == {"bash", "ls", "read_file", "write_file", "str_replace", "present_files"}
    assert {tool.name for tool in sandbox_tools(["file:read"])} == {"ls", "read_file"}
    assert {tool.name for tool in sandbox_tools(["web"])} == set()
    assert {tool.name for tool in sandbox_tools(["bash"], without=["bash"])} == set()


async def test_the_model_hears_of_its_files(chat: Chat) -> None:
    await chat.call("bash", command="echo x")
    offered = chat.model.calls[0]
    assert {"bash", "ls", "read_file", "write_file", "str_replace", "present_files"} <= set(offered.tools)
    assert "/mnt/user-data/workspace" in offered.texts[0]


async def test_without_a_sandbox_the_tools_say_so() -> None:
    model = ScriptedChatModel(
        steps=(Script(tools=(ToolUse("bash", {"command": "ls"}),)), Script(reply="done")), environ={}
    )
    graph = create_agent_graph(model, sandbox_tools(), features=RuntimeFeatures(sandbox=False))
    values = await graph.ainvoke({"messages": [("human", "go")]})
    assert "This agent has no sandbox" in values["messages"][2].text
