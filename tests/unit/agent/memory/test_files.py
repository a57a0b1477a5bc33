"""The files of memories: one for each scope, read by mtime, written whole, never lost."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.interfaces import MemoryScope
from agent.errors import BadIdentifier
from agent.memory.files import MemoryFiles, ProcessLock
from agent.memory.scopes import OWNER, file_name, format_scope, parse_scope
from agent.shared.memory_document import Fact, MemoryDocument

ADA = MemoryScope("person", "telegram", "telegram:1001")


def document(*contents: str) -> MemoryDocument:
    facts = [
        Fact(id=f"f{n}", content=text, confidence=1.0, created_at="2026", source="t")
        for n, text in enumerate(contents)
    ]
    return MemoryDocument(facts=tuple(facts), last_updated="2026")


def test_the_file_has_the_keys_of_the_contract(tmp_path: Path) -> None:
    files = MemoryFiles(tmp_path / "memory")
    files.write(ADA, document("tea"))
    [path] = [one for one in (tmp_path / "memory").iterdir() if one.suffix == ".json"]
    found = json.loads(path.read_text())
    assert found.keys() == {"version", "lastUpdated", "user", "history", "facts", "lastUpdateId"}
    assert found["user"].keys() == {"workContext", "personalContext", "topOfMind"}
    assert found["history"].keys() == {"recentMonths", "earlierContext", "longTermBackground"}
    assert found["user"]["topOfMind"] == {"summary": "", "updatedAt": ""}
    assert found["facts"][0].keys() == {"id", "content", "category", "confidence", "createdAt", "source"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_is_written_is_read_and_what_is_unknown_is_empty(tmp_path: Path) -> None:
    files = MemoryFiles(tmp_path)
    assert files.read(ADA).is_empty
    files.write(ADA, document("tea"))
    assert MemoryFiles(tmp_path).read(ADA) == document("tea")
    files.delete(ADA)
    files.delete(ADA)
    assert files.read(ADA).is_empty


def test_a_file_is_read_again_only_when_its_time_changes(tmp_path: Path) -> None:
    files, path = MemoryFiles(tmp_path), tmp_path / file_name(ADA)
    files.write(ADA, document("tea"))
    first = files.read(ADA)
    assert files.read(ADA) is first
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"tea", b"jam"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert files.read(ADA) is first, "the same time and size"
    assert files.read(ADA, fresh=True).facts[0].content == "jam"
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert files.read(ADA).facts[0].content == "jam"


def test_another_process_that_writes_is_seen(tmp_path: Path) -> None:
    one, other = MemoryFiles(tmp_path), MemoryFiles(tmp_path)
    one.write(ADA, document("tea"))
    assert one.read(ADA).facts[0].content == "tea"
    other.write(ADA, document("coffee"))
    assert one.read(ADA).facts[0].content == "coffee"


def test_only_so_many_are_kept_in_mind(tmp_path: Path) -> None:
    files = MemoryFiles(tmp_path, cache_size=1)
    scopes = [MemoryScope("person", "a", str(n)) for n in range(3)]
    for scope in scopes:
        files.write(scope, document(scope.key))
    assert [files.read(scope).facts[0].content for scope in scopes] == ["0", "1", "2"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = MemoryFiles(tmp_path)
    files.write(ADA, document("tea"))

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        files.write(ADA, document("coffee"))
    assert MemoryFiles(tmp_path).read(ADA) == document("tea")
    assert [path.name for path in tmp_path.iterdir()] == [file_name(ADA)]


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b'{"facts": 3}', b'{"facts": [{"id": "x"}]}', b"\xff"])
def test_a_broken_file_is_put_aside_not_written_over(tmp_path: Path, broken: bytes) -> None:
    files = MemoryFiles(tmp_path)
    (tmp_path / file_name(ADA)).write_bytes(broken)
    assert files.read(ADA).is_empty
    files.write(ADA, document("tea"))
    [aside] = [path for path in tmp_path.iterdir() if ".broken-" in path.name]
    assert aside.read_bytes() == broken
    files.delete(ADA)
    assert list(tmp_path.iterdir()) == [], "what is forgotten is forgotten in every copy"


def test_a_key_of_a_newer_version_stays(tmp_path: Path) -> None:
    files = MemoryFiles(tmp_path)
    (tmp_path / file_name(ADA)).write_text('{"version": "1.0", "mood": "fine", "facts": []}')
    files.write(ADA, files.read(ADA).model_copy(update={"last_updated": "2027"}))
    assert json.loads((tmp_path / file_name(ADA)).read_text())["mood"] == "fine"


def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    files = MemoryFiles(tmp_path)
    (tmp_path / ".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"), files.lock_for_write():
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_writers_take_turns(tmp_path: Path) -> None:
    def write(number: int) -> None:
        files = MemoryFiles(tmp_path)
        for _ in range(20):
            with files.lock_for_write():
                old = files.read(ADA)
                files.write(ADA, old.model_copy(update={"version": str(int(old.version or 0) + 1)}))

    MemoryFiles(tmp_path).write(ADA, MemoryDocument(version="0"))
    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert MemoryFiles(tmp_path).read(ADA).version == "80"


def test_one_lock_is_held_by_one(tmp_path: Path) -> None:
    first, second, third = (ProcessLock(tmp_path / "lock") for _ in range(3))
    assert first.try_acquire()
    assert not second.try_acquire()
    first.release()
    first.release()
    assert second.try_acquire()
    third.release()
    assert not third.try_acquire(), "whoever gave up takes it no more"
    second.release()


SCOPES = st.builds(
    MemoryScope,
    st.sampled_from(["person", "group"]),
    st.text(st.characters(categories=["L", "N", "P"]), max_size=20),
    st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=60),
)


@given(SCOPES)
def test_a_scope_is_its_text(scope: MemoryScope) -> None:
    if format_scope(scope).isprintable() and len(format_scope(scope)) <= 512:
        assert parse_scope(format_scope(scope)) == scope


@given(SCOPES, SCOPES)
def test_every_scope_has_a_file_of_its_own_on_every_file_system(one: MemoryScope, other: MemoryScope) -> None:
    for scope in (one, other):
        name = file_name(scope)
        assert len(name.encode()) <= 200
        assert name.isascii()
        assert not set(name) & set('/\\:*?"<>|\x00 ')
    if one != other:
        assert file_name(one).lower() != file_name(other).lower()


def test_capitals_and_long_keys_make_files_of_their_own() -> None:
    names = {
        file_name(MemoryScope("person", "slack", key)).lower()
        for key in ("U1A", "u1a", "u1A", "x" * 300, "x" * 301)
    }
    assert len(names) == 5
    assert file_name(ADA) == "person.telegram.telegram%3a1001.json"


def test_nobody_named_is_the_owner() -> None:
    assert parse_scope(None) == parse_scope("") == OWNER
    assert parse_scope("group:telegram:-1001:2") == MemoryScope("group", "telegram", "-1001:2")


@pytest.mark.parametrize(
    "text",
    ["person", "person:a", "person:a:", "chat:a:b", "../x:a:b", "person:a:b\n", "person:a:" + "x" * 600],
)
def test_what_is_no_scope_is_refused(text: str) -> None:
    with pytest.raises(BadIdentifier, match="Invalid scope"):
        parse_scope(text)
