"""Collection of a skill's files from an archive or a folder into an empty folder. Functions block.

See `agent.skills.git_source` for git repositories.
"""

from __future__ import annotations

import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, Protocol

from agent.errors import SkillRefused
from agent.skills.access import FILE_MODE, PROGRAM_MODE, make_open_folder
from agent.skills.archive import (
    ArchiveLimits,
    ArchiveMember,
    NameRegistry,
    list_members,
    split_safe_path,
    to_printable,
)

OriginKind = Literal["archive", "folder", "git", "unknown"]
_CHUNK = 1 << 16
_EXECUTE = 0o111
_PROGRAM_MAGIC = (b"#!", b"\x7fELF", b"MZ", b"\xfe\xed\xfa", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_SKIPPED = re.compile(r"\.git|\.hg|\.svn|__MACOSX|__pycache__|node_modules|\.DS_Store|Thumbs\.db")


@dataclass(frozen=True, slots=True)
class SkillOrigin:
    """The origin of a skill. `location` is the name of a file or folder, or the address of a repository.

    Of a repository, `path` is the skill's folder in it, `reference` what was asked for (a branch, a tag or a
    commit), and `commit` what was installed.
    """

    kind: OriginKind = "unknown"
    location: str = ""
    path: str = ""
    reference: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class CollectedSkill:
    """The origin of collected files, and the name of their folder or archive."""

    folder: str
    origin: SkillOrigin


class SkillSource(Protocol):
    """A source from which a skill can be installed."""

    def collect(self, folder: Path, limits: ArchiveLimits) -> CollectedSkill:
        """Write the skill's files into an empty folder. Raises SkillRefused."""
        ...


class SkillWriter:
    """Writes a skill's files within limits, with modes that don't depend on the umask.

    Archives made on Windows have no execute permissions, so programs are recognized by their start as well.
    """

    def __init__(self, folder: Path, limits: ArchiveLimits) -> None:
        self._folder, self._limits = folder, limits
        self._names = NameRegistry()
        self._room = limits.total_bytes
        self._count = 0

    def write_file(
        self, parts: tuple[str, ...], chunks: Iterable[bytes], *, marked: bool, limit: int | None = None
    ) -> None:
        """Write a file of up to `limit` bytes; `marked` if it is executable in its source."""
        name = "/".join(parts)
        split_safe_path(name, name)
        self._names.add(parts, is_folder=False, name=name)
        self._count += 1
        if self._count > self._limits.entries:
            raise SkillRefused(f"The skill contains more than {self._limits.entries:,} files.", status=413)
        target = self._folder
        for part in parts[:-1]:
            target /= part
            make_open_folder(target)
        target /= parts[-1]
        if self._copy(chunks, target, name, limit).startswith(_PROGRAM_MAGIC) or marked:
            target.chmod(PROGRAM_MODE)

    def _copy(self, chunks: Iterable[bytes], target: Path, name: str, limit: int | None) -> bytes:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE)
        start, size = b"", 0
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, FILE_MODE)
            for chunk in chunks:
                start = start or chunk[:4]
                size += len(chunk)
                self._room -= len(chunk)
                if limit is not None and size > limit:
                    raise SkillRefused(f"{to_printable(name)} is larger than its declared size.", status=413)
                if size > self._limits.file_bytes:
                    raise SkillRefused(f"{to_printable(name)} is too large.", status=413)
                if self._room < 0:
                    raise SkillRefused("The skill's files are too large.", status=413)
                file.write(chunk)
        return start


