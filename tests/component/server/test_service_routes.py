"""Health, metrics, accounts, commands, sign-in, the page's shell."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
from structlog.testing import capture_logs

from bot.app.http_server import api_services
from bot.config.platforms import built_in_platforms
from bot.domain import LOCAL_PLATFORMS
from bot.errors import StoreError
from bot.server.api.app import create_app
from bot.server.api.dependencies import ApiServices
from bot.server.api.request_guard import UnexpectedErrorHandler
from tests.harness.credentials import SIGNED
from tests.harness.plugins import PIGEON, plugin_packages
from tests.platforms.web.serving import serving, world

TOKEN = "J4sQm8-pX2vR7_bT9wLc3y-Kd6Zn"


def with_core(services: ApiServices, **changed: Any) -> ApiServices:
    """Return the services with other shared parts."""
    core = copy.copy(services.core)
    for name, value in changed.items():
        setattr(core, name, value)
    return replace(services, core=core)


async def test_health_and_readiness(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        health = (await service.http.get("/health")).json()
        assert health["status"] == "ok"
        assert health["version"]
        async with asyncio.timeout(20):
            while True:
                ready = await service.http.get("/health/ready")
                assert ready.status_code == 200
                if (state := ready.json()["accounts"]["web"])["ok"]:
                    break
                await asyncio.sleep(0.02)
        assert state == {"ok": True, "detail": "live"}


async def test_accounts_with_their_states_and_reasons(tmp_path: Path) -> None:
    extra = "channels: {telegram: {bot_token: '123456:abcdefghijklmnopqrstuvwxyz', base_url: 'http://127.0.0.1:9'}}"
    async with world(tmp_path, extra=extra) as service:
        while True:
            channels = (await service.http.get("/api/channels")).json()["channels"]
            by_name = {channel["account"]: channel for channel in channels}
            if by_name["telegram"]["state"] == "failed" and by_name["web"]["state"] == "live":
                break
            await asyncio.sleep(0.02)
        assert list(by_name) == ["telegram", "terminal", "web"]
        assert "Telegram" in by_name["telegram"]["reason"]
        assert "abcdefghijklmnopqrstuvwxyz" not in str(by_name)
        assert by_name["web"]["state"] == "live"
        first = (await service.http.get("/api/channels", params={"limit": 2})).json()
        second = (await service.http.get("/api/channels", params={"cursor": first["next"]})).json()
        assert [c["account"] for c in first["channels"] + second["channels"]] == list(by_name)
        ready = await service.http.get("/health/ready")
        assert ready.status_code == 200
        assert ready.json()["accounts"]["telegram"]["ok"] is False


async def test_commands_are_offered_with_their_summaries(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        commands = (await service.http.get("/api/commands")).json()["commands"]
        known = {command["name"]: command for command in commands}
        assert {"help", "new", "status", "stop", "retry", "plan", "whoami", "accounts"} <= set(known)
        assert known["plan"]["usage"] == "/plan [on/off]"
        assert known["accounts"]["role"] == "admin"
        assert known["stop"]["summary"]


async def test_signing_in_and_out(tmp_path: Path) -> None:
    async with world(tmp_path, server=f", token: {TOKEN}", headers={}) as service:
        http = service.http
        assert '/app/sign-in.js"' in (await http.get("/")).text
        assert (await http.get("/api/conversations")).status_code == 401
        wrong = await http.post("/api/session", json={"token": "wrong"})
        assert (wrong.status_code, wrong.json()) == (
            401,
            {"detail": "Wrong token. `roebot token` prints the right one."},
        )
        signed = await http.post("/api/session", json={"token": TOKEN})
        assert signed.status_code == 204
        cookie = signed.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert TOKEN not in cookie
        assert (await http.get("/api/conversations")).status_code == 200
        assert 'app/main.js"' in (await http.get("/")).text
        assert (await http.delete("/api/session")).status_code == 204
        assert (await http.get("/api/conversations")).status_code == 401
        for _ in range(9):
            await http.post("/api/session", json={"token": "wrong"})
        locked = await http.post("/api/session", json={"token": "wrong"})
        assert locked.status_code == 429
        assert 55 <= int(locked.headers["retry-after"]) <= 60


async def test_a_bearer_token_needs_no_session(tmp_path: Path) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with world(tmp_path, server=f", token: {TOKEN}", headers=headers) as service:
        conversation = await service.open()
        posted = await service.say(conversation, "hello")
        assert (await service.turn(posted["turn"]))["state"] == "done"
        assert (await service.http.get("/health/ready")).json()["database"]["ok"]
        async with httpx.AsyncClient(verify=False, base_url=service.url) as stranger:
            assert (await stranger.get("/health")).status_code == 200
            assert (await stranger.get("/health/ready")).json() == {"ready": True}
            for path in ("/metrics", "/api/openapi.json", "/api/langgraph/info"):
                assert (await stranger.get(path)).status_code == 401, path


async def test_the_page_and_its_files(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        page = await service.http.get("/")
        assert page.headers["content-type"].startswith("text/html")
        assert page.headers["cache-control"] == "no-store"
        assert "<script>" not in page.text
        assert "style=" not in page.text
        assert (await service.http.get("/favicon.ico")).status_code == 204
        script = await service.http.get("/static/app/main.js")
        assert script.headers["content-type"].startswith("text/javascript")
        for path in ("/static/../page.py", "/static/%2e%2e/page.py", "/static/app", "/static/nothing"):
            assert (await service.http.get(path)).status_code == 404


async def test_what_nobody_expected_is_logged_and_a_generic_500() -> None:
    async def failing(scope: object, receive: object, send: object) -> None:
        raise RuntimeError("secret detail")

    transport = httpx.ASGITransport(app=UnexpectedErrorHandler(failing))
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        with capture_logs() as logged:
            answer = await client.get("/api/turns")
    assert answer.status_code == 500
    assert answer.json() == {"detail": "Something went wrong; see the log for details."}
    assert [(line["event"], line["path"]) for line in logged] == [("request_failed", "/api/turns")]


class ClosedDatabase:
    """A database that went away."""

    async def transact(self, *_args: object, **_named: object) -> Any:
        raise StoreError("disk I/O error")

    async def close(self) -> None:
        """Nothing to close."""


async def test_a_database_that_is_away_is_said_so(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        services = api_services(service.service, port=0)
        away = with_core(services, db=ClosedDatabase())
        async with (
            serving(create_app(away)) as (url, _),
            httpx.AsyncClient(verify=False, base_url=url, headers=SIGNED) as client,
        ):
            ready = await client.get("/health/ready")
            assert ready.status_code == 503
            assert ready.json()["database"] == {"ok": False, "detail": "disk I/O error"}
            assert ready.json()["runtime"]["ok"] is True
            for answer in (
                await client.get("/api/conversations"),
                await client.post("/api/conversations", json={}),
                await client.get("/metrics"),
            ):
                assert answer.status_code == 503
                assert answer.json() == {"detail": "The database is not responding; see the log for details."}


async def test_the_console_offers_every_platform(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    with plugin_packages(packages) as install:
        install("pigeons", pigeon="pigeons:PLATFORM")
        install(
            "owls",
            PIGEON.replace("pigeon", "owl").replace("return {", "return 1 / 0, {"),
            owl="owls:PLATFORM",
        )
        async with world(tmp_path) as service:
            offers = (await service.http.get("/api/channels")).json()["platforms"]
    by_name = {offer["name"]: offer for offer in offers}
    assert list(by_name) == [*(one for one in built_in_platforms() if one not in LOCAL_PLATFORMS), "pigeon"]
    assert by_name["slack"]["keys"] == {"bot_token": "SLACK_BOT_TOKEN", "app_token": "SLACK_APP_TOKEN"}
    assert by_name["pigeon"]["title"] == "Carrier pigeon"
    assert "Feed them **daily**." in by_name["pigeon"]["guide"]
