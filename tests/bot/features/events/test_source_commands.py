"""`roebot events`, with the service as a process of its own, and the check of `roebot doctor`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from bot.cli.common import bearer_headers, service_token
from bot.cli.doctor import Finding
from bot.config.events import EventsConfig
from bot.errors import StartError
from bot.features.events.backfill import backfill_command
from bot.features.events.source_commands import (
    check_cards,
    check_requests,
    check_routes,
    list_command,
    replay_command,
    try_command,
)
from bot.features.events.sources.datadog import TEMPLATE
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.service import ServiceProcess, config_text
from tests.platforms.web.serving import world

from .apis import API_TOKEN, lost_events, served
from .receiving import config, to_chat
from .receiving import send as post
from .samples import alertmanager

EVENTS = """
events:
  sources:
    alerts: {type: alertmanager, secrets: t0ken-of-alerts}
    ci: {type: github, secrets: [0ld-s3cret, n3w-s3cret]}
    hooks: {type: generic, auth: standard-webhooks, secrets: whsec_YSBrZXkgb2YgMjQgYnl0ZXMsIG9yIHNv}
    lost: {type: alertmanager, secrets: t0ken-of-alerts}
  routes:
    - {source: [alerts, ci], account: telegram, chat: 'CHAT'}
    - {source: lost, account: telegram, chat: '-7'}
"""


BACKFILLED = f"""
events:
  sources:
    ci: {{type: github, secrets: n3w-s3cret, api_url: 'API/repos/o/r/hooks/7', api_token: {API_TOKEN}}}
    errors: {{type: sentry, secrets: s3cret, api_url: 'API/api/0/organizations/o', api_token: {API_TOKEN}}}
    late: {{type: alertmanager, secrets: t0ken-of-alerts}}
  routes:
    - {{source: [ci, errors], account: telegram, chat: 'CHAT'}}
"""

pytestmark = pytest.mark.may_block


async def send(home: Path, source: str) -> int:
    return await asyncio.to_thread(try_command, source, home, None)


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
                assert f"and its card is in the chat {chat} of telegram" in capsys.readouterr().out
            told = "could not be posted in the chat -7 of telegram; it does not exist"
            with pytest.raises(StartError, match=told):
                await send(home, "lost")
            assert await send(home, "hooks") == 0
            assert "no route takes its events" in capsys.readouterr().out
            with pytest.raises(StartError, match="Event source not found"):
                await send(home, "nobody")
            assert await asyncio.to_thread(list_command, home, None) == 0
            listed = capsys.readouterr().out.splitlines()
            assert [line.split()[:2] for line in listed] == [
                ["alerts", "alertmanager"],
                ["ci", "github"],
                ["hooks", "generic"],
                ["lost", "alertmanager"],
            ]
            assert "/events/alerts  last" in listed[0]
            assert listed[2].endswith(", no route")
            async with asyncio.timeout(20):
                while [one["text"][0] for one in emulator.view(chat)["messages"]] != ["🟢", "🟢"]:
                    await asyncio.sleep(0.02)
        finally:
            service.stop()
    with pytest.raises(StartError, match="no service is running"):
        list_command(home, None)


async def test_events_are_replayed_and_backfilled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A route that is added late gets what was stored; GitHub and Sentry are asked for what was lost."""
    home, posted = tmp_path / "home", list[str]()
    async with TelegramEmulator.serve(limits=False) as emulator, served(*lost_events(posted)) as api:
        chat = emulator.people.make_group("ops")
        text = config_text(emulator, extra=BACKFILLED.replace("CHAT", str(chat)).replace("API", api))
        service = ServiceProcess(home, text, is_forked=True)
        service.start()

        async def seen(count: int) -> list[str]:
            async with asyncio.timeout(20):
                while len(found := [one["text"] for one in emulator.view(chat)["messages"]]) < count:
                    await asyncio.sleep(0.02)
            return found

        try:
            running = await service.ready(60)
            assert await send(home, "late") == 0
            assert "no route takes its events" in capsys.readouterr().out
            assert await asyncio.to_thread(backfill_command, "ci", home, None, hours=1.0) == 0
            assert posted == ["/repos/o/r/hooks/7/deliveries/2/attempts"], "the one of which none succeeded"
            assert await asyncio.to_thread(backfill_command, "errors", home, None, hours=1.0) == 0
            assert "Recovered 2 events of errors" in capsys.readouterr().out
            states = [one.split("is ")[1].split(":")[0] for one in await seen(2)]
            assert sorted(states) == ["acknowledged", "active"]
            assert await asyncio.to_thread(backfill_command, "errors", home, None, hours=1.0) == 0
            with pytest.raises(StartError, match="only github and sentry require it"):
                await asyncio.to_thread(backfill_command, "late", home, None, hours=1.0)
            routed = text.replace("source: [ci, errors]", "source: [ci, errors, late]")
            await asyncio.to_thread((home / "config.yaml").write_text, routed)
            async with asyncio.timeout(20):
                while (
                    await asyncio.to_thread(list_command, home, None) or "no route" in capsys.readouterr().out
                ):
                    await asyncio.sleep(0.05)
            for _ in range(2):
                assert await asyncio.to_thread(replay_command, "late", home, None, hours=1.0) == 0
            assert "Applied 1 requests of late again" in capsys.readouterr().out
            assert len(await seen(3)) == 3
            headers = bearer_headers(service_token(None, home))
            async with httpx.AsyncClient(headers=headers) as client:
                audit = await client.get(f"{running.url}/api/audit")
            replays = [one for one in audit.json()["entries"] if one["action"] == "events replayed"]
            assert [(one["subject"], one["detail"]) for one in replays] == [("late", "1")] * 2
            with pytest.raises(StartError, match="Event source not found"):
                await asyncio.to_thread(replay_command, "nobody", home, None, hours=1.0)
        finally:
            service.stop()
    assert len(emulator.view(chat)["messages"]) == 3, "nothing is posted twice"


