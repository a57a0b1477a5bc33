"""server-everything and server-filesystem from npm: every tool once, from the embedded client.

Over stdio and streamable HTTP, with providers as strict as the real ones; the thread answers afterwards.
`make test-all` installs the servers (`npm/package-lock.json`) in the environment.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.harness.free_ports import free_port
from tests.harness.mcp_bridge import listener, over
from tests.harness.mcp_contents import png, wav
from tests.harness.mcp_talk import Use, talking

# Their bridge warns about things of its own.
pytestmark = [
    pytest.mark.npm,
    pytest.mark.may_block,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
PROGRAMS = Path(sys.prefix, "mcp-servers", "node_modules", ".bin")
WAYS = [(provider, transport) for provider in ("anthropic", "openai") for transport in ("stdio", "http")]
IMAGE = r"\[image/png, [\d,]+ bytes, stored in \S+\.png; you see it in your next step\]"
FORM = ("Anna", "Yes", "Skip", "anna@example.com", "Skip", "1990-02-03", "7", "Skip")
"""The first answers to the form of server-everything; the rest is skipped."""
EVERYTHING: Sequence[Sequence[Use]] = [
    [
        Use("echo", {"message": "cheese"}, "^Echo: cheese$"),
        Use("get-sum", {"a": 2, "b": 3}, r"The sum of 2 and 3 is 5\."),
        Use("get-env", {}, "PATH"),
        Use("get-tiny-image", {}, IMAGE),
        Use("get-structured-content", {"location": "Chicago"}, r'^\{"temperature":36'),
        Use(
            "get-annotated-message",
            {"messageType": "error", "includeImage": True},
            f"Operation failed.{IMAGE}",
        ),
    ],
    [
        Use(
            "get-resource-links",
            {"count": 3},
            r"\[Link to a resource: Blob Resource 1 demo://\S+ \(text/plain\)",
        ),
        Use("get-resource-reference", {"resourceType": "Blob", "resourceId": 1}, r"stored in /mnt\S+"),
        Use(
            "gzip-file-as-resource",
            {"data": "data:text/plain,cheese", "outputType": "resource"},
            r"\[application/gzip,",
        ),
        Use("toggle-simulated-logging", {}, "logging"),
        Use("toggle-subscriber-updates", {}, "updates"),
        Use("trigger-long-running-operation", {"duration": 0.4, "steps": 4}, "completed"),
    ],
    [Use("trigger-elicitation-request", {}, "Favorite Integer: 7.*accept", (*FORM, *["Skip"] * 5))],
    [
        Use(
            "trigger-url-elicitation",
            {"url": "https://example.com/x", "message": "Open this", "elicitationId": "e1"},
            "completed the URL elicitation",
            ("Done",),
        )
    ],
    [
        Use(
            "simulate-research-query",
            {"topic": "python", "ambiguous": True},
            "Report: python .snake.",
            ("Python snake species",),
        )
    ],
    [
        Use("list_resources", {}, "demo://resource"),
        Use("read_resource", {"uri": "demo://resource/dynamic/text/2"}, "Resource 2"),
        Use("get_prompt", {"name": "args-prompt", "arguments": {"city": "Oslo"}}, "Oslo"),
    ],
]


def filesystem(folder: Path) -> Sequence[Sequence[Use]]:
    """Every tool of server-filesystem, in an order that works."""
    (folder / "dot.png").write_bytes(png(12, 12))
    (folder / "beep.wav").write_bytes(wav())
    (folder / "long.txt").write_text("line\n" * 20_000)
    note, moved = str(folder / "note.txt"), str(folder / "new" / "moved.txt")
    return [
        [
            Use("list_allowed_directories", {}, str(folder)),
            Use("create_directory", {"path": str(folder / "new")}, "Successfully"),
            Use("write_file", {"path": note, "content": "cheese\nbread\n"}, "Successfully wrote"),
        ],
        [Use("edit_file", {"path": note, "edits": [{"oldText": "bread", "newText": "wine"}]}, r"\+wine")],
        [
            Use("read_file", {"path": note}, "^cheese\nwine"),
            Use("read_text_file", {"path": str(folder / "long.txt")}, r"100,000 characters.*omitted here"),
            Use("read_media_file", {"path": str(folder / "dot.png")}, f"^{IMAGE}$"),
            Use("read_multiple_files", {"paths": [note, str(folder / "none")]}, "cheese.*Error"),
            Use("list_directory", {"path": str(folder)}, r"\[DIR\] new"),
            Use("list_directory_with_sizes", {"path": str(folder)}, "Total"),
            Use("directory_tree", {"path": str(folder)}, '"directory"'),
        ],
        [
            Use("search_files", {"path": str(folder), "pattern": "*.wav"}, r"beep\.wav"),
            Use("get_file_info", {"path": note}, "size: 12"),
        ],
        [Use("move_file", {"source": note, "destination": moved}, "Successfully moved")],
    ]


@asynccontextmanager
async def everything(transport: str) -> AsyncIterator[dict[str, Any]]:
    """The entry of server-everything, which speaks both transports itself."""
    program = str(PROGRAMS / "mcp-server-everything")
    if transport == "stdio":
        yield {"command": "node", "args": [program, "stdio"]}
        return
    port = free_port()
    async with listener("node", program, "streamableHttp", port=port, env={"PORT": str(port)}):
        yield {"type": "streamable-http", "url": f"http://127.0.0.1:{port}/mcp"}


@pytest.mark.parametrize(("provider", "transport"), WAYS)
async def test_everything(tmp_path: Path, provider: str, transport: str) -> None:
    """What it offers only to clients with sampling and roots is not offered."""
    async with everything(transport) as entry, talking(provider, "all", entry, tmp_path) as talk:
        tools = await talk.find_tools()
        for uses in EVERYTHING:
            await talk.use(*uses)
        assert talk.used == tools
        assert not {"trigger-sampling-request", "get-roots-list"} & tools
        assert await talk.answers()


@pytest.mark.parametrize(("provider", "transport"), WAYS)
async def test_filesystem(tmp_path: Path, provider: str, transport: str) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    program = {"command": "node", "args": [str(PROGRAMS / "mcp-server-filesystem"), str(folder)]}
    steps = filesystem(folder)
    async with (
        over(program, transport) as entry,
        talking(provider, "files", entry, tmp_path / "home") as talk,
    ):
        tools = await talk.find_tools()
        for uses in steps:
            await talk.use(*uses)
        assert talk.used == tools
        await talk.use(
            Use("read_media_file", {"path": str(folder / "beep.wav")}, r"^\[audio/wav, 244 bytes, stored in"),
            Use("read_text_file", {"path": "/etc/passwd"}, "Access denied", failed=True),
        )
        assert await talk.answers()


async def test_everything_after_a_restart(tmp_path: Path) -> None:
    """Its new process answers requests of the old session with status 400; the call is made in a new one."""
    port = free_port()
    start = ("node", str(PROGRAMS / "mcp-server-everything"), "streamableHttp")
    entry = {"url": f"http://127.0.0.1:{port}/mcp"}
    async with talking("openai", "all", entry, tmp_path) as talk:
        async with listener(*start, port=port, env={"PORT": str(port)}):
            await talk.find_tools()
            await talk.use(Use("echo", {"message": "one"}, "^Echo: one$"))
        async with listener(*start, port=port, env={"PORT": str(port)}):
            await talk.use(Use("echo", {"message": "two"}, "^Echo: two$"))
            assert await talk.answers()
