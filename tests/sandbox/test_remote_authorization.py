"""The service may be a stranger's, and what comes to it as well: nothing leads out of a thread's folders."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.core.interfaces import SandboxError
from agent.sandbox import remote_station
from agent.sandbox.file_transfer import FileEntry, FileTree
from roebot_testing.agent.conformance.attacks import LIMITS
from tests.sandbox.provisioning import (
    TOKEN,
    bubblewrapped,
    listening,
    remote,
    serving,
)
from tests.sandbox.sandbox_fixtures import one

pytestmark = pytest.mark.bubblewrap
WORKSPACE = "/mnt/user-data/workspace"


@pytest_asyncio.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    async with serving(bubblewrapped(tmp_path / "service", LIMITS)) as (address, _):
        yield address


def area(home: Path, name: str = "workspace", thread_id: str = "thread-1") -> Path:
    return home / "threads" / thread_id / "user-data" / name


class Stranger:
    """A service that says what a test wants it to. `tree` is what it says after a command."""

    def __init__(self, tree: object = None, *, files: bytes = b"", result: object = None) -> None:
        self._tree, self._files = tree, files
        self._result = result or {"output": "", "exit_code": 0, "truncated": False, "stopped": None}
        self._ran = False

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        one = "/v1/sandboxes/{name}"
        routes = [
            Route(one, self._good, methods=["PUT"]),
            Route(f"{one}/tree", self._told),
            Route(f"{one}/push", self._pushed, methods=["POST"]),
            Route(f"{one}/pull", self._pulled, methods=["POST"]),
            Route(f"{one}/commands", self._run, methods=["POST"]),
        ]
        async with listening(Starlette(routes=routes)) as url:
            yield url

    async def _good(self, _: Request) -> Response:
        return JSONResponse({})

    async def _told(self, _: Request) -> Response:
        nothing = FileTree({}).as_json()
        return Response(json.dumps(self._tree if self._ran and self._tree is not None else nothing))

    async def _pushed(self, request: Request) -> Response:
        await request.body()
        return JSONResponse({"refused": []})

    async def _pulled(self, _: Request) -> Response:
        return Response(self._files)

    async def _run(self, _: Request) -> Response:
        self._ran = True
        body = self._result if isinstance(self._result, bytes) else json.dumps(self._result).encode() + b"\n"
        return Response(body)


SHORT = FileEntry(f"{WORKSPACE}/a", "file", 2)


def tree(*entries: FileEntry, cut: bool = False) -> Any:
    return FileTree({entry.path: entry for entry in entries}, cut).as_json()


@pytest.mark.parametrize(
    "path",
    [
        f"{WORKSPACE}/../../../../escaped",
        "/etc/escaped",
        "/mnt/acp-workspace/escaped",
        f"{WORKSPACE}/way/escaped",
        f"{WORKSPACE}/a\\escaped",
        f"{WORKSPACE}//..//escaped",
        f"{WORKSPACE}/",
        f"{WORKSPACE}/a\x00escaped",
        f"{WORKSPACE}/a\ud800escaped",
    ],
)
async def test_no_path_of_a_hostile_service_leads_outside(tmp_path: Path, path: str) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    entry = FileEntry(path, "file", 4, 5)
    folder = FileEntry(f"{path}-folder", "folder")
    # Cut: what it does not name is not gone.
    async with Stranger(tree(entry, folder, cut=True), files=entry.head() + b"evil").serving() as url:
        sandbox = await one(remote(home, url))
        await sandbox.write_file("a.txt", b"x")
        await asyncio.to_thread(outside.mkdir)
        await asyncio.to_thread((area(home) / "way").symlink_to, outside)
        assert (await sandbox.execute_command("true")).exit_code == 0
        assert await sandbox.read_file("a.txt") == b"x"
    assert await asyncio.to_thread(lambda: list(tmp_path.rglob("*escaped*"))) == []
    assert await asyncio.to_thread(lambda: list(outside.iterdir())) == []


@pytest.mark.guard(
    "remote: only requested files are accepted",
    "agent/sandbox/remote.py",
    "if expected is None or entry.kind != expected.kind or entry.size > expected.size:",
    "if False:",
    against="paths",
)
async def test_only_requested_files_are_stored(tmp_path: Path) -> None:
    """Neither another file, nor one that is larger or of another kind than it was said to be."""
    asked = [FileEntry(f"{WORKSPACE}/{name}", "file", 2, 5) for name in ("good", "larger", "link")]
    stream = FileEntry(f"{WORKSPACE}/other", "file", 1).head() + b"x"
    stream += FileEntry(f"{WORKSPACE}/larger", "file", 3).head() + b"xxx"
    stream += FileEntry(f"{WORKSPACE}/link", "link", 1).head() + b"/"
    stream += FileEntry(f"{WORKSPACE}/good", "gone").head()
    stream += asked[0].head() + b"ok" + asked[0].head() + b"no"
    async with Stranger(tree(*asked), files=stream).serving() as url:
        sandbox = await one(remote(tmp_path, url))
        result = await sandbox.execute_command("true")
    assert "2 files were not stored" in result.output
    assert [entry.name for entry in await sandbox.list_dir(".")] == ["good"]
    assert await sandbox.read_file("good") == b"ok"


@pytest.mark.parametrize(
    "stranger",
    [
        Stranger({"entries": 1}),
        Stranger({"entries": [["/x", "disk", 0, 0, False]], "cut": False}),
        Stranger(tree(SHORT), files=SHORT.head() + b"x"),
        Stranger(tree(SHORT), files=b"x" * 100_000),
    ],
    ids=["shape", "kind", "short", "no-stream"],
)
async def test_missing_files_are_reported(tmp_path: Path, stranger: Stranger) -> None:
    """The command's result is told as well."""
    async with stranger.serving() as url:
        result = await (await one(remote(tmp_path, url))).execute_command("true")
    assert result.exit_code == 0
    assert "could not be copied back" in result.output


