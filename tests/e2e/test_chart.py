"""Somebody sends an Excel file and asks for a chart; it comes back as a picture."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.sandbox.container import remove_all
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.documents import SALES, workbook
from tests.harness.service import PERSON, config_text
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import answers, until
from tests.sandbox.engines import engine

pytestmark = [pytest.mark.long, pytest.mark.may_block]

AGENT = """models: [{name: charting, use: "tests.harness.chart_agent:ChartingModel", supports_vision: true}]
title: {enabled: false}
memory: {enabled: false}
"""
# The tests' own environment has what the sandbox's has.
LOCAL = f'sandbox: {{python: "{sys.prefix}"}}'
CONTAINERS = f"""sandbox:
  use: agent.sandbox.container:ContainerSandboxProvider
  command: {" ".join(engine())}"""
ANSWER = "North sold most: 2700.5."


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    asyncio.run(remove_all(tmp_path))


@pytest.mark.parametrize(
    "sandbox",
    [
        pytest.param(LOCAL, marks=pytest.mark.bubblewrap, id="local"),
        pytest.param(CONTAINERS, marks=pytest.mark.container, id="containers"),
    ],
)
async def test_an_excel_file_comes_back_as_a_chart(home: Path, sandbox: str) -> None:
    async with TelegramEmulator.serve() as emulator:
        config = config_text(emulator, model=AGENT + sandbox)
        async with running(home, config):
            emulator.people.says(
                "A chart of the revenue, please",
                user=PERSON,
                media="document",
                data=workbook(Sales=SALES),
                filename="sales.xlsx",
            )

            def said() -> list[tuple[str, str]]:
                return [(one.kind, one.text) for one in answers(emulator, PERSON)]

            wanted = [("text", ANSWER), ("photo", "")]
            await until(lambda: said() == wanted, 60.0, lambda: f"{said()}")
        [photo] = [
            message.media.file
            for message in emulator.world.chats[PERSON].messages.values()
            if message.media and message.media.kind == "photo" and message.media.file
        ]
        assert photo.name == "chart.png"
        assert photo.data.startswith(b"\x89PNG\r\n\x1a\n")
        assert len(photo.data) > 5_000, "a chart, no empty picture"
    [thread] = (home / "threads").iterdir()
    uploads = thread / "user-data" / "uploads"
    assert sorted(path.name for path in uploads.iterdir()) == ["sales.md", "sales.xlsx"]
    assert "| 2026-02-28 | South | 900 |" in (uploads / "sales.md").read_text()
