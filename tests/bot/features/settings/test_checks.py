"""Live checks of accounts and models before they are saved: each failure has its sentence."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from bot.features.settings import checks
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.waiters import until
from tests.platforms.web.serving import World, world

pytestmark = pytest.mark.may_block
BOT_TOKEN, APP_TOKEN = "xoxb-1-typed-by-a-person", "xapp-1-typed-by-a-person"
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def never(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        await writer.drain()
        await asyncio.get_running_loop().create_future()


def says(text: str) -> Answer:
    """A host that answers with this and closes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(text.replace("\n", "\r\n").encode())
            await writer.drain()
        writer.close()

    return answer


OK = "HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: "
CUT = says(OK + '500\n\n{"data": [{"id": "m"')
PAGE = says(OK + "6\n\n<html>")
KEY = "sk-typed-by-a-person-0123456789"
REFUSED_KEY = says(f"HTTP/1.1 401 No\nContent-Length: 40\n\nwrong key: {KEY[:28]}!")
MOVED = says("HTTP/1.1 302 Found\nLocation: http://169.254.169.254/\nContent-Length: 0\n\n")
BAD_PATH = says("HTTP/1.1 404 No\nContent-Length: 0\n\n")


@contextlib.asynccontextmanager
async def host(answer: Answer) -> AsyncIterator[str]:
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def serve() -> None:
            try:
                await answer(reader, writer)
            finally:
                writer.close()

        tasks.add(asyncio.create_task(serve()))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def check(at: World, change: dict[str, Any], **more: Any) -> dict[str, Any]:
    answer = await at.http.post("/api/settings/check", json={"change": change, **more}, timeout=60)
    assert answer.status_code == 200, answer.text
    for secret in (BOT_TOKEN, APP_TOKEN, KEY):
        assert secret not in answer.text
    found: dict[str, Any] = answer.json()
    return found


def account(platform: str, url: str, **settings: str) -> dict[str, Any]:
    given = {**settings, "base_url": url}
    return {"kind": "account", "name": platform, "platform": platform, "settings": given}


async def test_each_platform_accepts_its_keys(tmp_path: Path) -> None:
    async with (
        world(tmp_path) as at,
        TelegramEmulator.serve() as telegram,
        SlackEmulator.serve() as slack,
        DiscordEmulator.serve() as discord,
        FeishuEmulator.serve() as feishu,
    ):
        before = (tmp_path / "config.yaml").read_bytes()
        changes = (
            account("telegram", telegram.url, bot_token=telegram.token),
            account("slack", slack.url, bot_token=slack.bot_token, app_token=slack.app_token),
            account("discord", discord.url, bot_token=discord.token),
            account("feishu", feishu.url, app_id=feishu.app_id, app_secret=feishu.app_secret),
        )
        found = {one["platform"]: await check(at, one) for one in changes}
        assert all(one["ok"] is True and one["problems"] == [] for one in found.values()), found
        assert found["telegram"]["identity"] == "@roebot_bot"
        assert "client_id=" in found["discord"]["invite_link"]
        assert (tmp_path / "config.yaml").read_bytes() == before
        assert not (tmp_path / "secrets.env").exists()


async def test_tokens_that_a_platform_refuses(tmp_path: Path) -> None:
    async with (
        world(tmp_path) as at,
        TelegramEmulator.serve() as telegram,
        SlackEmulator.serve() as slack,
        DiscordEmulator.serve() as discord,
    ):
        wrong = await check(at, account("telegram", telegram.url, bot_token="1234567890:AAwrong"))
        assert wrong["ok"] is False
        assert "refuses the token" in wrong["problems"][0]["text"]
        wrong = await check(at, account("discord", discord.url, bot_token="MTIz.wrong.wrong"))
        assert "token" in wrong["problems"][0]["text"]
        swapped = await check(at, account("slack", slack.url, bot_token=APP_TOKEN, app_token=APP_TOKEN))
        assert swapped["ok"] is None
        [problem] = swapped["problems"]
        assert problem["key"] == "channels.slack.bot_token"
        assert "this is the app-level token" in problem["text"]
        partial = await check(at, account("slack", slack.url, bot_token=BOT_TOKEN))
        assert [one["key"] for one in partial["problems"]] == ["channels.slack.app_token"]
        slack.world.app_scopes = ""
        scope = await check(
            at, account("slack", slack.url, bot_token=slack.bot_token, app_token=slack.app_token)
        )
        assert scope["ok"] is False
        assert "connections:write" in scope["problems"][0]["text"]


