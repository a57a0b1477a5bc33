"""Component tests: documented configurations load, commands exist, and links and anchors resolve."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from bot.config.loader import load_file
from scripts.reference.cli import leaves, tree
from tests.docs.blocks import FENCE, ROOT, Block, blocks, pages

pytestmark = pytest.mark.may_block
KNOWN = {
    "",
    "console",
    "ini",
    "json",
    "json file=langgraph.json",
    "jsx file=Chat.jsx",
    "mermaid",
    "python client",
    "python embedded",
    "python file=auth.py",
    "python file=board.py",
    "python file=board_platform.py",
    "python file=conftest.py",
    "python file=graph.py",
    "python file=our_transcriber.py",
    "python file=payments.py",
    "python cron",
    "python file=polls.py",
    "python file=test_board.py",
    "text",
    "toml",
    "yaml agent",
    "yaml config",
    "yaml values",
}
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
NAME = re.compile(r"\$([A-Z][A-Z0-9_]*)")
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
COMMANDS = dict(leaves(tree()))


def _options(command: Any) -> set[str]:
    return {option for parameter in command.params for option in [*parameter.opts, *parameter.secondary_opts]}


def _lines() -> list[tuple[Block, str]]:
    """Return every command of the console blocks, with pipelines split.

    In a block with prompts the other lines are output; without prompts every line is a command.
    """
    found = []
    for block in blocks("console"):
        lines = block.body.splitlines()
        prompted = [line[2:] for line in lines if line.startswith("$ ")]
        found += [(block, part.strip()) for line in prompted or lines for part in line.split("|")]
    return found


def test_every_block_has_a_checked_kind() -> None:
    assert [f"{block}: {block.info}" for block in blocks() if block.info not in KNOWN] == []
    assert blocks("yaml config")
    assert _lines()


@pytest.mark.parametrize("block", blocks("yaml config"), ids=str)
def test_a_configuration_loads(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(block.body)
    env = {name: f"123456:{name}" if name.endswith("TOKEN") else name for name in NAME.findall(block.body)}
    env |= {"DATABASE_URL": "postgresql://roebot@127.0.0.1/roebot"}
    assert load_file(path, env, tmp_path).warnings == ()


@pytest.mark.parametrize("block", [b for b in blocks() if b.info.startswith("json")], ids=str)
def test_json_is_json(block: Block) -> None:
    assert json.loads(block.body)


@pytest.mark.parametrize(("block", "line"), _lines(), ids=[line for _, line in _lines()])
def test_a_command_exists_with_its_options(block: Block, line: str) -> None:
    words = [word for word in shlex.split(line, comments=True) if not re.fullmatch(r"[A-Z_]+=.*", word)]
    program = Path(words[0]).name
    if program == "make":
        assert set(words[1:]) <= set(TARGETS)
    elif program == "roebot":
        names = [name for name in COMMANDS if " ".join(["roebot", *words[1:]]).startswith(name)]
        assert names, f"{block}: unknown command"
        used = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert used - {"--help"} <= _options(COMMANDS[max(names, key=len)]), str(block)
    elif words[1:2] == ["-m"]:
        assert (ROOT / words[2].replace(".", "/")).with_suffix(".py").exists()


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_anchors_resolve(page: Path) -> None:
    for match in LINK.finditer(page.read_text()):
        if "://" in match["target"]:
            continue
        name, _, anchor = match["target"].partition("#")
        target = page.parent / name if name else page
        assert target.exists(), f"{page}: {name}"
        assert not anchor or anchor in _anchors(target), f"{page}: {match['target']}"


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and MkDocs derive them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_site_navigation_lists_every_page() -> None:
    listed = set(
        re.findall(r"^ +- (?:[\w -]+: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    )
    docs = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    outside = {page.relative_to(ROOT).as_posix() for page in (ROOT / "deploy").rglob("*.md")}
    decisions = {page for page in docs if page.startswith("decisions/")}
    assert listed == (docs - decisions) | outside | {"CONTRIBUTING.md", "SECURITY.md"}


def test_every_page_is_linked() -> None:
    reached: set[Path] = set()
    pending = [ROOT / "README.md"]
    while pending:
        page = pending.pop()
        reached.add(page)
        for match in LINK.finditer(page.read_text()):
            target = (page.parent / match["target"].partition("#")[0]).resolve()
            if target.suffix == ".md" and target.is_file() and target not in reached:
                pending.append(target)
    assert {*pages()} - reached == set()


PATH = re.compile(r"`((?:bot|agent|scripts|tests|deploy)/[\w/.-]*)`")


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_named_files_and_folders_exist(page: Path) -> None:
    named = {match[1] for match in PATH.finditer(page.read_text())}
    assert sorted(name for name in named if not (ROOT / name).exists()) == []
