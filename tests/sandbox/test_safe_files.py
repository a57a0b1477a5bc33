"""Files below a folder that a stranger writes into: one name at a time, never through a link."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from agent.core.interfaces import SandboxError
from agent.sandbox import safe_files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder" / "file").write_bytes(b"inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(b"outside")
    return root


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_what_is_there_is_read_written_and_listed(root: Path) -> None:
    assert safe_files.read(root, ("folder", "file")) == b"inside"
    safe_files.write(root, ("new", "deep", "file"), b"one")
    safe_files.write(root, ("new", "deep", "file"), b" two", append=True)
    assert (root / "new" / "deep" / "file").read_bytes() == b"one two"
    assert (root / "new").stat().st_mode & 0o777 == 0o700
    assert (root / "new" / "deep" / "file").stat().st_mode & 0o777 == 0o600
    (root / "link").symlink_to("folder")
    assert [(e.name, e.is_dir, e.size) for e in safe_files.entries(root, ())] == [
        ("folder", True, 0),
        ("link", False, 0),
        ("new", True, 0),
    ]


@pytest.mark.guard(
    "folders are not entered through links",
    "agent/sandbox/safe_files.py",
    "_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC",
    "_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC",
    against="links",
)
def test_a_folder_that_is_a_link_is_not_entered(root: Path, tmp_path: Path) -> None:
    (root / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(SandboxError, match="link"):
        safe_files.read(root, ("link", "file"))
    with pytest.raises(SandboxError, match="link"):
        safe_files.entries(root, ("link",))
    with pytest.raises(SandboxError, match="link"):
        safe_files.write(root, ("link", "new"), b"x")
    assert names(tmp_path / "outside") == ["file"]


@pytest.mark.guard(
    "files are not opened through links",
    "agent/sandbox/safe_files.py",
    "_FILE = os.O_NOFOLLOW | os.O_CLOEXEC",
    "_FILE = os.O_CLOEXEC",
    against="links",
)
def test_a_file_that_is_a_link_is_not_opened(root: Path, tmp_path: Path) -> None:
    (root / "link").symlink_to(tmp_path / "outside" / "file")
    (root / "to-nothing").symlink_to(tmp_path / "outside" / "new")
    with pytest.raises(SandboxError, match="link"):
        safe_files.read(root, ("link",))
    for name in ("link", "to-nothing"):
        with pytest.raises(SandboxError, match="link"):
            safe_files.write(root, (name,), b"x")
    assert (tmp_path / "outside" / "file").read_bytes() == b"outside"
    assert names(tmp_path / "outside") == ["file"]


def test_the_root_itself_may_not_be_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "other").symlink_to(root)
    with pytest.raises(SandboxError):
        safe_files.read(tmp_path / "other", ("folder", "file"))


@pytest.mark.guard(
    "files with more than one hard link are rejected",
    "agent/sandbox/safe_files.py",
    "if status.st_nlink > 1 and not hard_links:",
    "if False:",
    against="links",
)
@pytest.mark.guard(
    "a file is truncated only after it is checked",
    "agent/sandbox/safe_files.py",
    "os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else 0)",
    "os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else os.O_TRUNC)",
    against="links",
)
def test_a_second_name_is_refused_and_nothing_is_lost(root: Path, tmp_path: Path) -> None:
    (root / "second").hardlink_to(tmp_path / "outside" / "file")
    with pytest.raises(SandboxError, match="another hard link"):
        safe_files.read(root, ("second",))
    with pytest.raises(SandboxError, match="another hard link"):
        safe_files.write(root, ("second",), b"x")
    assert (tmp_path / "outside" / "file").read_bytes() == b"outside", "not even emptied"
    assert safe_files.read(root, ("second",), hard_links=True) == b"outside"


@pytest.mark.guard(
    "opening a pipe does not block", "agent/sandbox/safe_files.py", "| os.O_NONBLOCK", "", against="links"
)
@pytest.mark.parametrize("action", ["read(root, ('pipe',))", "write(root, ('pipe',), b'x')"])
def test_nobody_waits_at_a_pipe(root: Path, action: str) -> None:
    os.mkfifo(root / "pipe")
    script = (
        "import sys; from pathlib import Path\n"
        "from agent.sandbox import safe_files; root = Path(sys.argv[1])\n"
        f"try: safe_files.{action}\nexcept Exception as error: print(type(error).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(root)], capture_output=True, text=True, timeout=20
    )
    assert done.stdout == "SandboxError\n", done.stderr


def test_what_is_no_file_is_refused(root: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket"))
    for below in (("socket",), ("folder",), ()):
        with pytest.raises(SandboxError):
            safe_files.read(root, below)
        with pytest.raises(SandboxError):
            safe_files.write(root, below, b"x")


@pytest.mark.guard(
    "only regular files are opened",
    "agent/sandbox/safe_files.py",
    "if not stat.S_ISREG(status.st_mode):",
    "if False:",
    against="links",
)
def test_a_pipe_with_a_reader_gets_nothing(root: Path) -> None:
    os.mkfifo(root / "pipe")
    reader = os.open(root / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(SandboxError, match="not a regular file"):
            safe_files.write(root, ("pipe",), b"secret")
        with pytest.raises(SandboxError, match="not a regular file"):
            safe_files.read(root, ("pipe",))
        assert os.read(reader, 10) == b""
    finally:
        os.close(reader)


@pytest.mark.parametrize(
    ("below", "told"),
    [(("none",), "no such file"), (("none", "x"), "no such file"), (("folder", "file", "x"), "no such file")],
)
def test_what_is_missing_says_so(root: Path, below: tuple[str, ...], told: str) -> None:
    with pytest.raises(SandboxError, match=told):
        safe_files.read(root, below)


def test_a_name_that_is_too_long_or_a_file_that_is_too_large(root: Path) -> None:
    with pytest.raises(SandboxError, match="can't be opened"):
        safe_files.write(root, ("x" * 300,), b"x")
    with pytest.raises(SandboxError, match="can't be opened"):
        safe_files.write(root, ("y" * 300, "x"), b"x")
    with pytest.raises(SandboxError, match="larger than"):
        safe_files.read(root, ("folder", "file"), limit=3)


def test_no_descriptor_is_lost(root: Path, tmp_path: Path) -> None:
    (root / "link").symlink_to(tmp_path / "outside")
    before = len(names(Path("/proc/self/fd")))
    for _ in range(20):
        for below in (("folder", "file"), ("link", "x"), ("none",), ("folder",), ("folder", "none", "x")):
            with suppress(SandboxError):
                safe_files.read(root, below)
            with suppress(SandboxError):
                safe_files.write(root, (*below, "w"), b"")
    assert len(names(Path("/proc/self/fd"))) == before
