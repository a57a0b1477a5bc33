"""The chat shows the title that a model gives a conversation."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.tab import CHAT, DONE, opened
from tests.platforms.web import serving

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
TITLE = "Monthly revenue by region"
MODELS = """models:
  - {name: main, use: "roebot_testing.agent:ScriptedChatModel",
     script: {reply: "The north leads.", delay: 0.5}}
  - {name: small, use: "roebot_testing.agent:ScriptedChatModel", script: {reply: "Monthly revenue by region"}}
title: {model_name: small}
memory: {enabled: false}
sandbox: {enabled: false}
"""


async def test_the_title_takes_the_place_of_the_first_words(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MODELS", MODELS)
    async with (
        serving.world(tmp_path, graph="lead_agent", extra=MODELS) as service,
        opened(browser, service, CHAT) as tab,
    ):
        await tab.send("please tell me in some detail what came in every month and where")
        await expect(tab.page.locator(f"{DONE} .answer").last).to_have_text("The north leads.")
        await expect(tab.page.locator("#section-title")).to_have_text(TITLE)
        await expect(tab.page.locator("#conversations .conversation")).to_have_text(TITLE)
