"""The runner of the suites: each test runs once, in whichever process, and no failure is lost."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts import suites
from scripts.file_queue import FileQueue, shares
from scripts.file_seconds import Seconds, find_slow_files, read_seconds, render_table

pytestmark = pytest.mark.may_block

PASSES = "import pytest\n@pytest.mark.parametrize('number', range(3))\ndef test_it(number): pass\n"
FAILS = "def test_it(): assert 1 == 2\n"
BROKEN = "import a_module_that_does_not_exist\n"
MARKED = "import pytest\npytestmark = pytest.mark.left_out\ndef test_it(): raise AssertionError\n"
FIXTURE = """
import pytest
@pytest.fixture(scope="session", autouse=True)
def counted(tmp_path_factory):
    with open({path!r}, "a") as file:
        file.write("made\\n")
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of tests in which the runner works."""
    monkeypatch.setattr(suites, "ROOT", tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(suites.__file__).parents[1]))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "tests").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = left_out\n")
    return tmp_path


def run(root: Path, files: dict[str, str], processes: int = 2, options: Sequence[str] = ()) -> int:
    """Run the files in two processes; the exit code."""
    for name, text in files.items():
        (root / "tests" / f"{name}.py").write_text(text)
    names = [f"tests/{name}.py" for name in files if name.startswith("test_")]
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not left_out", *options]
    return suites.run_side_by_side(call, names, processes)


def test_every_test_runs_once(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root, {f"test_{name}": PASSES for name in "abcdef"}) == 0
    assert "all processes: 18 passed" in capsys.readouterr().out


def test_a_failure_fails_the_run_and_shows_its_traceback(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(root, {"test_a": PASSES, "test_b": FAILS}) == 1
    out = capsys.readouterr().out
    assert "assert 1 == 2" in out and "all processes: 1 failed, 3 passed" in out


def test_a_file_that_cannot_be_imported_fails_the_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root, {"test_a": PASSES, "test_b": BROKEN}) == 1
    assert "a_module_that_does_not_exist" in capsys.readouterr().out


def test_deselected_tests_do_not_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root, {"test_a": PASSES, "test_b": MARKED}) == 0
    assert "3 passed" in capsys.readouterr().out


def test_fixtures_of_the_session_are_made_once_in_each_process(root: Path) -> None:
    made = root / "made"
    files = {"conftest": FIXTURE.format(path=str(made)), **{f"test_{name}": PASSES for name in "abcd"}}
    assert run(root, files, processes=1) == 0
    assert made.read_text() == "made\n"


def test_a_module_to_preload_is_imported_once_for_all_processes(root: Path) -> None:
    imported = root / "imported"
    (root / "preloaded.py").write_text(f"open({str(imported)!r}, 'a').write('imported')")
    files = {f"test_{name}": f"import preloaded\n{PASSES}" for name in "abcd"}
    assert run(root, files, options=["--preload=preloaded"]) == 0
    assert imported.read_text() == "imported"


def test_the_queue_gives_each_name_once(tmp_path: Path) -> None:
    queue = FileQueue(tmp_path / "queue")
    queue.fill(["a", "b"])
    assert (len(queue), queue.take(), queue.take(), queue.take(), len(queue)) == (2, "a", "b", None, 0)


def test_a_file_in_shares_runs_each_test_once(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shares("a", 1) == ["a"] and shares("a", 2) == ["a 1/2", "a 2/2"]
    monkeypatch.setitem(suites.SHARES, "test_a.py", 2)
    ran = root / "ran"
    text = PASSES.replace("pass", f"open({str(ran)!r}, 'a').write(str(number))")
    assert run(root, {"test_a": text, "test_b": PASSES}) == 0
    assert "all processes: 6 passed" in capsys.readouterr().out
    assert sorted(ran.read_text()) == ["0", "1", "2"]


def test_every_process_measures_its_files(root: Path) -> None:
    seconds = root / "seconds"
    slow = "import time\n@pytest.fixture\ndef slow(): yield; time.sleep(0.2)\ndef test_slow(slow): pass\n"
    files = {f"test_{name}": PASSES + slow for name in "abcd"}
    options = ["-p", "scripts.file_seconds", f"--file-seconds={seconds}"]
    assert run(root, files, options=options) == 0
    measured = read_seconds(seconds)
    assert sorted(measured) == [f"tests/test_{name}.py" for name in "abcd"]
    assert all(one.wall >= 0.2 > one.cpu for one in measured.values())


def test_seconds_are_added_up_by_folder() -> None:
    files = {f"tests/unit/bot/{name}.py": Seconds(3, 2) for name in ("deep/er/test_a", "test_b")}
    assert "      6       4  tests/unit/bot\n" in render_table(files)


def test_a_file_over_the_ceiling_is_named() -> None:
    files = {"tests/test_a.py": Seconds(90, 19), "tests/test_b.py": Seconds(30, 21)}
    assert find_slow_files(files) == ["over the ceiling of 20 CPU s: tests/test_b.py (21)"]


def test_files_are_left_out_by_their_markers(root: Path) -> None:
    for name, text in (("test_a", PASSES), ("test_b", MARKED)):
        (root / "tests" / "unit").mkdir(exist_ok=True)
        (root / "tests" / "unit" / f"{name}.py").write_text(text)
    everything = suites.Suite("all", "not other")
    assert suites.files(everything, "not other") == ["tests/unit/test_a.py", "tests/unit/test_b.py"]
    assert suites.files(everything, "not left_out") == ["tests/unit/test_a.py"]
    assert suites.files(suites.Suite("some", "left_out", "left_out"), "left_out") == ["tests/unit/test_b.py"]


def test_every_marker_of_a_suite_stands_in_the_module_that_has_it() -> None:
    """A suite runs no module that gets its marker from another one."""
    markers = {name for suite in (*suites.PARTS, *suites.LONG) for name in suite.marker.split()}
    named = re.compile(rf"mark\.({'|'.join(markers)})\b")
    helpers = [file for file in Path("tests").rglob("*.py") if not file.name.startswith("test_")]
    assert len(helpers) > 20
    assert [str(file) for file in helpers if named.search(file.read_text())] == []
