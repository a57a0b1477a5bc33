"""An Excel file sent in the web console is answered with a visible chart."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.tab import sign_in
from tests.harness.credentials import SERVICE_TOKEN
from tests.harness.documents import SALES, workbook
from tests.harness.service import ServiceProcess

pytestmark = [pytest.mark.browser, pytest.mark.may_block]

CONFIG = f"""config_version: 1
models: [{{name: charting, use: "tests.harness.chart_agent:ChartingModel", supports_vision: true}}]
title: {{enabled: false}}
memory: {{enabled: false}}
sandbox: {{python: "{sys.prefix}"}}
server: {{port: 0}}
"""
SCREENSHOT = os.environ.get("ROEBOT_TEST_SCREENSHOT")
"""Path of a screenshot for the documentation."""


async def test_an_excel_file_comes_back_as_a_chart(browser: Browser, tmp_path: Path) -> None:
    service = ServiceProcess(tmp_path, CONFIG)
    service.start()
    try:
        found = await service.ready()
        context = await browser.new_context(viewport={"width": 1_100, "height": 900})
        page = await context.new_page()
        await sign_in(context, found.url, SERVICE_TOKEN)
        await page.goto(found.url)
        sent = {"name": "sales.xlsx", "mimeType": "application/octet-stream", "buffer": workbook(Q1=SALES)}
        await page.set_input_files("#file", [sent])  # type: ignore[list-item]
        await expect(page.locator("#files li")).to_contain_text("sales.xlsx")
        await page.fill("#text", "A chart of the revenue, please")
        await page.keyboard.press("Enter")
        chart = page.get_by_role("figure", name="chart.png").locator("img")
        await expect(chart).to_be_visible(timeout=60_000)
        await expect(page.locator(".answer").last).to_contain_text("North sold most: 2700.5.")
        loaded = "image => image.complete && image.naturalWidth"
        await chart.evaluate("image => image.decode()")
        assert await chart.evaluate(loaded) > 300, "a chart, no broken picture"
        if SCREENSHOT:
            await page.screenshot(path=SCREENSHOT)
        await context.close()
    finally:
        service.stop()
