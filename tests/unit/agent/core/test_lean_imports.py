"""Imports at the start leave out what nothing uses, and it can be used later all the same."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from agent.core.lean_imports import postpone_packages, without_packages

START = """
import sys
from agent.core.lean_imports import ABSENT, postpone_packages, without_packages
postpone_packages()
with without_packages():
    import agent.runtime.server
import langchain_openai
heavy = (*ABSENT, "langsmith.types.rule", "openai.types.beta.assistant")
print(*[name for name in heavy if name in sys.modules])
import numpy, rich
from langsmith.types import Rule
from openai.types.beta import Assistant
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import ChatCompletionChunk as Same
assert ChatCompletionChunk is Same
print(numpy.zeros(1)[0], Rule.__name__, Assistant.__name__)
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with a module, and one that uses another if that is installed."""
    (tmp_path / "lean_heavy").mkdir()
    (tmp_path / "lean_heavy" / "__init__.py").write_text("from lean_heavy.big import BIG\n")
    (tmp_path / "lean_heavy" / "big.py").write_text("BIG = 1\n")
    (tmp_path / "lean_heavy" / "small.py").write_text("SMALL = 2\n")
    (tmp_path / "lean_extra.py").write_text("")
    user = "try:\n    import lean_extra\nexcept ImportError:\n    lean_extra = None\n"
    (tmp_path / "lean_user.py").write_text(user)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield
    for name in [name for name in sys.modules if name.startswith("lean_")]:
        del sys.modules[name]


@pytest.fixture
def postponed(packages: None) -> Iterator[None]:
    """The heavy package is postponed."""
    finders = list(sys.meta_path)
    postpone_packages(["lean_heavy"])
    yield
    sys.meta_path[:] = finders


@pytest.mark.usefixtures("postponed")
class TestPostponed:
    def test_a_module_comes_without_its_package(self) -> None:
        assert importlib.import_module("lean_heavy.small").SMALL == 2
        assert "lean_heavy.big" not in sys.modules

    def test_the_package_is_complete_once_a_name_is_needed(self) -> None:
        small = importlib.import_module("lean_heavy.small")
        before = importlib.import_module("lean_heavy")
        assert before.BIG == 1
        package = importlib.import_module("lean_heavy")
        assert type(package) is ModuleType
        assert (package.BIG, package.small, before.small) == (1, small, small)

    def test_a_name_that_it_lacks(self) -> None:
        package = importlib.import_module("lean_heavy")
        for name in ("MISSING", "__missing__"):
            with pytest.raises(AttributeError, match=name):
                getattr(package, name)

    def test_threads_that_need_it_at_the_same_time_get_the_same(self) -> None:
        package = importlib.import_module("lean_heavy")
        barrier = threading.Barrier(8)

        def read(_: int) -> object:
            barrier.wait()
            return package.BIG, importlib.import_module("lean_heavy")

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(read, range(8)))
        assert found == [(1, sys.modules["lean_heavy"])] * 8


@pytest.mark.usefixtures("packages")
class TestAbsent:
    def test_an_optional_package_is_left_out_and_can_be_imported_later(self) -> None:
        with without_packages(["lean_extra"]):
            user = importlib.import_module("lean_user")
        assert user.lean_extra is None
        assert importlib.import_module("lean_extra").__name__ == "lean_extra"

    def test_what_is_loaded_stays(self) -> None:
        extra = importlib.import_module("lean_extra")
        with without_packages(["lean_extra"]):
            assert importlib.import_module("lean_user").lean_extra is extra
        assert sys.modules["lean_extra"] is extra

    def test_an_import_that_needs_it_fails_and_leaves_nothing_behind(self) -> None:
        with pytest.raises(ModuleNotFoundError), without_packages(["lean_extra"]):
            importlib.import_module("lean_extra")
        assert "lean_extra" not in sys.modules


def test_the_server_is_imported_without_them() -> None:
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, timeout=120)
    assert (done.stderr, done.stdout.split("\n")) == ("", ["", "0.0 Rule Assistant", ""])
