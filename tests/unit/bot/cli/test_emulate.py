"""Unit tests: `roebot emulate` finds the emulators, which another package contains."""

from __future__ import annotations

import sys

import pytest

from bot.cli.emulate import EMULATORS, MISSING, run_emulator


def test_an_emulator_of_another_host_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_emulator("telegram", ["--host", "192.0.2.1"]) == 2
    assert "listens on 127.0.0.1 only" in capsys.readouterr().out


def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in (EMULATORS, "roebot_testing"):
        monkeypatch.setitem(sys.modules, module, None)
    assert run_emulator("telegram", []) == 2
    assert capsys.readouterr().out == f"{MISSING}\n"


def test_an_unknown_platform_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_emulator("pigeon", []) == 2
    assert "there is no emulator of pigeon; choose discord, " in capsys.readouterr().out
