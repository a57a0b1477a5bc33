"""Install a skill from an archive: unpack into a staging folder, then rename it into place.

Blocking. A failure leaves nothing behind; the next installation removes the leftovers of a killed process.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import threading
import time
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from agent.config.document import decode_text
from agent.config.errors import ConfigErrors
from agent.errors import SkillRefused
from agent.skills.archive import ArchiveLimits, ArchiveMember, list_members, member_path
from agent.skills.discovery import MAX_FILE_BYTES, SKILL_FILE, FrontMatter, SkillDiscovery, parse_skill
from agent.skills.skill import SkillRoots

# If the service runs as root, the sandbox runs as another user, who must be able to read the skills. They are
# not exposed to others, because the data directory is private.
FOLDER_MODE, FILE_MODE = 0o755, 0o644
STALE_SECONDS = 3_600
_STAGING_PREFIX = ".installing-"
_CHUNK = 1 << 16
_SCRIPT_NAMES = re.compile(
    r".*\.(?:sh|bash|zsh|fish|py|pl|rb|js|mjs|ts|php|lua|ps1|bat|cmd|exe|dll|so|dylib|jar|com|msi)",
    re.IGNORECASE,
)
_PROGRAM_MAGIC = (b"#!", b"\x7fELF", b"MZ", b"\xfe\xed\xfa", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_EXECUTE = 0o111
_installing = threading.Lock()


@dataclass(frozen=True, slots=True)
class InstalledSkill:
    """An installed skill. `executables` are the paths of files that can be run as programs."""

    name: str
    description: str
    executables: tuple[str, ...] = field(default=())


def install_skill(archive: Path, roots: SkillRoots, limits: ArchiveLimits | None = None) -> InstalledSkill:
    """Install a skill into the custom folder. Raises SkillRefused (400, 409 or 413)."""
    limits = limits or ArchiveLimits()
    try:
        size = archive.stat().st_size
        if not archive.is_file():
            raise SkillRefused("Not a regular file.")
        if size > limits.archive_bytes:
            raise SkillRefused(
                f"The archive is larger than {limits.archive_bytes // 1_000_000} MB.", status=413
            )
        with archive.open("rb") as file, _open_zip(file) as zipped, _installing:
            return _install_members(zipped, list_members(zipped, size, limits), roots, limits)
    except FileNotFoundError:
        raise SkillRefused(f"File not found: {archive.name}.", status=404) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, RecursionError):
            raise
        raise SkillRefused("Not a valid archive: a .skill file must be a zip file.") from error
    except OSError as error:
        raise SkillRefused(f"The skill can't be written: {error.strerror or 'error'}.", status=507) from error


def _open_zip(file: IO[bytes]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except (ValueError, UnicodeDecodeError) as error:
        raise SkillRefused("Not a valid archive: a .skill file must be a zip file.") from error


def _install_members(
    zipped: zipfile.ZipFile, found: Sequence[ArchiveMember], roots: SkillRoots, limits: ArchiveLimits
) -> InstalledSkill:
    head = _read_front_matter(zipped, found)
    _refuse_existing(head.name, roots)
    roots.custom.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    _remove_stale_folders(roots.custom)
    aside = roots.custom / f"{_STAGING_PREFIX}{secrets.token_hex(8)}"
    aside.mkdir(mode=FOLDER_MODE)
    try:
        whole = aside / head.name
        whole.mkdir(mode=FOLDER_MODE)
        executables = _unpack_members(zipped, found, whole, limits)
        target = roots.custom / head.name
        # `rename` replaces an empty folder only.
        whole.rename(target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return InstalledSkill(head.name, head.description, executables)


def _read_front_matter(zipped: zipfile.ZipFile, found: Sequence[ArchiveMember]) -> FrontMatter:
    heads = [member for member in found if member.parts[-1].casefold() == SKILL_FILE.casefold()]
    top = [member for member in heads if member.parts == (SKILL_FILE,)]
    if not top:
        raise SkillRefused(f"The archive has no {SKILL_FILE} at its top level or in its only folder.")
    if len(heads) > 1:
        raise SkillRefused(
            f"The archive contains more than one {SKILL_FILE}; it must contain exactly one skill."
        )
    if top[0].info.file_size > MAX_FILE_BYTES:
        raise SkillRefused(f"{SKILL_FILE} is larger than {MAX_FILE_BYTES:,} bytes.", status=413)
    with zipped.open(top[0].info) as file:
        raw = file.read(MAX_FILE_BYTES + 1)
    try:
        return parse_skill(decode_text(raw, SKILL_FILE), SKILL_FILE)[0]
    except ConfigErrors as error:
        raise SkillRefused("; ".join(str(error).splitlines())) from None


def _refuse_existing(name: str, roots: SkillRoots) -> None:
    taken = {skill.name for skill in SkillDiscovery(roots).find_skills().skills}
    target = roots.custom / name
    if name in taken or target.is_symlink() or (target.exists() and not _is_empty(target)):
        raise SkillRefused(f'A skill named "{name}" already exists; remove or rename it first.', status=409)


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def _remove_stale_folders(custom: Path) -> None:
    for path in custom.glob(f"{_STAGING_PREFIX}*"):
        if path.is_dir() and not path.is_symlink() and time.time() - path.stat().st_mtime > STALE_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


def _unpack_members(
    zipped: zipfile.ZipFile, found: Sequence[ArchiveMember], folder: Path, limits: ArchiveLimits
) -> tuple[str, ...]:
    """Write the files without execute permission, and return those that can be run as programs."""
    executables: list[str] = []
    for member in found:
        target = folder.joinpath(*member.parts)
        target.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        start = _unpack_member(zipped, member, target, limits)
        marked = (member.info.external_attr >> 16) & _EXECUTE
        if marked or start.startswith(_PROGRAM_MAGIC) or _SCRIPT_NAMES.fullmatch(member.parts[-1]):
            executables.append(member_path(member))
    return tuple(sorted(executables))


def _unpack_member(
    zipped: zipfile.ZipFile, member: ArchiveMember, target: Path, limits: ArchiveLimits
) -> bytes:
    """Unpack a file, at most as large as declared, and return its first bytes."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE)
    start, size = b"", 0
    with os.fdopen(descriptor, "wb") as file, zipped.open(member.info) as source:
        while chunk := source.read(_CHUNK):
            start = start or chunk[:4]
            size += len(chunk)
            if size > min(member.info.file_size, limits.file_bytes):
                raise SkillRefused(f"{member_path(member)} is larger than its declared size.", status=413)
            file.write(chunk)
    return start
