"""Translation between agent and host paths, by whole path segments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from agent.core.interfaces import SandboxError
from agent.core.paths import AREAS, VIRTUAL_ROOT

if TYPE_CHECKING:
    from agent.core.state import ThreadData

WORKSPACE = f"{VIRTUAL_ROOT}/workspace"
ACP_WORKSPACE = "/mnt/acp-workspace"
# These characters continue a name; a dot ends a sentence unless a name follows it.
_ENDS = r"(?![\w+@~%=-]|\.[\w-])"
_BEGINS = r"(?<![\w.~/-])"


@dataclass(frozen=True, slots=True)
class Mount:
    """A host folder, and its path for the agent.

    `installed`: no untrusted program writes there, and installers may have made hard links.
    """

    virtual: str
    host: Path
    writable: bool = False
    installed: bool = False


@dataclass(frozen=True, slots=True)
class MountedPath:
    """A path in a mount, split into names; none of them is `..`."""

    mount: Mount
    below: tuple[str, ...]


class VirtualPaths:
    """Translates paths. `hidden` are further host folders that must not be shown, with their replacements."""

    def __init__(self, mounts: Iterable[Mount], hidden: Mapping[Path, str] | None = None) -> None:
        self.mounts: Sequence[Mount] = tuple(mounts)
        self._by_root = {PurePosixPath(mount.virtual).parts: mount for mount in self.mounts}
        to_virtual = {str(mount.host): mount.virtual for mount in self.mounts}
        to_virtual |= {str(path.absolute()): shown for path, shown in (hidden or {}).items()}
        # A data directory reached through a link has two names.
        to_virtual |= {str(Path(host).resolve()): shown for host, shown in to_virtual.items()}
        self._to_virtual = to_virtual
        self._to_host = {mount.virtual: str(mount.host) for mount in self.mounts}
        self._hosts = _any_of(self._to_virtual)
        self._virtuals = _any_of(self._to_host, begins=_BEGINS)

    def locate(self, path: str) -> MountedPath:
        """Resolve a path; relative paths start in the workspace. Raises SandboxError."""
        if "\x00" in path or "\\" in path:
            raise SandboxError("This path is not allowed.")
        parts = [part for part in PurePosixPath(path).parts if part != "."]
        if ".." in parts:
            raise SandboxError("This path leads outside the sandbox.")
        if not path.startswith("/"):
            parts = [*PurePosixPath(WORKSPACE).parts, *parts]
        # A leading `//` is `/` for the kernel, but another root for pathlib.
        parts = ["/", *parts[1:]]
        for length in range(len(parts), 1, -1):
            if mount := self._by_root.get(tuple(parts[:length])):
                return MountedPath(mount, tuple(parts[length:]))
        raise SandboxError(f"This path is outside the sandbox, which has {self._describe_folders()}.")

    def _describe_folders(self) -> str:
        """Return the folders as one line, without the individual folders below `/mnt/skills`."""
        own = [one for one in self._to_host if one.startswith(f"{VIRTUAL_ROOT}/")]
        others = ["/".join(one.split("/")[:3]) for one in self._to_host if one not in own]
        return ", ".join(dict.fromkeys([*own, *others]))

    def to_host(self, command: str) -> str:
        """Replace agent paths in a command by host paths."""
        return self._virtuals.sub(lambda found: self._to_host[found[0]], command)

    def mask(self, text: str) -> str:
        """Replace host paths in a text by agent paths."""
        return self._hosts.sub(lambda found: self._to_virtual[found[0]], text)


def mounts_of(folders: ThreadData, read_only: Mapping[str, Path]) -> list[Mount]:
    """Return a thread's mounts: its folders, the copy of an external agent's files, and shared folders."""
    own = [
        Mount(f"{VIRTUAL_ROOT}/{area}", Path(folders[f"{area}_path"]).absolute(), writable=True)  # type: ignore[literal-required]
        for area in AREAS
    ]
    thread = own[0].host.parent.parent
    acp = Mount(ACP_WORKSPACE, thread / "acp-workspace")
    shared = (Mount(virtual, path.absolute(), installed=True) for virtual, path in read_only.items())
    return [*own, acp, *shared]


def hidden_of(folders: ThreadData) -> dict[Path, str]:
    """Return the parents of the thread's folders, which may occur in messages, with their replacements."""
    user_data = Path(folders["workspace_path"]).parent
    thread = user_data.parent
    return {user_data: VIRTUAL_ROOT, thread: "/mnt", thread.parent: "[…]", thread.parent.parent: "[…]"}


def mask_folders(text: str, folders: ThreadData) -> str:
    """Replace a thread's folders in a text by agent paths, without disk access."""
    known = {folders[f"{area}_path"]: f"{VIRTUAL_ROOT}/{area}" for area in AREAS}  # type: ignore[literal-required]
    known |= {str(path): shown for path, shown in hidden_of(folders).items()}
    return _any_of(known.keys() - {"", "."}).sub(lambda found: known[found[0]], text)


def _any_of(paths: Iterable[str], begins: str = "") -> re.Pattern[str]:
    longest_first = sorted((path for path in paths if path != "/"), key=len, reverse=True)
    return re.compile(f"{begins}(?:{'|'.join(map(re.escape, longest_first))}){_ENDS}")
