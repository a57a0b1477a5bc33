"""Graphs in every form that a `langgraph.json` may name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.errors import GraphLoadError
from agent.runtime.graphs import factory_parameters
from agent.runtime.loader import load_object, read_graphs_file
from tests.runtime.serving import serve

pytestmark = pytest.mark.may_block

MODULE = """
import operator, os
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated
from typing_extensions import TypedDict
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph

class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]

made = []

def build(name):
    made.append(name)
    graph = StateGraph(State)
    graph.add_node("node", lambda state: {"log": [name]})
    graph.add_edge(START, "node")
    return graph

builder = build("builder")
compiled = build("compiled").compile()

def plain():
    return build("plain")

def of_config(config: RunnableConfig):
    return build(config["configurable"].get("flavour", "none")).compile()

async def of_both(config: RunnableConfig, runtime):
    assert runtime.store is not None
    context = "run" if runtime.execution_runtime else "look"
    return build(context).compile()

async def of_runtime(runtime: "ServerRuntime"):
    return build(runtime.access_context)

@asynccontextmanager
async def opened(config):
    made.append("open")
    yield build("opened")
    made.append("closed")

@contextmanager
def held():
    yield build("held").compile()

class Holder:
    graph = build("inner")

async def late():
    return build(os.environ["FLAVOUR_OF_TEST"])

number = 7
def wrong():
    return 7
def three(a, b, c):
    return None
"""
GRAPHS = {
    name: f"./graphs.py:{name}"
    for name in (
        "builder",
        "compiled",
        "plain",
        "of_config",
        "of_both",
        "of_runtime",
        "opened",
        "held",
        "late",
        "wrong",
        "three",
    )
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the module above."""
    (tmp_path / "graphs.py").write_text(MODULE)
    return tmp_path


def write(folder: Path, **content: Any) -> Path:
    """A `langgraph.json`."""
    file = folder / "langgraph.json"
    file.write_text(json.dumps(content))
    return file


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ("builder", "builder"),
        ("compiled", "compiled"),
        ("plain", "plain"),
        ("of_config", "mint"),
        ("of_both", "run"),
        ("of_runtime", "threads.create_run"),
        ("opened", "opened"),
        ("held", "held"),
        ("late", "tested"),
    ],
)
async def test_each_form_runs_and_shows_its_state(
    folder: Path, graph: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLAVOUR_OF_TEST", "tested")
    sources = read_graphs_file(write(folder, graphs=GRAPHS)).sources
    async with serve(folder / "home", sources=sources) as served:
        thread = (await served.client.threads.create())["thread_id"]
        for _ in range(2):
            values = await served.client.runs.wait(
                thread, graph, input={"log": []}, config={"configurable": {"flavour": "mint"}}
            )
        assert values["log"] == [expected] * 2
        assert (await served.client.threads.get_state(thread))["values"] == values


@pytest.mark.parametrize("graph", ["wrong", "three"])
async def test_what_is_no_graph_fails_its_run(folder: Path, graph: str) -> None:
    sources = read_graphs_file(write(folder, graphs=GRAPHS)).sources
    async with serve(folder / "home", sources=sources) as served:
        values = await served.client.runs.wait(None, graph, input={}, raise_error=False)
        assert values["__error__"]["error"] == "GraphLoadError"


def test_long_entries_dependencies_and_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("KEPT_BY_TEST", "mine")
    for name in ("FROM_FILE_BY_TEST", "QUOTED_BY_TEST"):
        monkeypatch.setenv(name, "x")
        monkeypatch.delenv(name)
    (folder / "src").mkdir()
    (folder / ".env").write_text(
        "# comment\nexport FROM_FILE_BY_TEST=1 # one\nQUOTED_BY_TEST='two words'\nKEPT_BY_TEST=theirs\n"
        "\nnonsense\n"
    )
    file = read_graphs_file(
        write(
            folder,
            graphs={"a": {"path": "./graphs.py:Holder.graph", "description": "An inner one"}},
            dependencies=[".", "langchain"],
            env=".env",
            checkpointer={"path": "./x.py:y"},
            http={},
        )
    )
    assert file.descriptions == {"a": "An inner one"}
    assert type(file.sources["a"]()).__name__ == "StateGraph"
    assert file.sources["a"]() is file.sources["a"]()
    assert os.environ["FROM_FILE_BY_TEST"] == "1"
    assert os.environ["QUOTED_BY_TEST"] == "two words"
    assert os.environ["KEPT_BY_TEST"] == "mine"
    assert sys.path[:2] == [str(folder / "src"), str(folder)]


def test_environment_as_a_mapping(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAPPED_BY_TEST", "x")
    monkeypatch.delenv("MAPPED_BY_TEST")
    read_graphs_file(write(folder, graphs={"a": "x:y"}, env={"MAPPED_BY_TEST": "yes"}))
    assert os.environ["MAPPED_BY_TEST"] == "yes"


def test_webhooks_take_headers_and_their_secret_from_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LG_WEBHOOK_TEST", "ROEBOT_WEBHOOK_SECRET"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    (folder / ".env").write_text("LG_WEBHOOK_TEST=abc\nROEBOT_WEBHOOK_SECRET=whsec_c2VjcmV0\n")
    webhooks = {"url": {"allowed_domains": ["A.example"]}, "headers": {"X-Key": "${{ env.LG_WEBHOOK_TEST }}"}}
    file = write(folder, graphs={"a": "x:y"}, env=".env", webhooks=webhooks)
    project = read_graphs_file(file).project
    assert project.webhooks is not None
    assert project.webhooks.headers == {"x-key": "abc"}
    assert project.webhooks.check_url("https://a.example/x") == "a.example"
    assert project.webhook_secret == b"secret"
    assert "ROEBOT_WEBHOOK_SECRET" not in os.environ
    assert read_graphs_file(write(folder, graphs={"a": "x:y"})).project.webhooks is None
    hidden = read_graphs_file(write(folder, graphs={"a": "x:y"}, http={"disable_webhooks": True}))
    assert hidden.project.disabled == {"webhooks"}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "not JSON"),
        ('{"graphs": {"a": "x:y"}, "webhooks": {"url": {"unknown": 1}}}', "webhooks.url.unknown"),
        ("{}", "graphs"),
        ('{"graphs": {}}', "graphs"),
        ('{"graphs": {"a": 3}}', "graphs.a"),
        ('{"graphs": {"a": "x:y"}, "env": "missing.env"}', "missing.env"),
    ],
)
def test_a_bad_file_says_what_is_wrong(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "langgraph.json"
    file.write_text(content)
    with pytest.raises(GraphLoadError, match=told):
        read_graphs_file(file)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(GraphLoadError, match="can't read"):
        read_graphs_file(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("nothing", "must have the form"),
        ("json:", "must have the form"),
        ("no.such.module:x", "can't import"),
        ("json:nothing", "has no 'nothing'"),
        ("./missing.py:x", "can't import"),
        ("./broken.py:x", "SyntaxError"),
        ("./data.txt/x:y", "is not a Python file"),
    ],
)
def test_a_bad_reference_says_what_is_wrong(tmp_path: Path, reference: str, told: str) -> None:
    (tmp_path / "broken.py").write_text("def")
    (tmp_path / "data.txt").mkdir()
    with pytest.raises(GraphLoadError, match=told):
        load_object(reference, tmp_path)


