"""Validation of a `.skill` archive (a zip) before any of it is written.

Each refusal is a SkillRefused that names the entry. Blocking.
"""

from __future__ import annotations

import re
import stat
import unicodedata
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.errors import SkillRefused
from agent.shared.text import replace_unprintable, shorten

_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:\..*)?", re.IGNORECASE)
_SKIPPED = re.compile(r"(?:^|/)(?:__MACOSX(?:/|$)|\.DS_Store$|Thumbs\.db$)")
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 0x1
SEGMENT_BYTES = 120
PATH_BYTES = 400
MAX_DEPTH = 10


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Maximum bytes of the archive, of one file and of all files, number of entries, and compression ratio.

    The ratio is checked only above `ratio_from` bytes: a small file of spaces is not a zip bomb. The format
    has no limits; Anthropic's Skills API takes uploads of up to 30 MB.
    """

    archive_bytes: int = 32_000_000
    file_bytes: int = 32_000_000
    total_bytes: int = 100_000_000
    entries: int = 2_000
    ratio: int = 100
    ratio_from: int = 100_000


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A file to unpack. `parts` is its path in the skill's folder, `top` that folder's name or ""."""

    info: zipfile.ZipInfo
    parts: tuple[str, ...]
    top: str = ""


def list_members(archive: zipfile.ZipFile, size: int, limits: ArchiveLimits) -> list[ArchiveMember]:
    """Return the files of the archive, without an enclosing top folder. Raises SkillRefused."""
    infos = archive.infolist()
    if len(infos) > limits.entries:
        raise SkillRefused(f"The archive contains more than {limits.entries} entries.", status=413)
    _check_sizes(infos, size, limits)
    found: list[ArchiveMember] = []
    names = NameRegistry()
    for info in infos:
        # The name as stored, before zipfile sanitizes it.
        name = getattr(info, "orig_filename", info.filename)
        if _SKIPPED.search(name):
            continue
        is_folder = name.endswith("/")
        _check_kind(info, name, is_folder=is_folder)
        parts = split_safe_path(name.removesuffix("/"), name)
        names.add(parts, is_folder=is_folder, name=name)
        if not is_folder:
            found.append(ArchiveMember(info, parts))
    return list(_strip_top_folder(found))


def split_safe_path(path: str, name: str) -> tuple[str, ...]:
    """Split a path that is safe on every operating system. Raises SkillRefused."""
    told = to_printable(name)
    if path.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", path):
        raise SkillRefused(f"The skill contains an absolute path: {told}.")
    parts = tuple(path.split("/"))
    if ".." in parts or ".." in re.split(r"[/\\]", path):
        raise SkillRefused(f"The skill contains a path outside the skill's folder: {told}.")
    if len(path.encode(errors="replace")) > PATH_BYTES or len(parts) > MAX_DEPTH:
        raise SkillRefused(f"The skill contains a path that is too long or too deep: {told}.")
    for part in parts:
        if _is_harmful(part):
            raise SkillRefused(
                f"The skill contains a name that is invalid on some operating systems: {told}."
            )
    return parts


def _is_harmful(part: str) -> bool:
    too_long = len(part.encode(errors="replace")) > SEGMENT_BYTES
    is_dotted = part in {"", "."} or part != part.rstrip(" .") or part != part.lstrip(" ")
    surrogate = any(0xD800 <= ord(sign) < 0xE000 for sign in part)
    return bool(too_long or is_dotted or surrogate or _FORBIDDEN.search(part) or _RESERVED.fullmatch(part))


class NameRegistry:
    """Rejects names that collide on a case-insensitive file system."""

    def __init__(self) -> None:
        self._folders: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._files: set[tuple[str, ...]] = set()

    def add(self, parts: tuple[str, ...], *, is_folder: bool, name: str) -> None:
        """Register an entry. Raises SkillRefused."""
        folders = [parts[:depth] for depth in range(1, len(parts) + is_folder)]
        for folder in folders:
            key = _fold_case(folder)
            if key in self._files or self._folders.setdefault(key, folder) != folder:
                raise SkillRefused(
                    f"The skill contains two names that collide on some systems: {to_printable(name)}."
                )
        if not is_folder:
            key = _fold_case(parts)
            if key in self._files or key in self._folders:
                raise SkillRefused(f"The skill contains a duplicate name: {to_printable(name)}.")
            self._files.add(key)


def _fold_case(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(unicodedata.normalize("NFKC", part).casefold() for part in parts)


def _check_sizes(infos: Sequence[zipfile.ZipInfo], size: int, limits: ArchiveLimits) -> None:
    total = 0
    for info in infos:
        total += info.file_size
        if info.file_size > limits.file_bytes:
            raise SkillRefused(f"{to_printable(info.filename)} in the archive is too large.", status=413)
        packed = max(info.compress_size, 1)
        if info.file_size > limits.ratio_from and info.file_size / packed > limits.ratio:
            raise SkillRefused(
                f"{to_printable(info.filename)} has a suspicious compression ratio.", status=413
            )
    if total > limits.total_bytes or (total > limits.ratio_from and total / max(size, 1) > limits.ratio):
        raise SkillRefused("The archive's contents are too large.", status=413)


def _check_kind(info: zipfile.ZipInfo, name: str, *, is_folder: bool) -> None:
    mode = info.external_attr >> 16
    kind = stat.S_IFMT(mode)
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR} or (kind == stat.S_IFDIR) > is_folder:
        raise SkillRefused(f"The skill contains a link or a device: {to_printable(name)}.")
    if info.flag_bits & _ENCRYPTED:
        raise SkillRefused("The archive is encrypted.")
    if info.compress_type not in _METHODS:
        raise SkillRefused(f"{to_printable(name)} uses an unsupported compression method; use plain zip.")


def _strip_top_folder(found: Sequence[ArchiveMember]) -> Iterator[ArchiveMember]:
    """Remove the single folder that contains everything, if there is one."""
    tops = {member.parts[0] for member in found}
    wrapped = len(tops) == 1 and all(len(member.parts) > 1 for member in found)
    for member in found:
        yield ArchiveMember(member.info, member.parts[1:], member.parts[0]) if wrapped else member


def to_printable(name: str, *, longest: int = 80) -> str:
    """Return the name shortened and without unprintable characters, for messages."""
    return shorten(replace_unprintable(name), longest)
