"""Makes skills and archives for tests."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from agent.skills.skill import SkillRoots

BODY = "# How\n\nDo it.\n"


def text(name: str, more: str = "", *, description: str = "Does things. Use it for things.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n{BODY}"


def skill(root: Path, name: str, more: str = "", *, content: str | None = None) -> Path:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text(folder.name, more) if content is None else content)
    return folder


def roots(folder: Path) -> SkillRoots:
    return SkillRoots(folder / "public", folder / "custom")


def entry(name: str, mode: int = 0o100644) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("x")
    info.filename = info.orig_filename = name
    info.external_attr = mode << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def archive(
    path: Path, files: Mapping[str, str | bytes] | Iterable[tuple[zipfile.ZipInfo | str, str | bytes]]
) -> Path:
    pairs = files.items() if isinstance(files, Mapping) else files
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in pairs:
            info = entry(name) if isinstance(name, str) else name
            zipped.writestr(info, content, compress_type=info.compress_type)
    path.write_bytes(raw.getvalue())
    return path


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")} if folder.exists() else set()
