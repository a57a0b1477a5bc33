"""What a `use:` names, and what a person is told where it can't be imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.errors import GuardrailUnavailable, ModelUnavailable, ToolUnavailable
from agent.guardrails.loading import load_provider
from agent.importing import NotImported, Problem, imported
from agent.models.resolve import load_class
from agent.models.source import ModelSource
from agent.tools.loading import ToolEntry, load_tool

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
    assert imported("pathlib:Path") is Path


@pytest.mark.parametrize(
    ("use", "problem", "told"),
    [
        (
            "no_such_pkg.tools:x",
            Problem.PACKAGE,
            "no_such_pkg.tools:x needs the package no_such_pkg, which is not installed."
            " Install it: pip install no-such-pkg",
        ),
        (
            "langchain_ollama:ChatOllama",
            Problem.PACKAGE,
            "langchain_ollama:ChatOllama needs the package langchain_ollama, which is not installed."
            " Install it: pip install 'roebot[ollama]'",
        ),
        (
            "half_there:Chat",
            Problem.PACKAGE,
            "half_there:Chat needs the package no_such_package_here, which is not installed."
            " Install it: pip install no-such-package-here",
        ),
        (
            "agent.nowhere.at_all:x",
            Problem.MODULE,
            "There is no module agent.nowhere (use: agent.nowhere.at_all:x).",
        ),
        ("pathlib:Nothing", Problem.NAME, "pathlib has no Nothing (use: pathlib:Nothing)."),
        ("raises_at_once:x", Problem.BROKEN, "raises_at_once can't be imported (RuntimeError: no key …)."),
        (
            "looks_for_itself:x",
            Problem.BROKEN,
            "looks_for_itself can't be imported (ModuleNotFoundError: get the thing from its vendor).",
        ),
        (
            "asks_too_much:x",
            Problem.BROKEN,
            "asks_too_much can't be imported (AttributeError: module 'pathlib' has no attribute 'gone').",
        ),
    ],
)
def test_what_can_not_be_imported_says_what_to_do(use: str, problem: Problem, told: str) -> None:
    with pytest.raises(NotImported) as caught:
        imported(use)
    assert (caught.value.problem, str(caught.value)) == (problem, told)


@pytest.mark.parametrize("use", ["no_such_pkg:x", "agent.nowhere:x", "pathlib:gone", "wants_a_name:x"])
def test_models_tools_and_guardrails_tell_the_same(use: str) -> None:
    with pytest.raises(NotImported) as caught:
        imported(use)
    told = str(caught.value)
    with pytest.raises(ModelUnavailable) as model:
        load_class(use)
    with pytest.raises(ToolUnavailable) as tool:
        load_tool(ToolEntry(name="t", group="g", use=use))
    with pytest.raises(GuardrailUnavailable) as guardrail:
        load_provider(use)
    assert str(model.value) == told
    assert str(tool.value) == f'The tool "t" can\'t be loaded: {told}'
    assert str(guardrail.value) == f"The guardrail can't be loaded: {told}"


@pytest.mark.parametrize(
    ("use", "stops"),
    [
        ("no_such_pkg:Chat", False),
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
