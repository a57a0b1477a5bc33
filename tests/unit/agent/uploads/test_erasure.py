"""A person's uploads are deleted, and quotations in the agent's files are masked."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from agent.runtime.message_erasure import ErasureTarget
from agent.shared.text_masking import MASK, TextMask
from agent.uploads.erasure import erase_files
from agent.uploads.folders import ThreadFolders
from agent.uploads.store import UploadReceipts, UploadStore
from agent.uploads.transcripts import FOLDER, Author, Entry, file_name, render_transcript

pytestmark = pytest.mark.may_block


def said(*texts: str) -> ErasureTarget:
    """A target who said these texts."""
    nobody = frozenset[str]()
    return ErasureTarget(nobody, nobody, nobody, TextMask(texts), ())


SAID = said("the harbour code is 4711zebra")


@pytest.fixture
def folders(tmp_path: Path) -> ThreadFolders:
    return ThreadFolders(tmp_path)


async def test_uploads_of_their_keys_are_deleted(folders: ThreadFolders) -> None:
    store = UploadStore(folders)
    for key in ("k1", "k2"):
        async with store.batch("t") as batch:
            await batch.begin("plan.txt")
            await batch.write(key.encode())
            await store.commit_once(batch, key)
    kept = UploadReceipts(folders).names("t", "k2")
    done = erase_files(folders, "t", ["k1", "unknown"], said())
    assert (done.uploads, done.masked, done.failed) == (1, 0, 0)
    assert [one.filename for one in await store.list_uploads("t")] == kept
    assert UploadReceipts(folders).names("t", "k1") == []
    assert erase_files(folders, "t", ["k1"], said()).uploads == 0


def test_quotations_in_text_files_are_masked(folders: ThreadFolders, tmp_path: Path) -> None:
    workspace = folders.make("t", "workspace")
    (workspace / "notes").mkdir()
    (workspace / "notes" / "a.md").write_text("Note: 4711zebra")
    (workspace / "image.bin").write_bytes(b"\xff\xfe4711zebra")
    other = tmp_path / "outside.txt"
    other.write_text("4711zebra")
    (workspace / "link.txt").symlink_to(other)
    os.mkfifo(workspace / "pipe")
    done = erase_files(folders, "t", [], SAID)
    assert (done.uploads, done.masked, done.failed) == (0, 1, 0)
    assert (workspace / "notes" / "a.md").read_text() == f"Note: {MASK}"
    assert other.read_text() == "4711zebra"


def test_a_thread_without_files_has_nothing_to_erase(folders: ThreadFolders) -> None:
    assert erase_files(folders, "t", ["k"], SAID).masked == 0


def transcript(folders: ThreadFolders, content: bytes) -> Path:
    """A transcript of the thread with this content."""
    folder = folders.make("t", "workspace") / FOLDER
    folder.mkdir(exist_ok=True)
    path = folder / file_name(1)
    path.write_bytes(content)
    return path


@pytest.mark.guard(
    "a transcript that is no text is deleted",
    "agent/uploads/erasure.py",
    "return is_transcript and _delete_transcript(name, folder, status.st_size)",
    "return False",
    against="kept words",
)
@pytest.mark.parametrize("content", [b"\xff\xfe4711zebra", b"4711zebra " * 600_000], ids=["bytes", "large"])
def test_a_transcript_that_cannot_be_rewritten_is_deleted(folders: ThreadFolders, content: bytes) -> None:
    path = transcript(folders, content)
    done = erase_files(folders, "t", [], SAID)
    assert (done.masked, done.failed, path.exists()) == (1, 0, False)


@pytest.mark.guard(
    "a crash while a transcript is rewritten leaves it whole",
    "agent/uploads/erasure.py",
    "flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW",
    "return os.truncate(os.open(name, os.O_RDWR, dir_fd=folder), 0)",
    against="kept words",
)
def test_a_crash_leaves_the_whole_file(folders: ThreadFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [Entry("person", "I say 4711zebra", (Author("h2", "slack:B"),)), Entry("service", "Note.")]
    content = render_transcript(entries)
    path = transcript(folders, content)
    path.chmod(0o640)
    with monkeypatch.context() as crash:
        crash.setattr(os, "replace", _crash)
        assert erase_files(folders, "t", [], SAID).failed == 1
    assert path.read_bytes() == content
    done = erase_files(folders, "t", [], SAID)
    assert (done.masked, done.failed) == (1, 0)
    assert path.read_bytes() == content.replace(b"4711zebra", MASK.encode())
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("is_folder", [False, True])
def test_no_other_file_is_in_the_way(folders: ThreadFolders, is_folder: bool) -> None:
    workspace = folders.make("t", "workspace")
    (workspace / "a.md").write_text("Note: 4711zebra")
    other = workspace / ".erasing"
    other.mkdir() if is_folder else other.write_text("x")
    done = erase_files(folders, "t", [], SAID)
    assert (done.masked, done.failed) == (1, 0)
    assert (workspace / "a.md").read_text() == f"Note: {MASK}"
    assert sorted(one.name for one in workspace.iterdir()) == [".erasing", "a.md"]


def _crash(*_args: object, **_more: object) -> None:
    raise OSError("the machine stopped")
