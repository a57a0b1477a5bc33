"""Setup of the sandbox: `python -m agent.sandbox.setup [--home HOME]`, or `make setup-sandbox`.

Its Python environment with packages for data and documents is created in the data directory. If a container
engine is installed, the image is built too: from `deploy/sandbox/Containerfile`, or from Debian packages by
debootstrap if no image registry is reachable. A part that fails says why; the others are set up.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from agent.core.paths import make_private_folder
from agent.sandbox import bubblewrap
from agent.sandbox.bubblewrap import PYTHON_FOLDER, find_python
from agent.sandbox.engine import Command, engine_environment, is_apple, known_engines
from agent.sandbox.options import IMAGE

ROOT = Path(__file__).parent.parent.parent
_SHIPPED = Path(__file__).with_name("requirements-sandbox.lock")
LOCK = _SHIPPED if _SHIPPED.is_file() else ROOT / "requirements-sandbox.lock"
CONTAINERFILE = ROOT / "deploy" / "sandbox" / "Containerfile"
TRIED = "import docx, matplotlib, openpyxl, pandas, pdfplumber, pptx, pypdf, reportlab"
PACKAGES = ("ca-certificates", "poppler-utils", "python3")
"""Debian packages in the image, next to the Python packages of the lock file."""
OFFICE_PACKAGES = (
    "libreoffice-calc-nogui",
    "libreoffice-impress-nogui",
    "libreoffice-writer-nogui",
    "pandoc",
    "qpdf",
)
"""Debian packages that are added on request, because they are large (about 0.6 GB)."""
_UV = (sys.executable, "-m", "uv")
_INSTALL = (*_UV, "pip", "install", "--quiet", "--link-mode", "copy", "--require-hashes")
_SYSTEM_PYTHON, _SYSTEM_PACKAGES = "3.11", "usr/local/lib/python3.11/dist-packages"
"""Python of Debian 12, and the folder of its packages that Debian does not manage."""


def make_python(place: Path, lock: Path = LOCK) -> str:
    """Create the environment, replacing the old one, and return a sentence about the outcome."""
    make_private_folder(place.parent)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix="python-") as folder:
        made = Path(folder) / "python"
        python = str(made / "bin" / "python")
        steps = [
            [*_UV, "venv", "--quiet", "--relocatable", "--python", sys.executable, str(made)],
            [*_INSTALL, "--compile-bytecode", "--python", python, "-r", str(lock)],
            [python, "-c", TRIED],
        ]
        for step in steps:
            done = _run(step)
            if done.returncode:
                return f"The sandbox's Python can't be installed: {_last_line(done)}"
        # Commands run as another user than this setup.
        _make_readable(made)
        old = Path(folder) / "old"
        if place.exists():
            place.rename(old)
        made.rename(place)
    return "The sandbox's Python is ready." if find_python(place) else "The sandbox's Python can't be used."


def make_image(command: Command, more: Sequence[str] = ()) -> str:
    """Build the image with `more` Debian packages, and return a sentence about the outcome."""
    recipe = ["--build-arg", f"MORE={' '.join(more)}", "--file", str(CONTAINERFILE), str(ROOT)]
    built = _run([*command, "build", "--tag", IMAGE, *recipe])
    if built.returncode == 0:
        return f"The image {IMAGE} is ready."
    if is_apple(command) or shutil.which("debootstrap") is None or os.geteuid():
        return f"The image {IMAGE} can't be built: {_last_line(built)}"
    print("· no image registry can be reached; building the image from Debian packages")  # noqa: T201
    return _from_debian(command, (*PACKAGES, *more))


def _from_debian(command: Command, packages: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory(prefix="roebot-image-") as folder:
        system = Path(folder) / "system"
        include = f"--include={','.join(packages)}"
        uv = [*_INSTALL, "--python-version", _SYSTEM_PYTHON, "-r", str(LOCK)]
        uv += ["--target", str(system / _SYSTEM_PACKAGES)]
        for step in (["debootstrap", "--variant=minbase", include, "bookworm", str(system)], uv):
            made = _run(step)
            if made.returncode:
                return f"The image {IMAGE} can't be built with debootstrap: {_last_line(made)}"
        _make_readable(system / _SYSTEM_PACKAGES)
        for waste in ("var/cache/apt/archives", "var/lib/apt/lists"):
            shutil.rmtree(system / waste, ignore_errors=True)
        archive = Path(folder) / "system.tar"
        packed = _run(["tar", "--numeric-owner", "-C", str(system), "-cf", str(archive), "."])
        taken = packed if packed.returncode else _run([*command, "import", str(archive), IMAGE])
        if taken.returncode:
            return f"The image {IMAGE} can't be imported: {_last_line(taken)}"
    return f"The image {IMAGE} was built from Debian packages."


def main(arguments: Sequence[str]) -> int:
    """Set up the sandbox; return 0 if the Python environment works."""
    parser = argparse.ArgumentParser(prog="python -m agent.sandbox.setup", description=__doc__)
    parser.add_argument("--home", type=Path, default=Path(os.environ.get("ROEBOT_HOME") or ".roebot"))
    parser.add_argument(
        "--python", type=Path, help="folder of the Python environment (default: in the data directory)"
    )
    parser.add_argument("--engine", help="container engine with its options (default: the installed one)")
    parser.add_argument("--only", choices=("python", "image"), help="set up only this part")
    parser.add_argument(
        "--office", action="store_true", help="add LibreOffice, pandoc and qpdf to the image (about 0.6 GB)"
    )
    options = parser.parse_args(arguments)
    good = True
    if options.only != "image":
        print(f"· {bubblewrap.missing() or 'bubblewrap is installed'}")  # noqa: T201
        outcome = make_python((options.python or options.home / PYTHON_FOLDER).absolute())
        good = outcome.endswith("is ready.")
        print(f"· {outcome}")  # noqa: T201
    if options.only != "python":
        print(f"· {_build_image(options.engine, OFFICE_PACKAGES if options.office else ())}")  # noqa: T201
    return int(not good)


def _build_image(engine: str | None, more: Sequence[str]) -> str:
    found = shlex.split(engine) if engine else [name for name in known_engines() if shutil.which(name)][:1]
    return (
        make_image(tuple(found), more) if found else "no container engine is installed, so no image was built"
    )


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **engine_environment()}
    return subprocess.run(list(words), env=env, capture_output=True, text=True, check=False)  # noqa: S603


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr.strip() or done.stdout.strip() or "no reason was given").splitlines()
    return lines[-1][:300]


def _make_readable(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
