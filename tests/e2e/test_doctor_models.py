"""`roebot doctor` asks each model for a word, also where no service runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import orjson
import pytest
from llmock.pytest_plugin import LLMock

from bot.cli.doctor import Finding
from bot.cli.doctor.agent import _model_finding, _parse_output, check_local_models
from roebot_testing.agent import ScriptedChatModel
from tests.e2e.test_bad_input import roebot

pytestmark = pytest.mark.may_block

KEY = "sk-proj-0123456789abcdefghij"
LISTED = orjson.dumps({"models": [{"name": "a", "display_name": "A"}, {"name": "b", "note": "slow"}]})
ANSWERED = orjson.dumps({"name": "a", "ok": True, "seconds": 0.25})


def configured(folder: Path, *models: str) -> Path:
    """A configuration with these models."""
    path = folder / "config.yaml"
    path.touch(mode=0o600)
    path.write_text("server: {port: 0}\nmodels:\n" + "".join(f"  - {{{model}}}\n" for model in models))
    return path


def provider(llmock: LLMock, name: str, use: str, kind: str) -> str:
    """A model of a provider's own class, at the mock."""
    return (
        f'name: {name}, use: "{use}", model: m, api_key: "{KEY}", max_retries: 0,'
        f' base_url: "{llmock.base_url(kind)}"'
    )


def test_each_model_answers(tmp_path: Path, llmock: LLMock) -> None:
    openai = provider(llmock, "one", "langchain_openai:ChatOpenAI", "openai")
    anthropic = provider(llmock, "two", "langchain_anthropic:ChatAnthropic", "anthropic")
    configured(tmp_path, openai, anthropic)
    done = roebot("doctor", "--home", str(tmp_path / "home"), cwd=tmp_path, timeout=100.0)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    for name in ("one", "two"):
        assert len([line for line in lines if line.startswith(f"ok   model {name}, answered in ")]) == 1
    assert len(llmock.requests) == 2
    assert KEY not in done.stdout + done.stderr


def test_each_that_does_not_is_named_without_its_key(tmp_path: Path, llmock: LLMock) -> None:
    llmock.fail(401, message=f"Incorrect API key provided: {KEY}")
    configured(
        tmp_path,
        provider(llmock, "locked", "langchain_openai:ChatOpenAI", "openai"),
        'name: good, use: "roebot_testing.agent:ScriptedChatModel"',
        'name: gone, use: "no_such_provider:Chat"',
        'name: loud, use: "tests.e2e.test_doctor_models:Loud"',
    )
    done = roebot("doctor", "--home", str(tmp_path / "home"), cwd=tmp_path, timeout=100.0)
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "FAIL model locked: its provider rejected the API key." in said
    assert "ok   model good, answered in" in said
    assert "FAIL model gone: " in said
    assert "no_such_provider" in said
    assert "FAIL model loud: " in said
    assert KEY not in said
    assert "Traceback" not in said
    assert "and a secret" not in said


class Loud(ScriptedChatModel):
    """Prints what looks like an answer of the process, and cannot be made."""

    def model_post_init(self, context: object) -> None:
        print(json.dumps({"name": "good", "ok": False, "detail": "and a secret"}))
        print("and a secret", file=sys.stderr)
        raise RuntimeError("no")


def test_a_service_elsewhere_is_asked_only_while_ours_runs(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("server: {port: 0}\nruntime: {url: http://127.0.0.1:9}\n")
    done = roebot("doctor", "--home", str(tmp_path / "home"), cwd=tmp_path)
    assert (
        "note models: an external agent runtime's models can only be tested while the service is running"
        in done.stdout
    )
    assert "FAIL agent runtime at http://127.0.0.1:9: " in done.stdout
    assert "start it, or correct runtime.url" in done.stdout
    assert done.returncode == 1, done.stdout


@pytest.mark.long
def test_it_takes_no_longer_than_it_may(tmp_path: Path) -> None:
    path = configured(tmp_path, f'name: m, use: "{__name__}:Never"')
    [found] = check_local_models(path, seconds=8.0)
    assert found.good is False
    assert found.text.endswith("not tested: it did not answer within 8 s")


def __getattr__(name: str) -> object:
    """Loading `Never` takes for ever."""
    if name == "Never":
        import threading

        threading.Event().wait()
    raise AttributeError(name)


def test_what_is_not_usable_is_said(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("models: [{name: 1}]\n")
    [found] = check_local_models(path)
    assert found.good is False
    assert found.text.startswith("models: ")
    assert "config.yaml:1" in found.text


@pytest.mark.parametrize(
    ("said", "code", "texts"),
    [
        (b"", 1, ["models: not tested: the check exited with code 1"]),
        (b"", -9, ["models: not tested: it did not answer within 5 s"]),
        (b"nonsense\n[1]\n", 1, ["models: not tested: the check exited with code 1"]),
        (
            LISTED + b"\n" + ANSWERED + b'\n{"name": "b", "o',
            -9,
            [
                "model a: A, answered in 0.2 s",
                "model b (slow), not tested: it did not answer within 5 s",
            ],
        ),
    ],
)
def test_what_came_counts_where_it_was_cut_off(said: bytes, code: int, texts: list[str]) -> None:
    found = list(_parse_output(said, code, 5.0))
    assert [one.text for one in found] == texts
    assert found[-1].good is False


def test_a_name_is_said_once() -> None:
    model = {"name": "own", "display_name": "own"}
    failed = {"ok": False, "detail": 'The model "own" failed: it returned an empty answer.'}
    assert _model_finding(model, failed).text == "model own: it returned an empty answer."
    assert (
        _model_finding({**model, "display_name": "Own"}, failed).text
        == "model own: Own: it returned an empty answer."
    )


def test_a_spare_local_model_that_is_missing_is_no_failure() -> None:
    missing = {"ok": False, "detail": "Its weights are not here."}
    spare = {"name": "local", "display_name": "SmolLM2", "source": "local", "default": False}
    text = "model local: SmolLM2: Its weights are not here."
    assert _model_finding(spare, missing) == Finding(None, text)
    assert _model_finding({**spare, "default": True}, missing) == Finding(False, text)
    assert _model_finding({**spare, "source": "config"}, missing) == Finding(False, text)
