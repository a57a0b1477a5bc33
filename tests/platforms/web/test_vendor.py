"""What the console serves from npm is what its lock file gives, unedited."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import bot.server.console

VENDOR = Path(bot.server.console.__file__).parent / "static" / "vendor"
LOCK = Path(__file__).parents[3] / "scripts" / "console" / "package-lock.json"
NAMES = {"vendor.json"}


def _listed() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((VENDOR / "vendor.json").read_text())
    return found


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def test_the_files_are_those_of_the_lock() -> None:
    present = {str(path.relative_to(VENDOR)): _digest(path) for path in VENDOR.rglob("*") if path.is_file()}
    assert {name: digest for name, digest in present.items() if name not in NAMES} == _listed()["files"]
    assert _listed()["lock"] == _digest(LOCK)


def test_each_package_is_listed_with_the_version_of_the_lock_and_its_licence() -> None:
    locked = json.loads(LOCK.read_text())["packages"]
    versions = {(path.rpartition("node_modules/")[2], one["version"]) for path, one in locked.items() if path}
    texts = (VENDOR / "LICENSES.txt").read_text()
    assert len(_listed()["packages"]) > 20
    for package in _listed()["packages"]:
        assert (package["name"], package["version"]) in versions
        assert package["license"]
        assert f"{package['name']} {package['version']}\n" in texts


def test_the_lock_names_no_address() -> None:
    assert "resolved" not in LOCK.read_text()