@pytest.mark.parametrize(
    "said",
    [
        b"no json\n",
        b"\n",
        b"[]\n",
        b'{"output": 1}\n',
        b'{"output": "x", "exit_code": "0", "truncated": false, "stopped": null}\n',
        b"[" * 100_000 + b"\n",
        b"",
        b'{"running": true}\n' * 3,
    ],
)
async def test_an_invalid_result_is_reported(tmp_path: Path, said: bytes) -> None:
    async with Stranger(result=said or b" ").serving() as url:
        with pytest.raises(SandboxError):
            await (await one(remote(tmp_path, url))).execute_command("true")


@pytest.mark.guard(
    "remote: line length is limited",
    "agent/sandbox/remote_station.py",
    "if len(buffer) > LINE_BYTES:",
    "if False:",
    against="output flood",
)
@pytest.mark.guard(
    "remote: response size is limited",
    "agent/sandbox/remote_station.py",
    "if len(body) > limit:",
    "if False:",
    against="output flood",
)
@pytest.mark.guard(
    "remote: output is truncated",
    "agent/sandbox/remote.py",
    "if len(result.output) <= most:",
    "if True:",
    against="output flood",
)
async def test_too_much_output_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An output beyond the limits, and a line without an end."""
    flood = {"output": "x" * 500_000, "exit_code": 0, "truncated": False, "stopped": "y" * 9_000}
    async with Stranger(result=flood).serving() as url:
        result = await (await one(remote(tmp_path, url, limits=LIMITS))).execute_command("true")
    assert len(result.output) == 2 * LIMITS.output_bytes
    assert result.truncated
    assert len(result.stopped or "") == 500
    monkeypatch.setattr(remote_station, "LINE_BYTES", 10_000)
    async with Stranger(result=b"x" * 100_000).serving() as url:
        with pytest.raises(SandboxError, match="sent a response that is too large"):
            await (await one(remote(tmp_path, url))).execute_command("true")
    monkeypatch.setattr(remote_station, "JSON_BYTES", 10_000)
    many = tree(*[FileEntry(f"{WORKSPACE}/{number}", "file") for number in range(1_000)])
    async with Stranger(many).serving() as url:
        result = await (await one(remote(tmp_path, url))).execute_command("true")
    assert "sent a response that is too large" in result.output


async def test_an_error_of_a_hostile_service_is_shortened(tmp_path: Path) -> None:
    async with Stranger(result={"error": "z" * 9_000, "unavailable": False}).serving() as url:
        with pytest.raises(SandboxError) as raised:
            await (await one(remote(tmp_path, url))).execute_command("true")
    assert str(raised.value) == "z" * 500


# --- what comes to the service may be a stranger's too


@pytest.mark.parametrize(
    "path",
    [
        "/etc/escaped",
        f"{WORKSPACE}/../../../../../escaped",
        "../escaped",
        f"{WORKSPACE}/way/escaped",
        f"{WORKSPACE}/\ud800escaped",
        "/mnt/user-data/escaped",
    ],
)
async def test_no_path_leads_out_of_a_copy(tmp_path: Path, url: str, path: str) -> None:
    """By any way in which a path may be given; a folder that it may only read counts as one."""
    (tmp_path / "outside").mkdir()
    headers = {"authorization": f"Bearer {TOKEN}"}
    base = f"{url}/v1/sandboxes/one"
    async with httpx.AsyncClient(headers=headers, trust_env=False) as client:
        assert (await client.put(base, json={})).status_code == 200
        way = FileEntry(f"{WORKSPACE}/way", "link", len(str(tmp_path / "outside")))
        stream = way.head() + str(tmp_path / "outside").encode()
        for kind in ("folder", "gone"):
            stream += FileEntry(path, kind).head()  # type: ignore[arg-type]
        stream += FileEntry(path, "file", 4).head() + b"evil" + FileEntry(path, "link", 1).head() + b"/"
        answer = await client.post(f"{base}/push", content=stream)
        assert set(answer.json()["refused"]) <= {path}
        assert len(answer.json()["refused"]) >= 3
        asked = json.dumps({"paths": [path, "/etc/passwd"]})
        assert (await client.post(f"{base}/pull", content=asked)).content == b""
        for folder in ("/etc", "/mnt/user-data/x", "/mnt/../etc", "/mnt/acp-workspace", "relative", "/mnt/"):
            answer = await client.put(base, json={"read_only": [folder]})
            assert answer.status_code == 400
        answer = await client.put(base, json={"read_only": [f"/mnt/x{number}" for number in range(20)]})
        assert answer.status_code == 400
    assert await asyncio.to_thread(lambda: list(tmp_path.rglob("*escaped*"))) == []
