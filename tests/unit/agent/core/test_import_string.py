"""What a `use:` names, and what a person is told where it can't be imported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agent.catalog.source import ModelSource
from agent.core.import_string import ImportProblem, ImportStringError, import_object
from agent.errors import GuardrailUnavailable, ModelUnavailable, ToolUnavailable
from agent.guardrails.providers import load_guardrail
from agent.models.resolve import load_model_class
from agent.shared.install_hints import install_command, python_command
from agent.tools.assembly import ToolEntry, load_tool

MODULES = {
    "half_there": "import no_such_package_here",
    "raises_at_once": "raise RuntimeError('no key sk-secret-0123456789abcd')",
    "looks_for_itself": "raise ModuleNotFoundError('get the thing from its vendor')",
    "asks_too_much": "import pathlib; pathlib.gone",
    "wants_a_name": "from pathlib import gone",
}


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)


def test_what_is_there_is_imported() -> None:
    assert import_object("pathlib:Path") is Path


@pytest.mark.parametrize(
    ("use", "problem", "told"),
    [
        (
            "no_such_pkg.tools:x",
            ImportProblem.UNKNOWN,
            "There is no module no_such_pkg (use: no_such_pkg.tools:x)."
            " Roebot looks in the installed packages and then in the folder that contains config.yaml.",
        ),
        (
            "langchain_ollama:ChatOllama",
            ImportProblem.PACKAGE,
            "langchain_ollama:ChatOllama needs the package langchain_ollama, which is not installed."
            f" Install it in Roebot's environment; no restart is needed: {install_command('roebot[ollama]')}",
        ),
        (
            "langchain_google_genai:ChatGoogleGenerativeAI",
            ImportProblem.PACKAGE,
            "langchain_google_genai:ChatGoogleGenerativeAI needs the package langchain_google_genai, which is"
            " not installed. Install it in Roebot's environment; no restart is needed:"
            f" {install_command('langchain-google-genai')}",
        ),
        (
            "half_there:Chat",
            ImportProblem.UNKNOWN,
            "There is no module no_such_package_here (use: half_there:Chat)."
            " Roebot looks in the installed packages and then in the folder that contains config.yaml.",
        ),
        (
            "agent.nowhere.at_all:x",
            ImportProblem.MODULE,
            "There is no module agent.nowhere (use: agent.nowhere.at_all:x).",
        ),
        ("pathlib:Nothing", ImportProblem.NAME, "pathlib has no Nothing (use: pathlib:Nothing)."),
        (
            "raises_at_once:x",
            ImportProblem.BROKEN,
            "raises_at_once can't be imported (RuntimeError: no key …).",
        ),
        (
            "looks_for_itself:x",
            ImportProblem.BROKEN,
            "looks_for_itself can't be imported (ModuleNotFoundError: get the thing from its vendor).",
        ),
        (
            "asks_too_much:x",
            ImportProblem.BROKEN,
            "asks_too_much can't be imported (AttributeError: module 'pathlib' has no attribute 'gone').",
        ),
    ],
)
def test_what_can_not_be_imported_says_what_to_do(use: str, problem: ImportProblem, told: str) -> None:
    with pytest.raises(ImportStringError) as caught:
        import_object(use)
    assert (caught.value.problem, str(caught.value)) == (problem, told)


def test_the_command_is_that_of_this_python() -> None:
    folder = Path("/srv/bot")
    assert python_command("/srv/bot/.venv/bin/python", folder) == ".venv/bin/python"
    assert python_command("/usr/bin/python3", folder) == "python3"
    assert python_command("", folder) == "python"
    command = install_command("roebot[ollama]")
    assert command.endswith(" -m pip install 'roebot[ollama]'")
    asked = command.removesuffix("install 'roebot[ollama]'") + "--version"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    told = subprocess.run(
        asked, shell=True, capture_output=True, text=True, check=True, env={**os.environ, "PATH": path}
    ).stdout
    assert told.startswith("pip ")
    assert sys.prefix in told


def test_modules_beside_the_configuration_are_found_after_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "config.yaml").write_text("config_version: 1\n")
    (folder / "pathlib.py").write_text("Path = None")
    source = ModelSource(folder / "config.yaml", environ={}, cwd=tmp_path)
    source.load()
    with pytest.raises(ImportStringError):
        import_object("beside_the_file:lookup")
    (folder / "beside_the_file.py").write_text("def lookup(): return 'found'")
    assert import_object("beside_the_file:lookup")() == "found", "what was just written is found"
    assert import_object("pathlib:Path") is Path
    source.load()
    assert sys.path.count(str(folder)) == 1
    assert sys.path[-1] == str(folder)


@pytest.mark.parametrize("use", ["no_such_pkg:x", "agent.nowhere:x", "pathlib:gone", "wants_a_name:x"])
def test_models_tools_and_guardrails_tell_the_same(use: str) -> None:
    with pytest.raises(ImportStringError) as caught:
        import_object(use)
    told = str(caught.value)
    with pytest.raises(ModelUnavailable) as model:
        load_model_class(use)
    with pytest.raises(ToolUnavailable) as tool:
        load_tool(ToolEntry(name="t", group="g", use=use))
    with pytest.raises(GuardrailUnavailable) as guardrail:
        load_guardrail(use)
    assert str(model.value) == told
    assert str(tool.value) == f'The tool "t" can\'t be loaded: {told}'
    assert str(guardrail.value) == f"The guardrail can't be loaded: {told}"


@pytest.mark.parametrize(
    ("use", "stops"),
    [
        ("no_such_pkg:Chat", False),
        ("langchain_ollama:ChatOllama", False),
        ("agent.nowhere:Chat", True),
        ("pathlib:gone", True),
        ("pathlib:Path", True),
    ],
)
def test_a_wrong_class_stops_the_start_and_a_missing_package_does_not(
    tmp_path: Path, use: str, stops: bool
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"config_version: 1\nmodels: [{{name: m, use: '{use}'}}]\n")
    source = ModelSource(path, environ={}, cwd=tmp_path)
    if stops:
        with pytest.raises(ModelUnavailable):
            source.verify()
    else:
        source.verify()


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads change as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hurried")
def test_many_look_at_once(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / f"asked_for_{number}.py").write_text(f"found = {number}")
    # Places that are no folders are what looking again takes out of the cache.
    sys.path_importer_cache.update({f"{tmp_path}/gone-{number}.zip": None for number in range(2000)})  # type: ignore[dict-item]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(import_object, [f"asked_for_{number}:found" for number in range(200)]))
    assert found == list(range(200))
