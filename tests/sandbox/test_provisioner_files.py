"""Listings of a thread's files, changes to them, and streams of entries."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.interfaces import SandboxError
from agent.sandbox.file_transfer import (
    HEAD_BYTES,
    EntryReader,
    FileEntry,
    FileTree,
    find_changed,
    find_removed,
)
from agent.sandbox.paths import VirtualPaths, mounts_of
from agent.sandbox.safe_files import keep_owner
from agent.sandbox.sandbox_files import DEPTH, SandboxFiles, receive_entry, send_files

pytestmark = pytest.mark.may_block
WORKSPACE = "/mnt/user-data/workspace"


def files(home: Path, *, most: int = 1_000, all_writable: bool = False) -> SandboxFiles:
    top = home / "thread" / "user-data"
    folders = {f"{area}_path": str(top / area) for area in ("workspace", "uploads", "outputs")}
    shared = {"/mnt/skills/public": home / "thread" / "skills"}
    made = SandboxFiles(VirtualPaths(mounts_of(folders, shared)), keep_owner, most, all_writable)  # type: ignore[arg-type]
    made.make()
    return made


def workspace(home: Path) -> Path:
    return home / "thread" / "user-data" / "workspace"


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    for piece in given:
        yield piece


async def read(reader: EntryReader) -> list[tuple[FileEntry, bytes]]:
    found = []
    while (entry := await reader.next_entry()) is not None:
        found.append((entry, b"".join([piece async for piece in reader.content()])))
    return found


async def copied(source: SandboxFiles, target: SandboxFiles, paths: Sequence[str]) -> None:
    reader = EntryReader(send_files(source, paths), limit=10_000_000)
    while (entry := await reader.next_entry()) is not None:
        await receive_entry(target, entry, reader, recursive=True)


# --- what is there


def test_a_tree_names_files_folders_and_links(tmp_path: Path) -> None:
    top, one = workspace(tmp_path), files(tmp_path)
    (top / "sub").mkdir()
    (top / "sub" / "run.sh").write_text("echo")
    (top / "sub" / "run.sh").chmod(0o755)
    (top / "a.txt").write_text("four")
    os.utime(top / "a.txt", ns=(1, 1_234_567_890_123))
    (top / "link").symlink_to("/etc/passwd")
    found = one.tree().entries
    assert list(found) == [f"{WORKSPACE}/{name}" for name in ("a.txt", "link", "sub", "sub/run.sh")]
    assert found[f"{WORKSPACE}/a.txt"] == FileEntry(f"{WORKSPACE}/a.txt", "file", 4, 1_234_567_890_123)
    assert found[f"{WORKSPACE}/link"].kind == "link"
    assert found[f"{WORKSPACE}/link"].size == len("/etc/passwd")
    assert found[f"{WORKSPACE}/sub"] == FileEntry(f"{WORKSPACE}/sub", "folder")
    assert found[f"{WORKSPACE}/sub/run.sh"].runs


@pytest.mark.guard(
    "remote: files with more than one hard link are rejected",
    "agent/sandbox/sandbox_files.py",
    "and status.st_nlink == 1",
    "",
    against="links",
)
def test_a_tree_skips_what_is_not_transferred(tmp_path: Path) -> None:
    """Pipes, files with a second name, names that no path may have, and what is too deep."""
    top, one = workspace(tmp_path), files(tmp_path)
    os.mkfifo(top / "pipe")
    (tmp_path / "elsewhere").write_text("secret")
    (top / "second").hardlink_to(tmp_path / "elsewhere")
    (top / "back\\slash").write_text("x")
    deep = top
    for _ in range(DEPTH + 3):
        deep /= "d"
        deep.mkdir()
    found = one.tree()
    assert set(found.entries) == {WORKSPACE + "/d" * depth for depth in range(1, DEPTH + 1)}
    assert not found.cut


def test_a_tree_does_not_follow_links(tmp_path: Path) -> None:
    top, one = workspace(tmp_path), files(tmp_path)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("x")
    (top / "way").symlink_to(tmp_path / "secret")
    assert list(one.tree().entries) == [f"{WORKSPACE}/way"]
    top.rename(tmp_path / "away")
    top.symlink_to(tmp_path / "secret")
    assert one.tree().entries == {}


@pytest.mark.guard(
    "remote: the size of a file tree is limited",
    "agent/sandbox/sandbox_files.py",
    "if len(self.found) > self.most:",
    "if False:",
    against="disk fill",
)
def test_a_tree_is_cut_at_its_limit(tmp_path: Path) -> None:
    top, one = workspace(tmp_path), files(tmp_path, most=5)
    for number in range(5):
        (top / f"{number}").write_text("x")
    assert not one.tree().cut
    for name in ("sixth", "seventh", "eighth"):
        (top / name).write_text("x")
    found = one.tree()
    assert found.cut
    assert len(found.entries) == 6, "one more than there may be says that there are more"
    assert list(find_removed(FileTree({"x": FileEntry("x", "file")}), found)) == [], (
        "nobody knows what is not there"
    )


def test_a_tree_can_skip_read_only_folders(tmp_path: Path) -> None:
    one = files(tmp_path)
    (tmp_path / "thread" / "skills").mkdir()
    (tmp_path / "thread" / "skills" / "a.md").write_text("x")
    assert list(one.tree().entries) == ["/mnt/skills/public/a.md"]
    assert one.tree(read_only=False).entries == {}


# --- what changes


async def test_files_and_links_arrive_unchanged(tmp_path: Path) -> None:
    here, there = files(tmp_path / "here"), files(tmp_path / "there")
    top = workspace(tmp_path / "here")
    (top / "sub").mkdir()
    (top / "sub" / "run.sh").write_bytes(b"\x00" * 3_000_000)
    (top / "sub" / "run.sh").chmod(0o700)
    (top / "empty").write_text("")
    (top / "link").symlink_to("sub/run.sh")
    before = here.tree()
    there.make_folder(f"{WORKSPACE}/sub")
    await copied(here, there, [path for path, entry in before.entries.items() if entry.kind != "folder"])
    assert there.tree() == before
    assert (workspace(tmp_path / "there") / "link").readlink() == Path("sub/run.sh")


async def test_unreadable_files_are_not_sent(tmp_path: Path) -> None:
    one = files(tmp_path)
    (workspace(tmp_path) / "folder").mkdir()
    paths = [f"{WORKSPACE}/none", f"{WORKSPACE}/folder", "/etc/passwd", f"{WORKSPACE}/../../x"]
    assert [piece async for piece in send_files(one, paths)] == []


def test_a_file_replaces_what_is_there(tmp_path: Path) -> None:
    """Of a file with a second name and of a link, which both stay what they were elsewhere."""
    top, one = workspace(tmp_path), files(tmp_path)
    (tmp_path / "elsewhere").write_text("kept")
    (top / "second").hardlink_to(tmp_path / "elsewhere")
    (top / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("second", "link"):
        with one.write_file(FileEntry(f"{WORKSPACE}/{name}", "file", 3, 5)) as write:
            write(b"new")
        assert (top / name).read_text() == "new"
        assert not (top / name).is_symlink()
    assert (tmp_path / "elsewhere").read_text() == "kept"


def test_an_incomplete_file_leaves_nothing(tmp_path: Path) -> None:
    top, one = workspace(tmp_path), files(tmp_path)
    (top / "a.txt").write_text("before")
    with pytest.raises(SandboxError), one.write_file(FileEntry(f"{WORKSPACE}/a.txt", "file", 9)) as write:
        write(b"half")
        raise SandboxError("it broke off")
    assert (top / "a.txt").read_text() == "before"
    assert [path.name for path in top.iterdir()] == ["a.txt"]


@pytest.mark.guard(
    "remote: nothing is created outside the thread's folders",
    "agent/sandbox/sandbox_files.py",
    "if not (place.mount.writable or self.all_writable) or not place.below:",
    "if False:",
    against="paths",
)
@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../x",
        f"{WORKSPACE}/../../../x",
        "/mnt/skills/public/x",
        "/mnt/acp-workspace/x",
        WORKSPACE,
        f"{WORKSPACE}/way/x",
        f"{WORKSPACE}/a\x00b",
        f"{WORKSPACE}/{'n' * 300}",
    ],
)
def test_nothing_is_written_or_removed_outside(tmp_path: Path, path: str) -> None:
    """By traversal, through a link, in what is only read, or in the place of a whole area."""
    one = files(tmp_path)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("kept")
    (workspace(tmp_path) / "way").symlink_to(tmp_path / "outside")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SandboxError), one.write_file(FileEntry(path, "file", 1)) as write:
        write(b"x")
    with pytest.raises(SandboxError):
        one.make_folder(path)
    with pytest.raises(SandboxError):
        one.make_link(path, b"/etc")
    if "way" not in path and "n" * 300 not in path:
        with pytest.raises(SandboxError):
            one.remove(FileEntry(path, "file"), recursive=True)
    else:
        one.remove(FileEntry(path, "file"), recursive=True)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "outside" / "x").read_text() == "kept"


def test_a_folder_replaces_what_trees_skip(tmp_path: Path) -> None:
    """At the service; at home what is there stays."""
    for home, all_writable in ((tmp_path / "home", False), (tmp_path / "service", True)):
        one = files(home, all_writable=all_writable)
        os.mkfifo(workspace(home) / "pipe")
        try:
            one.make_folder(f"{WORKSPACE}/pipe")
            assert all_writable
        except SandboxError:
            assert not all_writable
        assert (workspace(home) / "pipe").is_dir() == all_writable


def test_the_service_writes_read_only_folders(tmp_path: Path) -> None:
    one = files(tmp_path, all_writable=True)
    with one.write_file(FileEntry("/mnt/skills/public/deep/a.md", "file", 1, 7)) as write:
        write(b"x")
    assert (tmp_path / "thread" / "skills" / "deep" / "a.md").read_text() == "x"


def test_removing_a_link_keeps_its_target(tmp_path: Path) -> None:
    top, one = workspace(tmp_path), files(tmp_path)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("x")
    (top / "sub").mkdir()
    (top / "sub" / "link").symlink_to(tmp_path / "outside")
    one.remove(FileEntry(f"{WORKSPACE}/sub", "folder"), recursive=False)
    assert (top / "sub" / "link").is_symlink(), "it is not empty"
    one.remove(FileEntry(f"{WORKSPACE}/sub", "folder"), recursive=True)
    assert list(top.iterdir()) == []
    assert (tmp_path / "outside" / "kept").exists()
    one.remove(FileEntry(f"{WORKSPACE}/sub", "folder"), recursive=True)


def test_an_impossible_time_is_refused(tmp_path: Path) -> None:
    one = files(tmp_path)
    with (
        pytest.raises(SandboxError),
        one.write_file(FileEntry(f"{WORKSPACE}/a", "file", 1, 1 << 200)) as write,
    ):
        write(b"x")
    assert list(workspace(tmp_path).iterdir()) == []


# --- what differs


def tree(*entries: FileEntry) -> FileTree:
    return FileTree({entry.path: entry for entry in entries})


def test_removed_entries_come_deepest_first() -> None:
    before = tree(FileEntry("/d", "folder"), FileEntry("/d/a", "file", 1, 1), FileEntry("/e", "file", 1, 1))
    after = tree(FileEntry("/d", "link", 3, 9), FileEntry("/e", "file", 2, 2))
    assert [entry.path for entry in find_removed(before, after)] == ["/d/a", "/d"]
    assert [entry.path for entry in find_changed(before, after)] == ["/d", "/e"]
    assert list(find_removed(before, before)) == list(find_changed(before, before)) == []


# --- the stream


@given(
    contents=st.lists(st.binary(max_size=200), max_size=6),
    cuts=st.lists(st.integers(min_value=1, max_value=40), min_size=1, max_size=20),
)
async def test_a_stream_can_be_split_anywhere(contents: list[bytes], cuts: list[int]) -> None:
    entries = [FileEntry(f"/f\n{at}\udc80", "file", len(data), at) for at, data in enumerate(contents)]
    whole = b"".join(entry.head() + data for entry, data in zip(entries, contents, strict=True))
    parts, at = [], 0
    while at < len(whole):
        size = cuts[len(parts) % len(cuts)]
        parts += [whole[at : at + size]]
        at += size
    assert await read(EntryReader(pieces(*parts, b""), limit=10_000)) == list(
        zip(entries, contents, strict=True)
    )


async def test_unread_content_is_skipped() -> None:
    stream = FileEntry("/a", "file", 3).head() + b"abc" + FileEntry("/b", "file", 1).head() + b"d"
    reader = EntryReader(pieces(stream), limit=1_000)
    assert (await reader.next_entry()) == FileEntry("/a", "file", 3)
    assert (await reader.next_entry()) == FileEntry("/b", "file", 1)
    assert await reader.next_entry() is None


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        (FileEntry("/a", "file", 3).head() + b"ab", "interrupted"),
        (FileEntry("/a", "file", 3).head()[:-1], "interrupted"),
        (b"no json\n", "unknown format"),
        (b"[1]\n", "unknown format"),
        (b"[" * 50_000 + b"\n", "unknown format"),
        (json.dumps(["/a", "device", 0, 0, False]).encode() + b"\n", "unknown format"),
        (json.dumps(["/a", "file", -1, 0, False]).encode() + b"\n", "unknown format"),
        (b"x" * (HEAD_BYTES + 1), "unknown format"),
        (FileEntry("/a", "file", 2_000_000).head() + bytes(2_000_000), "too large for one transfer"),
    ],
    ids=["content", "head", "text", "shape", "deep", "kind", "size", "long", "large"],
)
async def test_an_invalid_stream_is_refused(stream: bytes, why: str) -> None:
    with pytest.raises(SandboxError, match=why):
        await read(EntryReader(pieces(stream), limit=1_000_000))


@pytest.mark.parametrize("given", [None, {}, {"entries": {}, "cut": False}, {"entries": [[]], "cut": False}])
def test_an_invalid_tree_is_refused(given: object) -> None:
    with pytest.raises(SandboxError):
        FileTree.from_json(given)
