"""The programs of docs/howto/embed-the-agent.md print what the page says, and its agent's file loads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent.config.document import parse_document
from agent.config.profile import ProfileConfig
from tests.docs.blocks import ROOT, Block, blocks

pytestmark = pytest.mark.may_block
PAGE = ROOT / "docs/howto/embed-the-agent.md"


def _on_page(info: str) -> list[Block]:
    return [block for block in blocks(info) if block.page == PAGE]


def _program(block: Block) -> str:
    """The heading above the block."""
    above = PAGE.read_text().splitlines()[: block.line]
    return next(line.removeprefix("## ") for line in reversed(above) if line.startswith("## "))


def test_every_way_of_use_has_a_program() -> None:
    assert [_program(block) for block in _on_page("python embedded")] == [
        "Ask and listen",
        "Change a part of the configuration",
        "Use no file at all",
        "Replace a feature",
        "Switch a feature off",
        "Add middleware beside a built-in one",
        "Add middleware beside your own",
        "Build a graph from arguments alone",
    ]


@pytest.mark.parametrize("block", _on_page("python embedded"), ids=_program)
def test_a_program_prints_what_the_page_says(block: Block, tmp_path: Path) -> None:
    [config] = _on_page("yaml config")
    (tmp_path / "config.yaml").write_text(config.body)
    expected = next(text for text in _on_page("text") if text.line > block.line)
    env = {name: value for name, value in os.environ.items() if not name.startswith("ROEBOT_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block.body],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**env, "PYTHONPATH": str(ROOT)},
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.rstrip("\n") == expected.body.rstrip("\n")


@pytest.mark.parametrize("block", blocks("yaml agent"), ids=str)
def test_the_file_of_an_agent_loads(block: Block) -> None:
    config = ProfileConfig.model_validate(parse_document(block.body, "config.yaml").data)
    assert config.model_fields_set == set(ProfileConfig.model_fields)
