"""Component tests: the programs of docs/howto/embed-the-agent.md print the documented output."""

from __future__ import annotations

import json
import sys
from functools import partial
from io import StringIO
from pathlib import Path

import pytest

from agent.client import AgentClient
from agent.config.document import parse_document
from agent.config.profile import CustomAgentConfig
from tests.docs.blocks import ROOT, Block, blocks
from tests.docs.programs import expected, on_page, printed
from tests.harness.strict_providers.threaded import PACKAGES, echo_providers

pytestmark = pytest.mark.may_block
PAGE = ROOT / "docs/howto/embed-the-agent.md"


def _program(block: Block) -> str:
    """Return the heading above the block."""
    above = PAGE.read_text().splitlines()[: block.line]
    return next(line.removeprefix("## ") for line in reversed(above) if line.startswith("## "))


def test_every_use_has_a_program() -> None:
    assert [_program(block) for block in on_page(PAGE, "python embedded")] == [
        "Chat and stream",
        "Override the configuration",
        "Run without a configuration file",
        "Replace a feature",
        "Turn a feature off",
        "Add middleware next to a built-in one",
        "Add middleware next to your own",
        "Build a graph from arguments only",
    ]


def test_every_message_option_has_a_row() -> None:
    section = PAGE.read_text().partition("## Message options")[2].partition("\n## ")[0]
    named = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
    with AgentClient({"models": []}, read_file=False) as client, pytest.raises(TypeError) as caught:
        client.chat("Hello", no_such_switch=True)
    assert f"known: {', '.join(named)}." in str(caught.value)


@pytest.mark.parametrize("block", on_page(PAGE, "python embedded"), ids=_program)
def test_program_prints_the_documented_output(block: Block, tmp_path: Path) -> None:
    [config] = on_page(PAGE, "yaml config")
    (tmp_path / "config.yaml").write_text(config.body)
    assert printed(block, tmp_path).rstrip("\n") == expected(block).rstrip("\n")


def test_programs_run_twice_in_one_process_against_strict_providers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    programs = on_page(PAGE, "python embedded")
    with echo_providers(*PACKAGES) as providers:
        for provider in PACKAGES:
            model = providers.entry(provider, name="echo")
            (tmp_path / "config.yaml").write_text(json.dumps({"config_version": 1, "models": [model]}))
            for block in [*programs, *programs]:
                out = StringIO()
                # The program's prints alone, without the log.
                exec(block.body, {"__name__": "__main__", "print": partial(print, file=out)})
                assert out.getvalue().rstrip("\n") == expected(block).rstrip("\n"), f"{provider}: {block}"
        assert all(one.requests for one in providers.served.values())
    providers.assert_nothing_failed()


@pytest.mark.parametrize("block", blocks("yaml agent"), ids=str)
def test_agent_file_loads_and_shows_every_key(block: Block) -> None:
    config = CustomAgentConfig.model_validate(parse_document(block.body, "config.yaml").data)
    assert config.model_fields_set == set(CustomAgentConfig.model_fields)