def test_modules_are_loaded_by_import_string() -> None:
    assert load_object("json:dumps") is json.dumps


def test_factory_parameters_with_defaults_are_left_alone() -> None:
    def factory(config: Any, extra: int = 3, *, other: int = 4) -> None: ...

    assert factory_parameters(factory) == ("config",)
    assert factory_parameters(lambda: None) == ()


@pytest.mark.guard(
    "runtime: protection that it lacks is not ignored",
    "agent/runtime/loader.py",
    "refused = [key for key in UNSUPPORTED_SECURITY if getattr(file, key)]",
    "refused: list[str] = []",
    against="no credential",
)
@pytest.mark.parametrize(
    ("key", "value", "name"),
    [
        ("http", {"mount_prefix": "/x"}, "http.mount_prefix"),
        ("http", {"cors": {}, "disable_unknown": True}, "http.disable_unknown"),
        ("encryption", {"path": "./encryption.py:encryption"}, "encryption"),
    ],
)
def test_protection_that_this_runtime_lacks_is_not_ignored(
    tmp_path: Path, key: str, value: Any, name: str
) -> None:
    path = tmp_path / "langgraph.json"
    path.write_text(json.dumps({"graphs": {"g": "./g.py:graph"}, key: value}))
    with pytest.raises(GraphLoadError, match=f"langgraph.json: this runtime does not implement {name},"):
        read_graphs_file(path)


def test_a_misspelled_key_is_named(tmp_path: Path) -> None:
    path = tmp_path / "langgraph.json"
    path.write_text(json.dumps({"graphs": {"g": "./g.py:graph"}, "webhooks": {"urls": {}}}))
    with pytest.raises(GraphLoadError, match=r"^langgraph\.json: webhooks\.urls: unknown key$"):
        read_graphs_file(path)


def test_empty_protection_is_no_protection(tmp_path: Path) -> None:
    path = tmp_path / "langgraph.json"
    path.write_text(json.dumps({"graphs": {"g": "./g.py:graph"}, "auth": None, "http": {}}))
    assert list(read_graphs_file(path).sources) == ["g"]


def test_a_folder_with_protection_that_is_missing_here_is_not_served(tmp_path: Path) -> None:
    path = tmp_path / "langgraph.json"
    path.write_text(json.dumps({"graphs": {"g": "./g.py:graph"}, "encryption": {"path": "./e.py:e"}}))
    arguments = ["--graphs", str(path), "--home", str(tmp_path / "home"), "--port", "0"]
    done = subprocess.run(
        [sys.executable, "-m", "agent.serve", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("roebot agent: langgraph.json: this runtime does not implement encryption")
