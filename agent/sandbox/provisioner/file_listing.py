"""What a thread's folders hold, as both sides of the wire say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent.core.interfaces import SandboxError

Kind = Literal["file", "folder", "link", "gone"]
KINDS: tuple[Kind, ...] = ("file", "folder", "link", "gone")


@dataclass(frozen=True, slots=True)
class Entry:
    """One name: `path` as the agent sees it, `size` of the content in bytes (of a link: what it points to).

    `changed` is a file's time in nanoseconds (of a link: what tells its target from others); `runs`: whether
    it may be run. Equal ones are the same on both sides. `gone` says that nothing of this path is left.
    """

    path: str
    kind: Kind
    size: int = 0
    changed: int = 0
    runs: bool = False

    def as_list(self) -> list[Any]:
        """As JSON has it."""
        return [self.path, self.kind, self.size, self.changed, self.runs]

    @classmethod
    def from_list(cls, given: object) -> Entry:
        """The opposite. Raises SandboxError: who sends it may be anybody."""
        match given:
            case [str(path), str(kind), int(size), int(changed), bool(runs)] if kind in KINDS and size >= 0:
                return cls(path, kind, size, changed, runs)
        raise SandboxError("The other side speaks of files in a way that is not known here.")


@dataclass(frozen=True, slots=True)
class Tree:
    """All entries by their path, folders before what is in them. `cut`: there are more than may be named."""

    entries: Mapping[str, Entry]
    cut: bool = False

    def as_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"entries": [entry.as_list() for entry in self.entries.values()], "cut": self.cut}

    @classmethod
    def from_json(cls, given: object) -> Tree:
        """The opposite. Raises SandboxError."""
        match given:
            case {"entries": list(entries), "cut": bool(cut)}:
                return cls({one.path: one for one in map(Entry.from_list, entries)}, cut)
        raise SandboxError("The other side speaks of files in a way that is not known here.")


def gone(before: Tree, after: Tree) -> Iterator[Entry]:
    """What `before` has and `after` has not, or as another kind, the deepest first.

    Nothing where `after` was cut.
    """
    if after.cut:
        return
    for path, entry in reversed(list(before.entries.items())):
        there = after.entries.get(path)
        if there is None or there.kind != entry.kind:
            yield entry


def changed(before: Tree, after: Tree) -> Sequence[Entry]:
    """What `after` has that is not the same in `before`; folders before what is in them."""
    return [entry for path, entry in after.entries.items() if before.entries.get(path) != entry]
