"""The figures of docs/howto/send-documents.md are those of the code, and its program runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.client import AgentClient
from agent.uploads.documents.converter import MAX_PARALLEL, ConvertLimits
from agent.uploads.documents.kinds import explain_unsupported, kind_of
from agent.uploads.documents.pictures import PICTURES, SIDE
from agent.uploads.documents.report import COLUMNS
from agent.uploads.documents.tables import ROWS
from agent.uploads.documents.workbook import SHEETS
from agent.uploads.inline_images import TEXT_BYTES, ShowLimits
from tests.docs.blocks import ROOT, blocks

pytestmark = pytest.mark.may_block
PAGE = ROOT / "docs/howto/send-documents.md"


def test_its_figures() -> None:
    text = " ".join(PAGE.read_text().split())
    limits = ConvertLimits()
    assert f"{ROWS:,} rows, {COLUMNS} columns, {SHEETS} sheets" in text
    assert f"Up to {TEXT_BYTES // 1024} KB" in text
    assert f"Up to {PICTURES} pictures of a document" in text
    assert f"at most {SIDE:,} pixels" in text
    assert (ShowLimits().images, "up to four per message" in text) == (4, True)
    assert f"can use at most {limits.seconds:.0f} seconds and {limits.memory_mb:,} MB" in text
    assert MAX_PARALLEL == 2
    assert "two at a time" in text


def test_its_endings() -> None:
    text = PAGE.read_text()
    for ending in ("docx", "docm", "pptx", "pptm", "xlsx", "xlsm", "xls"):
        assert f"`.{ending}`" in text
        assert kind_of(f"a.{ending}")
    for ending in ("doc", "ppt", "rtf"):
        assert f"`.{ending}`" in text
        assert explain_unsupported(f"a.{ending}")


def test_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [block] = [one for one in blocks("python embedded") if one.page == PAGE]
    (tmp_path / "prices.csv").write_text("fruit,price\npear,3\n")
    monkeypatch.chdir(tmp_path)
    with AgentClient({}, read_file=False, home=tmp_path / "home") as client:
        names: dict[str, Any] = {"client": client}
        exec(compile(block.body, str(PAGE), "exec"), names)
    assert names["text"].startswith(b"| fruit | price |")
    assert names["mime_type"] == "text/markdown"
