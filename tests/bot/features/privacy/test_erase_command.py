"""What `roebot erase` says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.app.home import RunningService
from bot.errors import StartError
from bot.features.privacy import erase_command as erase
from bot.server import console

REPORT: dict[str, Any] = {
    "messages": 2,
    "threads": 0,
    "shared_threads": 1,
    "open_messages": 0,
    "remembers": False,
    "done": True,
    "erased": {"messages": 2, "quotations": 4, "uploads": 0},
    "unsupported": [],
    "backups": ["/backups/one.tar.gz"],
}


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The service's answer, and the request that it got."""
    told: dict[str, Any] = {"status": 200, "body": REPORT}

    def respond(request: httpx.Request) -> httpx.Response:
        told["request"] = request
        return httpx.Response(told["status"], json=told["body"])

    client = httpx.Client

    def make_client(**options: Any) -> httpx.Client:
        return client(**options, transport=httpx.MockTransport(respond))

    monkeypatch.setattr(erase.httpx, "Client", make_client)
    monkeypatch.setattr(erase, "find_service", lambda _home: RunningService(1, "http://127.0.0.1:1"))
    monkeypatch.setattr(erase, "service_token", lambda _file, _home: "secret")
    return told


def run(tmp_path: Path, *, as_json: bool = False) -> int:
    return erase.erase_command("telegram:5", tmp_path, None, yes=True, as_json=as_json)


def test_it_prints_what_was_erased_where(
    tmp_path: Path, answer: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Messages and their answers: 2",
        "Masked quotations in stored answers and messages: 4",
        "Backup that still contains the data: /backups/one.tar.gz",
        "Finished.",
    ]
    request = answer["request"]
    assert (request.method, request.url.path) == ("DELETE", "/api/people/telegram:5/data")
    assert request.headers["authorization"] == "Bearer secret"


def test_what_is_left_is_said(
    tmp_path: Path, answer: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    answer["body"] = {**REPORT, "erased": {}, "done": False, "remembers": True, "open_messages": 3}
    assert run(tmp_path) == 1
    said = capsys.readouterr().out
    assert "Nothing was stored." in said
    assert "Messages in progress, erased later: 3" in said
    assert "The agent runtime is busy or not responding" in said
    assert "the service continues by itself" in said


def test_json_is_the_whole_report(
    tmp_path: Path, answer: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, as_json=True) == 0
    assert json.loads(capsys.readouterr().out) == REPORT


def test_a_refusal_is_passed_on(tmp_path: Path, answer: dict[str, Any]) -> None:
    answer.update(status=422, body={"detail": "person: unknown platform"})
    with pytest.raises(StartError, match="unknown platform"):
        run(tmp_path)


def test_it_needs_a_running_service(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=re.escape(f"with the data directory {tmp_path}. Start it with")):
        run(tmp_path)


@pytest.mark.parametrize("person", ["telegram", "telegram:", ":5", "telegram:5/../x"])
def test_a_wrong_person_is_refused_before_anything_is_asked(
    tmp_path: Path, answer: dict[str, Any], person: str
) -> None:
    with pytest.raises(StartError, match="expected platform:id"):
        erase.erase_command(person, tmp_path, None, yes=False, as_json=False)
    assert "request" not in answer


def test_an_erasure_that_is_not_confirmed(
    tmp_path: Path,
    answer: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(erase, "confirm", lambda _question, default: default)
    assert erase.erase_command("telegram:5", tmp_path, None, yes=False, as_json=False) == 1
    assert capsys.readouterr().err == "roebot: nothing was erased\n"
    assert "request" not in answer


def test_a_wrong_token_names_its_remedy(tmp_path: Path, answer: dict[str, Any]) -> None:
    answer.update(status=401, body={"detail": "Wrong token."})
    with pytest.raises(StartError, match="same configuration and ROEBOT_TOKEN"):
        run(tmp_path)


def test_the_console_reports_the_same_places() -> None:
    script = (Path(console.__file__).parent / "static/people/texts.js").read_text()
    shown = dict(re.findall(r'^  "erase\.place\.(\w+)": \["(.+?)", ', script, re.MULTILINE))
    assert shown == {name: place[0].upper() + place[1:] for name, place in erase.PLACES.items()}
