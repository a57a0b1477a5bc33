"""The examples of `extensions_config.json` in the documentation are files that can be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.config.document import parse_json
from agent.config.extensions import Extensions, McpOAuth, McpServer
from agent.config.extensions_file import check_extensions
from agent.skills.front_matter import KEYS, parse_skill
from agent.skills.skill import bundled_folder
from tests.docs.blocks import ROOT, Block, blocks

pytestmark = pytest.mark.may_block
HOWTO = ROOT / "docs" / "howto"
ENV = {"TRACKER_TOKEN": "x", "TRACKER_SECRET": "x"}


def on(page: str, info: str) -> list[Block]:
    return [block for block in blocks(info) if block.page == HOWTO / page]


def test_the_examples_can_be_used() -> None:
    found = [*on("connect-mcp-servers.md", "json"), *on("write-skills.md", "json")]
    assert len(found) == 4
    for block in found:
        assert isinstance(check_extensions(parse_json(block.body, str(block)), ENV), Extensions)


def test_the_example_of_a_skill_is_one() -> None:
    block, *_ = on("write-skills.md", "text")
    head, _ = parse_skill(block.body, str(block))
    assert head.name == "standup"


def test_every_key_is_told() -> None:
    servers = (HOWTO / "connect-mcp-servers.md").read_text()
    for name in (*McpServer.model_fields, *McpOAuth.model_fields):
        assert f"`{name}`" in servers or f'"{name}"' in servers, name
    skills = (HOWTO / "write-skills.md").read_text()
    for name in KEYS:
        assert f"`{name}`" in skills, name


def test_every_bundled_skill_is_told() -> None:
    skills = (HOWTO / "write-skills.md").read_text()
    names = [Path(path).parent.name for path in bundled_folder().glob("*/SKILL.md")]
    assert names
    assert all(f"`{name}`" in skills for name in names)
