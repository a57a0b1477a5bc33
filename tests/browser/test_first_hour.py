"""From an empty folder to answers on each platform, in the web console of `roebot run` alone.

What is entered and decided is counted; with a model of OpenAI it is not more than `roebot init` asks for the
same. In both, the addresses of the emulators are given besides.

| | `roebot init` | console |
|---|---|---|
| service | 2: the command, start now | 1: the command |
| model of OpenAI | 2: number, key | 3: provider, key, save |
| Telegram | 3: token, wait for a message, this is me | 3: token, save, this is me |
| Slack | 4: two tokens, wait, this is me | 4: two tokens, save, this is me |
| Feishu by hand | 6: by hand, domain, id, secret, wait, this is me | 4: id, secret, save, this is me |
| Discord | 3: token, wait, this is me | 3: token, save, this is me |

`init` can also create the app on Feishu by a code that is scanned, which takes one input; the console can't.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from llmock.pytest_plugin import LLMock
from playwright.async_api import Browser, expect

from tests.browser.setting_up import (
    KEYS,
    PATIENCE,
    Owner,
    Planted,
    connect_model,
    look_everywhere,
    new_service,
    owner_at,
)
from tests.harness.people import PlatformUser
from tests.harness.terminal import Terminal
from tests.harness.waiters import until
from tests.harness.wires import WIRES

pytestmark = [pytest.mark.browser, pytest.mark.may_block, pytest.mark.timeout(400)]
INIT = {"service": 2, "model": 2, "telegram": 3, "slack": 4, "feishu": 6, "discord": 3}
CONSOLE = {"service": 1, "model": 3, "telegram": 3, "slack": 4, "feishu": 4, "discord": 3}
"""The table above."""


async def connect_openai(owner: Owner, key: str) -> int:
    """Connect the model that is offered of a provider; the number of inputs."""
    owner.inputs = 0
    await owner.opens("models")
    await owner.tab.page.locator("#connect").click()
    await owner.chooses("provider", "openai")
    await owner.enters("api_key", key)
    await owner.presses(owner.tab.dialog.locator(".primary"))
    await expect(owner.tab.page.locator(".entry")).to_have_count(2, timeout=PATIENCE)
    return owner.inputs


async def connect_account(owner: Owner, person: PlatformUser) -> int:
    """Connect an account and be found as its owner; the number of inputs."""
    page, emulator, platform = owner.tab.page, person.wire.emulator, person.platform
    owner.inputs = 0
    await owner.opens("accounts")
    await page.locator("#connect").click()
    await page.locator(f'a.tile[href$="/{platform}"]').click()
    await owner.uses_emulator(emulator.url)
    for key in KEYS[platform]:
        value = getattr(emulator, key, "") or getattr(emulator, key.removeprefix("bot_"))
        await owner.enters(key, value)
    await owner.presses(owner.tab.dialog.locator(".primary"))
    await expect(owner.step(3).locator(".accepted")).to_be_visible(timeout=PATIENCE)
    person.writes("hello")
    await owner.presses(owner.step(4).locator(".banner .primary"))
    await expect(page.locator("p.banner")).to_be_visible()
    return owner.inputs


async def answered(person: PlatformUser, text: str, service: Terminal) -> None:
    """Wait until a person reads this answer."""
    await until(lambda: text in person.texts(), 30.0, lambda: f"{person.texts()}\n{service.text}")


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
async def test_from_an_empty_folder_to_an_answer_on_each_platform(
    browser: Browser, tmp_path: Path, llmock: LLMock, locale: str
) -> None:
    llmock.tool_mode("off")
    llmock.reply("A roe deer.", times=None)
    planted, folder = Planted(), tmp_path / "empty"
    tokens = {
        "telegram": {"token": planted.make("telegram.bot_token")},
        "slack": {kind: planted.make(f"slack.{kind}") for kind in ("bot_token", "app_token")},
        "feishu": {"app_secret": planted.make("feishu.app_secret")},
        "discord": {"token": planted.make("discord.bot_token")},
    }
    async with AsyncExitStack() as stack:
        service, link = await stack.enter_async_context(new_service(folder))
        assert not (folder / "config.yaml").exists()
        owner = await stack.enter_async_context(owner_at(browser, link, locale))
        await connect_model(owner, llmock.base_url(), planted.make("model"))
        counted = {"service": 1, "model": await connect_openai(owner, planted.make("model"))}
        for platform, options in tokens.items():
            person = PlatformUser(await stack.enter_async_context(WIRES[platform].serve(**options)))
            counted[platform] = await connect_account(owner, person)
            person.writes("What is a roe deer?")
            await answered(person, "A roe deer.", service)
        assert counted == CONSOLE
        start = ("service", "model")
        for platform in tokens:
            asked, here = (sum(counts[one] for one in (*start, platform)) for counts in (INIT, CONSOLE))
            assert here <= asked
        await look_everywhere(owner, service, folder, planted)
        assert owner.tab.bad == []
