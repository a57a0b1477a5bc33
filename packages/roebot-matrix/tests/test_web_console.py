"""An account connected in the web console of a new service: troubles first, then the first answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from llmock.pytest_plugin import LLMock
from playwright.async_api import Browser, expect
from synapse import Synapse
from test_end_to_end import PATIENCE, People, until

from tests.browser.conftest import browser
from tests.browser.setting_up import Owner, Planted, connect_model, look_everywhere, new_service, owner_at

__all__ = ["browser"]
pytestmark = pytest.mark.timeout(400)
REFUSED = {
    "en-GB": ("the homeserver refuses the access token", "get a new one"),
    "zh-CN": ("homeserver 拒绝了账号 matrix 的访问令牌", "并填写新的令牌"),
}
DOWN = {
    "en-GB": ("the homeserver can't be reached", "check the network and try again."),
    "zh-CN": ("无法连接账号 matrix 的 homeserver", "请检查网络和地址，然后重试。"),
}


async def begin(owner: Owner) -> None:
    """Open the form, which asks for the homeserver's address once."""
    await owner.opens("accounts")
    await owner.tab.page.locator("#connect").click()
    await owner.tab.page.locator('a.tile[href$="/matrix"]').click()
    await expect(owner.input("base_url")).to_have_count(1)
    await expect(owner.tab.page.locator("roe-connect-account .text-button")).to_have_count(0)


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
async def test_from_an_empty_folder_to_an_answer(
    browser: Browser, tmp_path: Path, llmock: LLMock, homeserver: Synapse, locale: str
) -> None:
    llmock.tool_mode("off")
    llmock.reply("A roe deer.", times=None)
    people, planted = People(homeserver, *map(homeserver.register, ("roebot", "ann", "ben"))), Planted()
    planted.all.append(people.bot.token)
    folder = tmp_path / "empty"
    async with new_service(folder) as (service, link), owner_at(browser, link, locale) as owner:
        await connect_model(owner, llmock.base_url(), planted.make("model"))
        for url, wrong in ((homeserver.url, REFUSED), ("http://127.0.0.1:9", DOWN)):
            await begin(owner)
            await owner.input("base_url").fill(url)
            await owner.input("access_token").fill(planted.make("matrix.access_token"))
            said = await owner.reads("access_token")
            assert all(words in said for words in wrong[locale]), said
        await begin(owner)
        owner.inputs = 0
        await owner.enters("base_url", homeserver.url)
        await owner.enters("access_token", people.bot.token)
        await owner.presses(owner.tab.dialog.locator(".primary"))
        await expect(owner.step(3).locator(".accepted")).to_be_visible()
        chat = people.private(people.ann)
        homeserver.says(people.ann, chat.room, "hello")
        await owner.presses(owner.step(4).locator(".banner .primary"))
        await expect(owner.tab.page.locator("p.banner")).to_be_visible()
        # `roebot init` asks for address and token, to wait for a message, and whether this is the owner.
        assert owner.inputs == 4
        homeserver.says(people.ann, chat.room, "What is a roe deer?")
        await until(
            lambda: "A roe deer." in chat.texts(), PATIENCE, lambda: f"{chat.texts()}\n{service.text}"
        )
        await look_everywhere(owner, service, folder, planted)
        assert owner.tab.bad == []
