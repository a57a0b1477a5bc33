"""The product's wheel contains the service alone. Test kit, provisioner and Matrix have their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
DOCS = "agent/shared/bundled_docs/"


def names_in_wheel(package: Path, folder: Path) -> list[str]:
    """Build the wheel of a package and list its files."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=package, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return ZipFile(wheel).namelist()


@pytest.mark.may_block
def test_the_wheel_contains_no_emulator_no_kit_and_no_provisioner(tmp_path: Path) -> None:
    names = names_in_wheel(ROOT, tmp_path)
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"agent", "bot", "roebot-0.1.0.dist-info"}
    assert {"agent/serve.py", "bot/cli/app.py"} <= set(names)
    assert {"agent/guide/texts.yaml", "agent/shared/documentation.yaml"} <= set(names)
    assert "agent/sandbox/requirements-sandbox.lock" in names
    pages = {name.removeprefix(DOCS) for name in names if name.startswith(DOCS)}
    here = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert pages == {page for page in here if not page.startswith(("decisions/", "internals/"))}
    names = [name for name in names if not name.startswith(DOCS)]
    words = ("testing", "emulators", "conformance", "provisioner")
    assert [name for name in names if any(word in name for word in words)] == []


@pytest.mark.may_block
@pytest.mark.parametrize(
    ("package", "module"),
    [
        ("roebot-testing", "roebot_testing/emulators/slack/emulator.py"),
        ("roebot-testing", "roebot_testing/agent/langgraph.json"),
        ("roebot-provisioner", "roebot_provisioner/__main__.py"),
        ("roebot-matrix", "roebot_matrix/guide.md"),
    ],
)
def test_a_package_on_top_has_a_wheel_of_its_own(tmp_path: Path, package: str, module: str) -> None:
    names = names_in_wheel(ROOT / "packages" / package, tmp_path)
    assert module in names
    assert not [name for name in names if name.startswith(("agent/", "bot/"))]
