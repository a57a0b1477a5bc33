"""A command that lacks a program says which package has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.sandbox.missing_programs import describe_missing
from tests.sandbox.sandbox_fixtures import one, unprotected


@pytest.mark.parametrize(
    ("output", "names", "packages"),
    [
        ("bash: line 1: soffice: command not found\n", "soffice", "libreoffice-writer"),
        ("/bin/sh: 1: pdftoppm: not found\n", "pdftoppm", "poppler-utils"),
        ("env: ‘node’: No such file or directory\n", "node", "nodejs npm"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'qpdf'\n", "qpdf", "qpdf"),
        ("ModuleNotFoundError: No module named 'pptx'\n", "pptx", "run `make setup-sandbox`, which"),
        ("ImportError: No module named 'docx.shared'\n", "docx", "run `make setup-sandbox`, which"),
        ("ModuleNotFoundError: No module named 'yaml'\n", "yaml", "python3-yaml"),
        ("a: soffice: command not found\nb: pandoc: command not found\n", "soffice, pandoc", "OFFICE=1"),
    ],
)
def test_what_is_missing_is_named_with_its_package(output: str, names: str, packages: str) -> None:
    said = describe_missing(output, 127)
    assert f"[{names} " in said
    assert packages in said
    assert describe_missing(output, 0) == ""
    assert describe_missing(output, None) == ""


@pytest.mark.parametrize(
    "output", ["", "my-own-tool: command not found\n", "No such file or directory: 'data.csv'\n"]
)
def test_what_no_package_has_is_left_to_the_output(output: str) -> None:
    assert describe_missing(output, 1) == ""


async def test_the_agent_is_told(tmp_path: Path) -> None:
    sandbox = await one(unprotected(tmp_path))
    done = await sandbox.execute_command("echo 'bash: soffice: command not found'; exit 127")
    assert "soffice is not installed in the sandbox" in done.output
    assert "libreoffice-writer" in (await sandbox.execute_command("no-such; PATH=/nowhere soffice")).output
