"""The providers of docs/howto/approve-tool-calls.md can be made, and its own one decides as the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.config.loader import load_agent_config
from agent.guardrails.providers import load_guardrail
from tests.docs.blocks import ROOT, Block
from tests.docs.programs import expected, on_page, printed

pytestmark = pytest.mark.may_block
PAGE = ROOT / "docs/howto/approve-tool-calls.md"
FILE = "python file=payments.py"


def _with_payments(folder: Path) -> None:
    [module] = on_page(PAGE, FILE)
    (folder / "payments.py").write_text(module.body)


@pytest.mark.parametrize("block", on_page(PAGE, "yaml config"), ids=str)
def test_what_a_configuration_names_decides(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_payments(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "config.yaml"
    path.write_text(block.body)
    guardrails = load_agent_config(path, {}, tmp_path).config.guardrails
    assert guardrails.enabled
    assert load_guardrail(guardrails.provider.use, guardrails.provider.extra_arguments())


def test_the_program_prints_what_the_page_says(tmp_path: Path) -> None:
    _with_payments(tmp_path)
    *_, config = on_page(PAGE, "yaml config")
    (tmp_path / "config.yaml").write_text(config.body)
    [program] = on_page(PAGE, "python embedded")
    assert printed(program, tmp_path) == expected(program)
