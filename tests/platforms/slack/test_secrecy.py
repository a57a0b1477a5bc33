"""No token in errors, states or logs, whatever goes wrong."""

from __future__ import annotations

import logging

import pytest

from bot.domain import OutboundFile
from bot.errors import DeliveryError
from roebot_testing.emulators.slack import SlackEmulator

from .conftest import Running, final, frame


@pytest.mark.parametrize("method", ["chat.postMessage", "chat.startStream", "files.completeUploadExternal"])
@pytest.mark.parametrize("kind", ["close", "drop", "error"])
async def test_errors_and_logs_hold_no_token(
    running: Running,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    method: str,
    kind: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    await running.stop()
    await running.start()
    address = await running.asked()
    running.emulator.fault(kind, method=method, times=3)
    errors: list[DeliveryError] = []
    for attempt in (
        running.adapter.send(final("x", address, "1:0")),
        running.adapter.send(frame("x", address, "2:0")),
        running.adapter.send_file(OutboundFile("3:0", address, "a", "text/plain", b"x")),
    ):
        try:
            await attempt
        except DeliveryError as error:
            errors.append(error)
    assert errors or running.emulator.counters()["faults_struck"]
    told = " ".join(f"{error} {error!r} {error.__cause__}" for error in errors)
    told += capsys.readouterr().out + " ".join(record.getMessage() for record in caplog.records)
    told += " ".join(state.reason for state in running.states)
    for secret in (running.emulator.bot_token, running.emulator.app_token):
        assert secret not in told


async def test_a_refused_token_is_not_repeated_to_people(
    emulator: SlackEmulator, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    running = Running(emulator, bot_token="xoxb-very-secret")
    await running.start()
    await running.stop()
    assert "very-secret" not in running.state.reason + caplog.text
    assert "invalid_auth" in running.state.reason
