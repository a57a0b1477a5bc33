"""What `roebot doctor` makes of the service's answers."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from bot.app.home import write_service_file
from bot.app.http_server import api_services
from bot.cli.doctor import Finding, command
from bot.cli.doctor import agent as doctor_agent
from bot.cli.doctor.command import run_checks
from bot.cli.doctor.home import room
from bot.cli.doctor.service import unready
from bot.server.api.app import create_app
from tests.harness.credentials import SIGNED
from tests.platforms.web.serving import serving, world

pytestmark = pytest.mark.may_block

MODEL = "models: [{name: m, use: 'roebot_testing.agent:ScriptedChatModel'}]\n"
ACCOUNTS = {"slack": {"ok": False, "detail": "failed"}}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            {"ready": False, "runtime": {"ok": False, "detail": "It is away."}, "accounts": {}},
            "not ready; runtime: It is away.",
        ),
        (
            {"ready": False, "runtime": {"ok": True, "detail": ""}, "accounts": ACCOUNTS},
            "not ready; see the accounts below",
        ),
        (["?"], '["?"]'),
    ],
)
def test_what_is_not_ready_is_said_in_words(answer: object, words: str) -> None:
    assert unready(httpx.Response(503, json=answer)) == words


def _told(home: Path, file: Path | None) -> list[Finding]:
    return list(run_checks(home, file))


async def test_the_doctor_looks_at_the_file_of_the_running_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    async with world(tmp_path, extra=MODEL) as service:
        write_service_file(tmp_path, service.url, tmp_path / "config.yaml")
        found = await asyncio.to_thread(_told, tmp_path, None)
        assert Finding(True, f"configuration: {tmp_path / 'config.yaml'}") in found
        assert not [one for one in found if "another configuration" in one.text]
        other = tmp_path / "elsewhere" / "other.yaml"
        other.write_text("config_version: 1")
        found = await asyncio.to_thread(_told, tmp_path, other)
        differs = f"the running service uses a different configuration: {tmp_path / 'config.yaml'}"
        assert Finding(None, differs) in found
        write_service_file(tmp_path, service.url, None)
        found = await asyncio.to_thread(_told, tmp_path, other)
        assert Finding(None, "the running service uses a different configuration: no file") in found


async def test_a_runtime_that_ended_says_why(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        services = replace(
            api_services(service.service, port=0), runtime_trouble=lambda: "The tool is broken."
        )
        service.runtime.should_exit = True
        async with (
            serving(create_app(services)) as (url, _),
            httpx.AsyncClient(base_url=url, headers=SIGNED) as http,
        ):
            while (ready := await http.get("/health/ready")).is_success:
                await asyncio.sleep(0.02)
        detail = ready.json()["runtime"]["detail"]
        assert detail.startswith(
            "The agent runtime is not responding. Its process exited: The tool is broken."
        )
        assert "logs/agent.log" in detail
        assert await service.service.list_config_problems() == []


def test_a_service_that_is_gone_meanwhile() -> None:
    (finding,) = doctor_agent.check_served_config("http://127.0.0.1:9", {})
    assert finding.good is False


def test_a_configuration_that_is_not_tried_in_time(tmp_path: Path) -> None:
    (problem,) = doctor_agent.find_problems(None, tmp_path, seconds=0.001)
    assert doctor_agent.format_problem(problem).endswith(
        "could not check the configuration: it did not finish within 0 s"
    )


def test_a_check_that_ends_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_agent, "MODULE", "agent.no_such_module")
    (problem,) = doctor_agent.find_problems(None, tmp_path)
    assert problem["what"].endswith("the check exited with code 1")


@pytest.mark.parametrize(("free", "good"), [(50_000_000, False), (500_000_000, None), (50_000_000_000, True)])
def test_room_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, good: bool | None
) -> None:
    asked = []

    def usage(path: Path) -> object:
        asked.append(path)
        return SimpleNamespace(free=free)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    finding = room(tmp_path / "not" / "there")
    assert finding.good is good
    assert asked == [tmp_path]


def test_findings_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [Finding(True, "a ☂", "home"), Finding(None, "b", "port")]
    monkeypatch.setattr(command, "run_checks", lambda _home, _file: iter(found))
    assert command.doctor_command(tmp_path, None, as_json=True) == 0
    assert json.loads(capsys.readouterr().out) == {
        "ok": True,
        "findings": [
            {"state": "ok", "check": "home", "text": "a ☂"},
            {"state": "note", "check": "port", "text": "b"},
        ],
    }
    found.append(Finding(False, "c", "clock"))
    assert command.doctor_command(tmp_path, None, as_json=True) == 1
    assert not json.loads(capsys.readouterr().out)["ok"]
