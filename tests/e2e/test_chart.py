"""Somebody sends an Excel file and asks for a chart; it comes back as a picture."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bot.testing.emulators.telegram import TelegramEmulator
from tests.harness.documents import SALES, workbook
from tests.harness.inprocess import running
from tests.harness.judge import answers, until
from tests.harness.service import PERSON, config_text

pytestmark = [pytest.mark.long, pytest.mark.may_block, pytest.mark.bubblewrap]

# The tests' own environment has what the sandbox's has.
AGENT = f"""models: [{{name: charting, use: "tests.harness.charting:ChartingModel", supports_vision: true}}]
title: {{enabled: false}}
memory: {{enabled: false}}
sandbox: {{python: "{sys.prefix}"}}"""
ANSWER = "North sold most: 2700.5."


async def test_an_excel_file_comes_back_as_a_chart(tmp_path: Path) -> None:
    async with TelegramEmulator.serve() as emulator:
        config = config_text(emulator, model=AGENT)
        async with running(tmp_path, config):
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
    [thread] = (tmp_path / "threads").iterdir()
    uploads = thread / "user-data" / "uploads"
    assert sorted(path.name for path in uploads.iterdir()) == ["sales.md", "sales.xlsx"]
    assert "| 2026-02-28 | South | 900 |" in (uploads / "sales.md").read_text()
