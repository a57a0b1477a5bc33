"""From a chat to the page: the link is asked for on each platform, and leads to the same person."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx
import pytest

from bot.app.http_server import api_services
from bot.server.api.app import create_app
from tests.e2e.test_memory import MODEL, told
from tests.harness.people import PlatformUser, at_work
from tests.harness.waiters import until
from tests.platforms.web.serving import serving

pytestmark = pytest.mark.may_block
LINK = re.compile(r"(http://127\.0\.0\.1:\d+)/#code=([0-9a-f]{40})")
KEEPING = f"{MODEL}\nmemory: {{debounce_seconds: 0.2}}"


async def says(client: httpx.AsyncClient, text: str) -> str:
    """What the bot answers to this at the page."""
    conversation = (await client.post("/api/conversations", json={})).json()["id"]
    posted = await client.post(f"/api/conversations/{conversation}/messages", json={"text": text})
    assert posted.status_code == 202, posted.text
    while True:
        turn = (await client.get(f"/api/turns/{posted.json()['turn']}")).json()
        if turn["finished_at"]:
            return str(turn["parts"][0]["text"])
        await asyncio.sleep(0.05)


async def test_who_asks_in_the_chat_is_the_same_at_the_page(driver: PlatformUser, tmp_path: Path) -> None:
    async with (
        at_work(tmp_path, driver, KEEPING) as service,
        serving(create_app(api_services(service, port=0))) as (service.core.address, _),
    ):
        driver.writes("hello")
        await until(driver.texts, 40.0, lambda: "no answer")
        found = LINK.search((await told(driver, "/page")).replace("\\", ""))
        assert found is not None, driver.texts()
        async with httpx.AsyncClient(base_url=found[1], timeout=30) as client:
            assert (await client.post("/api/session", json={"code": found[2]})).status_code == 204
            who = (await client.get("/api/session")).json()
            assert (who["role"], who["how"]) == ("member", "link")
            person = who["person"]
            assert person.partition(":")[0] in service.accounts.states()
            assert f"`{person}`" in await says(client, "/whoami")
            mine = (await client.get("/api/conversations", params={"account": who["account"]})).json()
            assert {one["owner"] for one in mine["conversations"]} == {person}
            # What is said at the page is remembered in the chat.
            await says(client, "I like tea.")
            while "tea" not in await told(driver, "/memory"):
                await asyncio.sleep(0.2)
            assert "tea" in (await client.get("/api/memory")).text
