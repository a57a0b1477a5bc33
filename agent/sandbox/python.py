"""The sandbox's own Python environment: where it is, and how it comes into the sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PYTHON_ROOT = "/opt/python"
FOLDER = Path("sandbox", "python")
"""Below the home."""


@dataclass(frozen=True, slots=True)
class SandboxPython:
    """A virtual environment made by `make setup-sandbox`, and the interpreter that it stands on."""

    folder: Path
    base: Path

    def binds(self) -> Sequence[tuple[Path, str]]:
        """(host folder, where it is inside); an interpreter of the system is there already."""
        own = (self.folder, PYTHON_ROOT)
        system = self.base.is_relative_to("/usr")
        return [own] if system else [own, (self.base, str(self.base))]


def find_python(folder: Path) -> SandboxPython | None:
    """The environment in a folder; None where there is none, or its interpreter is gone. Blocking."""
    try:
        lines = (folder / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
        real = (folder / "bin" / "python").resolve(strict=True)
    except OSError:
        return None
    if not any(line.partition("=")[0].strip() == "home" for line in lines):
        return None
    return SandboxPython(folder.absolute(), real.parent.parent)
