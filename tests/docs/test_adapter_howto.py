"""The adapter of docs/howto/write-an-adapter.md passes the suite as the page says."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bot.app.accounts import load_manifest, make_adapter
from bot.config.platforms import known_platforms
from tests.docs.blocks import ROOT, blocks
from tests.harness.plugins import plugin_packages

pytestmark = pytest.mark.may_block
FILES = ("board.py", "test_board.py", "conftest.py")


def test_the_board_passes_and_what_does_not_apply_is_listed(tmp_path: Path) -> None:
    for name in FILES:
        [block] = blocks(f"python file={name}")
        (tmp_path / name).write_text(block.body)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed, " in done.stdout
    assert "failed" not in done.stdout
    assert "conformance: " in done.stdout
    assert "× the adapter is not SendsFiles" in done.stdout


def test_the_board_as_a_package(tmp_path: Path) -> None:
    [block] = blocks("python file=board_platform.py")
    [project] = [block for block in blocks("toml") if "roebot.platforms" in block.body]
    points = tomllib.loads(project.body)["project"]["entry-points"]["roebot.platforms"]
    with plugin_packages(tmp_path) as install:
        install("board_platform", block.body, **points)
        [code] = blocks("python file=board.py")
        (tmp_path / "board.py").write_text(code.body)
        account = known_platforms()["board"].model_validate({"name": "b", "platform": "board", "pin": "1"})
        manifest = load_manifest("board")
        assert manifest.title == "Notice board"
        assert type(make_adapter(manifest, account)).__name__ == "BoardAdapter"
