"""Restoration into a data directory that can't be renamed, such as the volume of a container."""

from __future__ import annotations

import os
import stat
import tarfile
from pathlib import Path

import pytest

from bot.app.home import lock_home, prepare_home
from bot.errors import StartError
from bot.features.backup.backup import back_up
from bot.features.backup.copies import BackupData
from bot.features.backup.restore import restore

pytestmark = pytest.mark.may_block
SILENT = lambda _line: None  # noqa: E731


@pytest.fixture
def volume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory with a memory, which looks like a mounted folder."""
    volume = tmp_path / "data"
    prepare_home(volume)
    with lock_home(volume):
        (volume / "memory").mkdir()
    (volume / "memory" / "person.json").write_text("old")
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path) == volume)
    return volume


@pytest.fixture
def archive(volume: Path, tmp_path: Path) -> Path:
    made = back_up(volume, tmp_path / "a.tar.gz", SILENT, on_postgres=True).path
    (volume / "memory" / "person.json").write_text("new")
    (volume / "service.token").write_text("of the service")
    return made


def test_the_content_is_replaced_and_kept(volume: Path, archive: Path) -> None:
    number = volume.stat().st_ino
    found = restore(archive, volume, replace=True, tell=SILENT)
    assert volume.stat().st_ino == number
    assert (volume / "memory" / "person.json").read_text() == "old"
    assert not (volume / "service.token").exists()
    before = found.before
    assert before is not None and before.parent == volume
    assert stat.S_IMODE(before.stat().st_mode) == 0o700
    assert (before / "memory" / "person.json").read_text() == "new"
    assert [path for path, _ in BackupData().list_copies(volume)] == [str(before)]
    with lock_home(volume):
        pass


def test_archives_do_not_contain_what_was_replaced(volume: Path, archive: Path, tmp_path: Path) -> None:
    assert restore(archive, volume, replace=True, tell=SILENT).before
    with tarfile.open(back_up(volume, tmp_path / "b.tar.gz", SILENT, on_postgres=True).path) as tar:
        assert not [name for name in tar.getnames() if "before" in name]


def test_a_new_volume_needs_no_replacement(volume: Path, archive: Path) -> None:
    for path in sorted(volume.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert restore(archive, volume, replace=False, tell=SILENT).before is None
    assert [path.name for path in volume.glob(".*")] == []
    assert (volume / "memory" / "person.json").read_text() == "old"


def test_nothing_changes_while_a_replica_runs(volume: Path, archive: Path) -> None:
    prepare_home(volume, "a")
    with lock_home(volume, "a"), pytest.raises(StartError):
        restore(archive, volume, replace=True, tell=SILENT)
    assert (volume / "memory" / "person.json").read_text() == "new"
    assert [path.name for path in volume.glob(".*")] == []


def test_archives_contain_nothing_of_the_replicas(volume: Path, tmp_path: Path) -> None:
    """Their folders hold logs and the addresses of processes."""
    prepare_home(volume, "a")
    (volume / "replicas" / "a" / "service.json").write_text("{}")
    with tarfile.open(back_up(volume, tmp_path / "b.tar.gz", SILENT, on_postgres=True).path) as tar:
        assert not [name for name in tar.getnames() if "replicas" in name]
