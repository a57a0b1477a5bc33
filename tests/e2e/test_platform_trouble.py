"""What platforms and people do to a bot, on every platform: a clear state or a recorded refusal, never a
crash, never a silent loss.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.account_state import Live
from bot.app.http_server import api_services
from bot.app.service import BotService
from bot.cli.doctor.service import service as doctored
from bot.server.api.app import create_app
from tests.faults.test_broken_connections import ANSWER, AT_ONCE, GROWS, PATIENCE, Stage
from tests.harness.assertions import check_answered, whole
from tests.harness.credentials import SERVICE_TOKEN, SIGNED
from tests.harness.inprocess_service import scripted_runtime, serviced
from tests.harness.sqlite import counted, open_turns, turns
from tests.harness.waiters import until
from tests.harness.wires import WIRES
from tests.platforms.web.serving import serving

pytestmark = [pytest.mark.may_block, pytest.mark.fault]

SCALE = 0.2
PENALTY = 60.0


@pytest.fixture(params=list(WIRES))
async def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    async with scripted_runtime(tmp_path / "agent") as runtime, WIRES[request.param].serve(SCALE) as wire:
        yield Stage(wire, runtime, tmp_path / "home")


async def in_state(service: BotService, stage: Stage, *states: Live) -> str:
    """Wait until the account is in one of these states; the reason that it gives."""
    account = stage.wire.platform
    await until(
        lambda: service.accounts.state(account).live in states,
        PATIENCE,
        lambda: f"{service.accounts.state(account)}",
    )
    return service.accounts.state(account).reason


async def test_a_token_that_is_revoked_under_a_reply(stage: Stage) -> None:
    async with serviced(stage.home, stage.config()) as service:
        await stage.connected()
        place = stage.wire.asks(GROWS)
        await until(lambda: stage.wire.standing(place), PATIENCE, lambda: "no first frame")
        stage.wire.revoke()
        reason = await in_state(service, stage, Live.FAILED)
        assert stage.wire.platform in reason.lower() or "account" in reason
        stage.wire.restore()
        assert service.accounts.restart(stage.wire.platform)
        await in_state(service, stage, Live.LIVE, Live.LIMITED)
        await stage.answered(place, [ANSWER])
        stage.wire.asks("as before")
        await stage.answered(place, [ANSWER, "as before"])


async def test_a_bot_that_is_thrown_out_of_a_group(stage: Stage) -> None:
    group = stage.wire.group()
    async with serviced(stage.home, stage.config()) as service:
        await stage.connected()
        stage.wire.asks(f"[delay=1] {AT_ONCE}", group=group)
        await until(lambda: turns(stage.home) == 1, PATIENCE, lambda: "not accepted")
        stage.wire.removes_bot(group)
        await until(lambda: open_turns(stage.home) == 0, PATIENCE, lambda: "still open")
        assert counted(stage.home, "undelivered") == 1
        place = stage.wire.asks(AT_ONCE)
        await stage.answered(place, [ANSWER])
        assert service.accounts.state(stage.wire.platform).live in (Live.LIVE, Live.LIMITED)


async def test_an_answer_that_somebody_deletes_while_it_grows(stage: Stage) -> None:
    """It is posted anew where the platform tells that it is gone; Feishu goes on updating its card."""
    async with serviced(stage.home, stage.config()):
        await stage.connected()
        place = stage.wire.asks(GROWS)
        await until(lambda: stage.wire.standing(place), PATIENCE, lambda: "no first frame")
        stage.wire.deletes(place, stage.wire.standing(place)[0].id)
        if stage.wire.platform == "feishu":
            await until(lambda: open_turns(stage.home) == 0, PATIENCE, lambda: "still open")
            check_answered(stage.wire.standing(place), [ANSWER][: len(stage.wire.standing(place))])
            return
        await stage.answered(place, [ANSWER])


async def test_other_bots_are_not_answered(stage: Stage) -> None:
    group = stage.wire.group()
    async with serviced(stage.home, stage.config()):
        await stage.connected()
        stage.wire.bot_says("hello you", group)
        place = stage.wire.asks("a person", group="")
        await stage.answered(place, ["a person"])
        assert turns(stage.home) == 1
        assert stage.wire.standing(group) == []


async def test_events_that_are_unknown_or_broken(stage: Stage) -> None:
    async with serviced(stage.home, stage.config()) as service:
        await stage.connected()
        place = stage.wire.asks("before")
        await stage.answered(place, ["before"])
        sent = stage.wire.nonsense()
        stage.wire.asks("after")
        await stage.answered(place, ["before", "after"])
        outlet = service.accounts.get(stage.wire.platform)
        assert outlet is not None
        adapter: Any = outlet.adapter
        assert 1 <= adapter.counts.malformed <= sent
        assert service.accounts.state(stage.wire.platform).live is Live.LIVE


async def test_every_state_shows_at_every_door(stage: Stage) -> None:
    """The API (which the page draws), `/accounts` and `doctor` say the same of the account."""
    account = stage.wire.platform
    config = stage.config(owner=1)
    async with serviced(stage.home, config) as service:
        app = create_app(api_services(service, port=0))
        async with (
            serving(app) as (url, _),
            httpx.AsyncClient(base_url=url, headers=SIGNED, timeout=20) as http,
        ):
            await stage.connected()

            async def shown(state: Live) -> None:
                await in_state(service, stage, state)
                channels = (await http.get("/api/channels")).json()["channels"]
                assert [one["state"] for one in channels if one["account"] == account] == [state]
                found = await asyncio.to_thread(lambda: [one.text for one in doctored(url, SERVICE_TOKEN)])
                assert any(line.startswith(f"account {account} is {state}") for line in found), found
                metrics = (await http.get("/metrics")).text
                assert account in metrics

            await shown(Live.LIVE)
            place = stage.wire.asks("/accounts")
            await until(lambda: stage.wire.standing(place), PATIENCE, lambda: "no answer to /accounts")
            [told] = stage.wire.standing(place)
            assert f"{account}" in told.text and "live" in told.text
            stage.wire.penalize(place, PENALTY)
            stage.wire.asks("too much")
            await shown(Live.LIMITED)
            stage.wire.revoke()
            await shown(Live.FAILED)
            off = config.replace(f"  {account}: {{", f"  {account}: {{enabled: false, ")
            await asyncio.to_thread((stage.home / "config.yaml").write_text, off)
            await shown(Live.STOPPED)
    assert whole(stage.wire.standing(place), "too much") == []
    check_answered(stage.wire.standing(place), [told.text])
