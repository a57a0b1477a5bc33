"""The secret and the tokens are in no log, no error and no state."""

from __future__ import annotations

import logging

import pytest

from bot.errors import DeliveryError
from bot.platforms.feishu.adapter import FeishuAdapter
from roebot_testing.emulators.feishu import FeishuEmulator

from .conftest import Running, account, says


@pytest.fixture(autouse=True)
def everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    for name in ("", "aiohttp.client", "asyncio"):
        caplog.set_level(logging.DEBUG, logger=name)


async def test_a_day_of_work_never_shows_them(
    emulator: FeishuEmulator, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    running = Running(FeishuAdapter("fs", account(emulator)), emulator)
    await running.start()
    emulator.people.says(kind="file", data=b"abc", filename="a.txt")
    [message] = await running.shelf.until(1)
    assert [chunk async for chunk in running.adapter.fetch(message.attachments[0])] == [b"abc"]
    errors: list[str] = []
    await running.adapter.send(says("hi", running.private()))
    for number, kind in enumerate(("drop", "close", "error")):
        emulator.fault(kind, method="message.create")
        with pytest.raises(DeliveryError) as caught:
            await running.adapter.send(says("x", running.private(), key=f"{number + 2}:0"))
        errors.append(repr(caught.value))
    emulator.close_sockets()
    emulator.fault("close", method="token")
    emulator.revoke_token()
    assert running.task is not None
    with pytest.raises(Exception, match="account fs") as ended:
        await running.task
    errors.append(repr(ended.value))
    formatter = logging.Formatter("%(name)s %(message)s")
    logged = "\n".join(formatter.format(record) for record in caplog.records)
    shown = "\n".join([logged, *capfd.readouterr(), *errors, *(str(state) for state in running.states)])
    assert emulator.app_secret not in shown
    assert "t-emulated" not in shown
    assert "Bearer" not in shown


def test_the_configuration_hides_the_secret(emulator: FeishuEmulator) -> None:
    assert emulator.app_secret not in repr(account(emulator))