def test_requests_that_point_to_a_wrong_setup_are_reported() -> None:
    fine = {"name": "a", "last": 1.0, "unauthorized": 0, "unreadable": 0, "clock_difference": None}
    assert list(check_requests(fine)) == []
    wrong = {**fine, "last": None, "unauthorized": 3, "unreadable": 1, "clock_difference": -90.0}
    found = [finding.text for finding in check_requests(wrong)]
    assert [text.split("events: ")[1].split(";")[0] for text in found] == [
        "a has sent nothing in the last day",
        "requests of a with wrong credentials: 3",
        "requests of a that are not valid for its type: 1",
        "the clock of a is 90 s behind this machine's",
    ]


async def test_a_route_to_a_chat_in_which_the_bot_cannot_write_is_reported(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    chat = emulator.people.make_group("ops")
    routes = [to_chat(place, f", match: {{service: {name}}}") for place, name in ((chat, "db"), (-7, "web"))]
    async with world(tmp_path, extra=config(emulator, *routes)) as service:
        loaded = service.service.core.config
        for name in ("db", "web"):
            assert await post(service, alertmanager("a firing 10", group=name)) == 202
        ended = "SELECT COUNT(*) FROM turns WHERE finished_at > 0"
        async with asyncio.timeout(20):
            while await service.service.db.schema(lambda one: one.exec_driver_sql(ended).scalar_one()) < 2:
                await asyncio.sleep(0.02)
        (finding,) = await asyncio.to_thread(lambda: [*check_cards(loaded, tmp_path)])
    assert finding == Finding(
        False,
        "events: the newest card for the chat -7 of telegram was not posted; it does not exist, or the bot is"
        " not in it; correct events.routes, or add the bot",
    )
    assert [*check_cards(loaded, tmp_path / "empty")] == []
    channels = {"telegram": loaded.channels["telegram"].model_copy(update={"enabled": False})}
    (finding,) = check_cards(loaded.model_copy(update={"channels": channels}), tmp_path / "empty")
    assert finding.text.startswith("events: the account telegram of a route is disabled")


def test_a_source_without_a_route_is_reported() -> None:
    config = EventsConfig.model_validate(
        {
            "sources": {name: {"type": "alertmanager", "secrets": "s3cret"} for name in ("a", "b")},
            "routes": [{"source": "a", "account": "telegram", "chat": "1"}],
        }
    )
    assert [finding.good for finding in check_routes(config)] == [True, None]


def test_the_guide_has_the_payload_for_datadog() -> None:
    guide = Path("docs/howto/connect-event-sources.md").read_text()
    assert TEMPLATE in guide
    assert json.loads(TEMPLATE)
