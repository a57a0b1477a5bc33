"""Files that are replaced as a whole: content and permissions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.shared.atomic_file import replace_file


@pytest.mark.parametrize(
    ("umask", "mode", "expected"),
    [(0o022, None, 0o644), (0o077, None, 0o600), (0o022, 0o600, 0o600), (0o077, 0o640, 0o640)],
)
def test_permissions_are_those_of_the_mode_or_of_the_umask(
    tmp_path: Path, umask: int, mode: int | None, expected: int
) -> None:
    before = os.umask(umask)
    try:
        replace_file(tmp_path / "file", "text", mode=mode)
    finally:
        os.umask(before)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "text"
    assert (tmp_path / "file").stat().st_mode & 0o777 == expected
