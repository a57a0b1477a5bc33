"""Nothing outside a platform's folder names the platform, so that the folder can be deleted."""

from __future__ import annotations

import re
from pathlib import Path

BOT = Path(__file__).parents[2] / "bot"
NAMES = re.compile(r"slack|discord|telegram|feishu|\blark|matrix", re.IGNORECASE)
MIGRATIONS = "store/migrations/versions"
"""Migrations of data that earlier versions wrote, which name platforms by the values in rows."""

VENDOR = "server/console/static/vendor"
"""Packages from npm."""


def test_no_platform_is_named_outside_its_folder() -> None:
    folders = {path.parent for path in (BOT / "platforms").glob("*/manifest.py")}
    assert len(folders) > 4
    found = [
        f"{path.relative_to(BOT)}:{number}: {line.strip()}"
        for path in sorted(BOT.rglob("*"))
        if path.suffix in {".py", ".js", ".html", ".css"}
        and not folders & set(path.parents)
        and MIGRATIONS not in path.as_posix()
        and VENDOR not in path.as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if NAMES.search(line)
    ]
    assert found == []