async def test_hosts_that_are_down_slow_or_break_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "PROBE_SECONDS", 2.0)
    tokens = {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN}
    async with world(tmp_path) as at, host(never) as slow, host(CUT) as cut:
        down = await check(at, account("slack", "http://127.0.0.1:9", **tokens))
        assert "cannot reach Slack" in down["problems"][0]["text"]
        assert down["problems"][0]["text"].endswith("check the network and try again.")
        late = await check(at, account("slack", slow, **tokens))
        assert late["problems"][0]["text"] == (
            "slack did not respond within 2 s; check the network and try again."
        )
        broken = await check(at, account("slack", cut, **tokens))
        assert broken["ok"] is False
        assert broken["problems"][0]["text"].endswith("check the network and try again.")


def model(url: str, **more: Any) -> dict[str, Any]:
    return {"kind": "model", "name": "mine", "model": "", "base_url": url, "api_key": KEY, **more}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (CUT, "closed the connection before its answer was complete"),
        (PAGE, "returned no list of models; check the address"),
        (REFUSED_KEY, "refused the key; copy it again"),
        (MOVED, "returned status 302; check the address"),
        (BAD_PATH, "most addresses end in /v1"),
    ],
)
async def test_providers_that_give_no_list(tmp_path: Path, answer: Answer, expected: str) -> None:
    place = "api_key" if answer is REFUSED_KEY else "models"
    async with world(tmp_path) as at, host(answer) as url:
        found = await check(at, model(url))
        assert (found["ok"], found["models"]) == (False, None)
        assert expected in found["problems"][0]["text"]
        assert found["problems"][0]["key"] == place


async def test_a_model_is_listed_and_answers(tmp_path: Path, llmock: LLMock) -> None:
    llmock.reply("OK")
    async with world(tmp_path) as at:
        listed = await check(at, model(llmock.base_url()))
        found = await check(at, model(llmock.base_url(), model="m"), probe=True)
        assert found["ok"] is True, (found, listed)
        llmock.reset()
        llmock.fail(401, message="Incorrect API key")
        refused = await check(at, model(llmock.base_url(), model="m"), probe=True)
        assert refused["ok"] is False
        [problem] = refused["problems"]
        assert problem["key"] == "api_key"
        assert "rejected the API key" in problem["text"]
        nothing = await check(at, {**model(""), "base_url": ""})
        assert nothing["problems"][0]["key"] == "base_url"


async def test_an_account_is_live_at_once_and_its_owner_is_found_by_a_message(tmp_path: Path) -> None:
    async with world(tmp_path) as at, TelegramEmulator.serve() as telegram:
        change = account("telegram", telegram.url, bot_token=telegram.token)
        version = (await at.http.get("/api/settings")).json()["version"]
        done = await at.http.post(
            "/api/settings/apply", json={"changes": [change]}, headers={"If-Match": version}
        )
        assert done.json()["live"] == ["channels.telegram"], done.text
        await until(lambda: at.service.accounts.state("telegram").live == "live", 20.0, str)
        telegram.people.says("hello", user=8)
        waiting: list[dict[str, Any]] = []
        while not waiting:
            waiting = (await at.http.get("/api/access")).json()["waiting"]
            await asyncio.sleep(0.05)
        [request] = waiting
        entry = f"{request['account']}:8"
        given = await at.http.post(f"/api/access/waiting/{entry}", json={"role": "owner"})
        assert (given.status_code, given.json()["role"]) == (200, "owner")
        refused = {"kind": "credentials", "account": "telegram", "values": {"bot_token": "1:AAwrong"}}
        assert (await check(at, refused))["ok"] is False
        accepted = {**refused, "values": {"bot_token": telegram.token}}
        settings = (await at.http.get("/api/settings")).json()
        replaced = await at.http.post(
            "/api/settings/apply", json={"changes": [accepted]}, headers={"If-Match": settings["version"]}
        )
        assert replaced.status_code == 200, replaced.text
        [shown] = (await at.http.get("/api/settings")).json()["accounts"]
        assert shown["credentials"] == [{"key": "bot_token", "set": True, "variable": "TELEGRAM_BOT_TOKEN_2"}]
