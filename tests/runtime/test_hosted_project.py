"""Projects with packages named like ours load, and neither side imports the other's modules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import agent.errors
from agent.errors import GraphLoadError
from agent.runtime.loader import read_graphs_file

pytestmark = pytest.mark.may_block
USES = """
from __future__ import annotations
import typing
import json
from dataclasses import dataclass
{imports}

@dataclass
class State:
    value: Values

def late():
    from {package}.settings import NAME as late_name
    import {package}.settings as whole
    import {package}.settings
    assert typing.get_type_hints(State)["value"].__name__ == "Values"
    return [late_name, whole.NAME, {package}.settings.NAME, helpers.NAME]
"""
IMPORTS = """
import helpers
from {package} import settings
from {package}.settings import NAME, Values
"""
RELATIVE = "import helpers\nfrom . import settings\nfrom .settings import NAME, Values\n"


@pytest.fixture(autouse=True)
def path() -> Iterator[None]:
    """The search path and the modules as they were."""
    before, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = before
    for name in set(sys.modules) - modules:
        if name.startswith(("_hosted_", "_graph_", "helpers", "own_")):
            del sys.modules[name]


def make_project(folder: Path, root: str, package: str, files: Mapping[str, str], graph: str) -> Path:
    """A project with a `langgraph.json`; `files` are of its package."""
    place = folder / root / package
    place.mkdir(parents=True)
    for name, text in files.items():
        (place / name).write_text(text.replace("{package}", package))
    (place.parent / "helpers.py").write_text(f"from {package}.settings import NAME\n")
    (place / "settings.py").write_text(f"NAME = {folder.name!r}\nclass Values: pass\n")
    file = folder / "langgraph.json"
    file.write_text(json.dumps({"dependencies": ["."], "graphs": {"g": graph}}))
    return file


@pytest.mark.parametrize("package", ["agent", "bot", "own_package"])
@pytest.mark.parametrize("root", [".", "src"])
@pytest.mark.parametrize(
    ("files", "graph"),
    [
        (("__init__.py", "graph.py"), "./{root}/{package}/graph.py:late"),
        (("__init__.py", "graph.py"), "{package}.graph:late"),
        (("graph.py",), "./{root}/{package}/graph.py:late"),
        (("graph.py",), "{package}.graph:late"),
        (("__init__.py", "relative.py"), "{package}.relative:late"),
    ],
)
def test_a_project_finds_its_own_modules(
    tmp_path: Path, package: str, root: str, files: tuple[str, ...], graph: str
) -> None:
    texts = {
        "__init__.py": "",
        "graph.py": USES.replace("{imports}", IMPORTS),
        "relative.py": USES.replace("{imports}", RELATIVE),
    }
    chosen = {name: texts[name] for name in files}
    graph = graph.replace("{package}", package).replace("{root}", root)
    late = read_graphs_file(make_project(tmp_path, root, package, chosen, graph)).sources["g"]()
    assert late() == [tmp_path.name] * 4
    assert sys.modules["agent"].errors is agent.errors
    __import__("bot.domain")
    assert (sys.path.index(str(tmp_path / root)) == 0) == (package == "own_package")


def test_two_projects_have_packages_with_the_same_name(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        texts = {"graph.py": USES.replace("{imports}", IMPORTS)}
        file = make_project(tmp_path / name, ".", "agent", texts, "./agent/graph.py:late")
        found.append(read_graphs_file(file).sources["g"]()()[0])
    assert found == ["one", "two"]


def test_a_missing_module_is_named_as_the_project_names_it(tmp_path: Path) -> None:
    file = make_project(tmp_path, ".", "agent", {"graph.py": "import agent.lost"}, "agent.graph:late")
    with pytest.raises(GraphLoadError, match=r"No module named 'agent.lost'"):
        read_graphs_file(file).sources["g"]()


def test_our_own_folder_can_be_a_project(tmp_path: Path) -> None:
    root = Path(agent.errors.__file__).parent.parent
    file = root / "langgraph.json"
    assert callable(read_graphs_file(file).sources["lead_agent"]())
    assert not any(name.startswith("_hosted_") for name in sys.modules)


@pytest.mark.parametrize("package", ["agent", "bot"])
def test_our_commands_start_in_the_folder_of_such_a_project(tmp_path: Path, package: str) -> None:
    make_project(tmp_path, ".", package, {"__init__.py": "raise SystemExit(9)"}, "agent.graph:late")
    roebot = Path(sys.executable).parent / "roebot"
    command = [roebot, "agent", "serve", "--graphs", "lost.json", "--home", "home"]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False)
    assert (done.returncode, "can't read lost.json" in done.stderr) == (1, True), done.stderr
