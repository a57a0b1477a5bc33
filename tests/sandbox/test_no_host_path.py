"""No result of a tool contains a path of the host, and paths of the sandbox stay whole."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool

from agent.middleware.sandbox import SandboxMiddleware
from agent.middleware.thread_files import ThreadDataMiddleware
from agent.middleware.tool_calls import ToolErrorHandlingMiddleware
from agent.middleware.tool_results import ToolResultMiddleware
from agent.uploads.folders import ThreadFolders
from agent.uploads.store import UploadStore
from roebot_testing.agent import Script, ToolUse
from tests.harness.agents import chain, say, says, scripted
from tests.sandbox.sandbox_fixtures import unprotected

HOME = "o'brien (data), 2026"
WORK, OUT = "/mnt/user-data/workspace", "/mnt/user-data/outputs"
NAMES = (
    "",
    "a.txt",
    "folder",
    "a.txt/below",
    "missing/below",
    "link",
    "loop",
    "pipe",
    "x" * 300,
    "deep/" * 400,
    "back\\slash",
    "nul\x00",
    "new\nline",
    "sur\udc80rogate",
    "..",
    "../../../config.yaml",
    'it\'s (a) "name", 2026',
    "报告 2026",
)
ROOTS = ("", WORK, f"/{OUT}", "/mnt/user-data", "/etc")


class Files:
    """A thread with files that are hard to open, in a folder whose name is hard to recognize."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.home = folder / ".roebot"
        self.thread = self.home / "threads/t-1/user-data"
        for area in ("workspace", "uploads", "outputs"):
            (self.thread / area / "folder").mkdir(parents=True)
            (self.thread / area / "a.txt").write_text("one")
            (self.thread / area / "link").symlink_to(self.home)
            (self.thread / area / "loop").symlink_to("loop")
            os.mkfifo(self.thread / area / "pipe")

    def found_in(self, text: str) -> bool:
        """Return whether a text tells where the data is."""
        return any(part in text for part in (str(self.home.parent.parent), self.name, "o'brien", "/t-1"))

    async def call(self, *uses: ToolUse, tools: tuple[BaseTool, ...] = ()) -> list[str]:
        """Return the results of calls that are made in one answer."""
        made = (
            ThreadDataMiddleware(store=UploadStore(ThreadFolders(self.home))),
            SandboxMiddleware(provider=unprotected(self.home)),
            ToolErrorHandlingMiddleware(),
            ToolResultMiddleware(),
        )
        values = await say(chain(scripted(Script(tools=uses), says("done")), *made, tools=tools), "go")
        return [message.text for message in values["messages"] if isinstance(message, ToolMessage)]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / HOME)


@pytest.fixture
def plain_files(tmp_path: Path) -> Files:
    # Without isolation, commands have to name the folder of the host, and shells read its name.
    return Files(tmp_path / "data-of-the-bot")


async def test_no_tool_tells_where_the_data_is(files: Files) -> None:
    paths = [f"{root}/{name}" if root else name for root in ROOTS for name in NAMES]
    uses = [
        use
        for path in paths
        for use in (
            ToolUse("ls", {"path": path}),
            ToolUse("read_file", {"path": path}),
            ToolUse("str_replace", {"path": path, "old_str": "two", "new_str": "three"}),
            ToolUse("write_file", {"path": path, "content": ""}),
            ToolUse("present_files", {"paths": [path]}),
        )
    ]
    results = await files.call(*[replace(use, id=f"call-{at}") for at, use in enumerate(uses)])
    assert len(results) == len(uses)
    told = [(use, text) for use, text in zip(uses, results, strict=True) if files.found_in(text)]
    assert told == []


@pytest.mark.parametrize(
    "command",
    [
        "pwd; cat missing; cat folder; ls -d $PWD ../uploads",
        "python3 -c 'open(\"/mnt/user-data/uploads/none\")'",
        'cd link 2>&1; readlink -f a.txt; echo "$PWD" "\'$PWD/a b\'"; env',
    ],
)
async def test_no_command_tells_where_the_data_is(plain_files: Files, command: str) -> None:
    [text] = await plain_files.call(ToolUse("bash", {"command": command}))
    assert WORK in text or "/mnt/user-data/uploads/none" in text
    assert not plain_files.found_in(text)


@pytest.mark.guard(
    "errors of tools show the paths of the sandbox",
    "agent/middleware/tool_calls.py",
    "text = mask_folders(str(error), folders) if folders else str(error)",
    "text = str(error)",
    against="host paths",
)
@pytest.mark.guard(
    "errors of tools show no other folders",
    "agent/middleware/tool_calls.py",
    "redact_line(hide_host_folders(text), most=ERROR_CHARACTERS)",
    "redact_line(text, most=ERROR_CHARACTERS)",
    against="host paths",
)
@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("no {workspace}/a.txt", f"no {WORK}/a.txt"),
        ("can't move '{workspace}/my file, 2026.txt'", f"can't move '{WORK}/my file, 2026.txt'"),
        ("{home}/config.yaml is not for you", "[…]/config.yaml is not for you"),
        ("of {thread}/meta.json", "of …/meta.json"),
        ("copy /srv/some place/a {workspace}/b", f"copy …/a {WORK}/b"),
    ],
)
async def test_the_error_of_any_tool_has_the_paths_of_the_sandbox(
    files: Files, message: str, told: str
) -> None:
    workspace, thread = files.thread / "workspace", files.thread.parent
    text = message.format(workspace=workspace, thread=thread, home=files.home)

    @tool
    async def broken() -> str:
        """Fail."""
        raise OSError(text)

    [found] = await files.call(ToolUse("broken", {}), tools=(broken,))
    assert found == f"The tool broken failed: {told}"
