"""The reference says what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.app.features import installed_commands
from bot.config import schema
from scripts import docs
from scripts.reference.markdown import first_line, page, table

pytestmark = pytest.mark.may_block


def test_the_committed_reference_is_current() -> None:
    assert list(docs.find_stale_pages()) == [], "run `make docs`"


def test_check_names_what_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(docs, "PAGES", {"one.md": lambda: "new", "two.md": lambda: "same"})
    monkeypatch.setattr(docs.find_stale_pages, "__defaults__", (tmp_path,))
    monkeypatch.setattr(docs, "FOLDER", tmp_path)
    (tmp_path / "one.md").write_text("old")
    (tmp_path / "two.md").write_text("same")
    assert docs.main(["--check"]) == 1
    assert capsys.readouterr().out == "docs/one.md is stale: run `make docs`\n"
    assert docs.main([]) == 0
    assert (tmp_path / "one.md").read_text() == "new"
    assert docs.main(["--check"]) == 0


def test_every_command_and_section_is_in_the_reference() -> None:
    commands = (docs.FOLDER / "reference/chat-commands.md").read_text()
    for hint in installed_commands().for_role(4):
        assert f"`/{hint.usage}`" in commands
    configuration = (docs.FOLDER / "reference/configuration.md").read_text()
    for name in schema()["properties"]:
        assert f"`{name}`" in configuration


def test_a_table_keeps_its_cells_apart() -> None:
    assert table(["a"], [["x | y\nz"]]) == "| a |\n|---|\n| x \\| y z |"


def test_a_page_has_a_title_and_says_where_it_comes_from() -> None:
    assert page("Title", "text", "").splitlines()[0] == "# Title"
    assert "make docs" in page("Title")
    assert first_line("One\n  line.\n\nMore.") == "One line."
