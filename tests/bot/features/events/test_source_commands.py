"""`roebot events`, with the service as a process of its own, and the check of `roebot doctor`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bot.config.events import EventsConfig
from bot.errors import StartError
from bot.features.events.source_commands import check_routes, list_command, try_command
from bot.features.events.sources.datadog import TEMPLATE
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.service import ServiceProcess, config_text

EVENTS = """
events:
  sources:
    alerts: {type: alertmanager, secrets: t0ken-of-alerts}
    ci: {type: github, secrets: [0ld-s3cret, n3w-s3cret]}
    hooks: {type: generic, auth: standard-webhooks, secrets: whsec_YSBrZXkgb2YgMjQgYnl0ZXMsIG9yIHNv}
  routes:
    - {source: [alerts, ci], account: telegram, chat: 'CHAT'}
"""


pytestmark = pytest.mark.may_block


async def send(home: Path, source: str, *, resolve: bool = False) -> int:
    return await asyncio.to_thread(try_command, source, home, None, resolve=resolve)


async def test_sources_are_tried_and_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = tmp_path / "home"
    async with TelegramEmulator.serve(limits=False) as emulator:
        chat = emulator.people.make_group("ops")
        service = ServiceProcess(
            home, config_text(emulator, extra=EVENTS.replace("CHAT", str(chat))), is_forked=True
        )
        service.start()
        try:
            await service.ready(60)
            for source in ("alerts", "ci"):
                assert await send(home, source) == 0
            assert await send(home, "alerts", resolve=True) == 0
            assert await send(home, "hooks") == 0
            assert "no route takes its events" in capsys.readouterr().out
            with pytest.raises(StartError, match="known: alerts, ci, hooks"):
                await send(home, "nobody")
            assert await asyncio.to_thread(list_command, home, None) == 0
            listed = capsys.readouterr().out.splitlines()
            assert [line.split()[:2] for line in listed] == [
                ["alerts", "alertmanager"],
                ["ci", "github"],
                ["hooks", "generic"],
            ]
            assert "/events/alerts  last" in listed[0]
            assert listed[2].endswith(", no route")
            async with asyncio.timeout(20):
                while len(seen := [one["text"] for one in emulator.view(chat)["messages"]]) < 2:
                    await asyncio.sleep(0.02)
            assert sorted(text.split()[0] for text in seen) == ["🔴", "🟢"]
        finally:
            service.stop()
    with pytest.raises(StartError, match="no service is running"):
        list_command(home, None)


def test_a_source_without_a_route_is_reported() -> None:
    config = EventsConfig.model_validate(
        {
            "sources": {name: {"type": "alertmanager", "secrets": "s3cret"} for name in ("a", "b")},
            "routes": [{"source": "a", "account": "telegram", "chat": "1"}],
        }
    )
    assert [finding.good for finding in check_routes(config)] == [True, None]


def test_the_guide_has_the_payload_for_datadog() -> None:
    guide = Path("docs/howto/receive-alerts.md").read_text()
    assert TEMPLATE in guide
    assert json.loads(TEMPLATE)