@dataclass(frozen=True, slots=True)
class ArchiveSource:
    """A zip archive. `name` is the uploaded file's name, `path` the skill's folder if it contains several."""

    file: Path
    name: str = ""
    path: str = ""

    def collect(self, folder: Path, limits: ArchiveLimits) -> CollectedSkill:
        """Unpack the archive, omitting its folder if it has a single one. Raises SkillRefused."""
        top = ""
        with _open_archive(self.file, limits) as (zipped, size):
            writer = SkillWriter(folder, limits)
            for member in self._select_members(list_members(zipped, size, limits)):
                top = member.top
                marked = bool((member.info.external_attr >> 16) & _EXECUTE)
                with zipped.open(member.info) as source:
                    limit = member.info.file_size
                    writer.write_file(member.parts, _read_chunks(source), marked=marked, limit=limit)
        name = self.name or self.file.name
        return CollectedSkill(top or Path(name).stem, SkillOrigin("archive", name, self.path.strip("/")))

    def _select_members(self, members: Sequence[ArchiveMember]) -> Sequence[ArchiveMember]:
        """Return the files of the folder `path` with their paths in it. Raises SkillRefused."""
        path = tuple(part for part in self.path.split("/") if part)
        if not path:
            return members
        depth = len(path)
        found = [
            ArchiveMember(member.info, member.parts[depth:], path[-1])
            for member in members
            if member.parts[:depth] == path and len(member.parts) > depth
        ]
        if not found:
            raise SkillRefused(f"The archive has no folder {to_printable(self.path)}.", status=404)
        return found


def _read_chunks(source: IO[bytes]) -> Iterator[bytes]:
    while chunk := source.read(_CHUNK):
        yield chunk


@contextmanager
def _open_archive(path: Path, limits: ArchiveLimits) -> Iterator[tuple[zipfile.ZipFile, int]]:
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise SkillRefused("Not a regular file.")
        if size > limits.archive_bytes:
            raise SkillRefused(
                f"The archive is larger than {limits.archive_bytes // 1_000_000} MB.", status=413
            )
        with path.open("rb") as file, _open_zip(file) as zipped:
            yield zipped, size
    except FileNotFoundError:
        raise SkillRefused(f"File not found: {path.name}.", status=404) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, RecursionError):
            raise
        raise SkillRefused("Not a valid archive: a .skill file must be a zip file.") from error


def _open_zip(file: IO[bytes]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except (ValueError, UnicodeDecodeError) as error:
        raise SkillRefused("Not a valid archive: a .skill file must be a zip file.") from error


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A folder on this machine, without its version control files and caches."""

    root: Path

    def collect(self, folder: Path, limits: ArchiveLimits) -> CollectedSkill:
        """Copy the folder, rejecting links in it. Raises SkillRefused."""
        writer = SkillWriter(folder, limits)
        try:
            _copy_folder(os.open(self.root, os.O_RDONLY | os.O_DIRECTORY), (), writer)
        except NotADirectoryError:
            raise SkillRefused(f"Not a folder: {self.root.name}.") from None
        except FileNotFoundError:
            raise SkillRefused(f"Folder not found: {self.root.name}.", status=404) from None
        name = self.root.resolve().name
        return CollectedSkill(name, SkillOrigin("folder", str(self.root)))


def _copy_folder(descriptor: int, parents: tuple[str, ...], writer: SkillWriter) -> None:
    """Copy an open folder's content, and close it. Links that appear meanwhile are not followed."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        for name in sorted(os.listdir(descriptor)):
            if _SKIPPED.fullmatch(name):
                continue
            parts = (*parents, name)
            found = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
            if stat.S_ISDIR(found):
                split_safe_path("/".join(parts), "/".join(parts))
                _copy_folder(os.open(name, flags | os.O_DIRECTORY, dir_fd=descriptor), parts, writer)
            elif stat.S_ISREG(found):
                with os.fdopen(os.open(name, flags, dir_fd=descriptor), "rb") as source:
                    marked = bool(os.fstat(source.fileno()).st_mode & _EXECUTE)
                    writer.write_file(parts, _read_chunks(source), marked=marked)
            else:
                raise SkillRefused(f"The skill contains a link or a device: {to_printable('/'.join(parts))}.")
    finally:
        os.close(descriptor)
