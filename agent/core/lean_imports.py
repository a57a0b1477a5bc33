"""Import of packages without their unused parts, which would take a third of the startup time.

The process is ready after 2.5 to 3.3 CPU seconds instead of 3.8, with 1,730 modules instead of 2,400 and 134
MB instead of 165. If a new version of a package needs what is hidden here, the process does not start, and
the tests of this module fail. A process forked for each start would save more, but share its state and
threads.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, cast

ABSENT = ("numpy", "rich")
"""Packages that others import if they are installed: sqlite_vec for vectors, structlog and httpx for a
terminal.
"""
_OPENAI = ("responses", "beta", "realtime", "evals", "fine_tuning", "graders", "vector_stores", "audio")
_OPENAI_SMALL = (
    "conversations",
    "containers",
    "webhooks",
    "uploads",
    "skills",
    "shared",
    "shared_params",
    "chat",
)
POSTPONED = (
    "langsmith.types",
    "openai.types",
    *(f"openai.types.{name}" for name in (*_OPENAI, *_OPENAI_SMALL)),
)
"""Packages of types of an API, whose `__init__` imports hundreds of modules of which few are used."""
_lock = threading.Lock()


class PostponedPackage(ModuleType):
    """Stands for a package until one of its names is needed; its modules can be imported independently."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self._load(), name)

    def _load(self) -> ModuleType:
        """Import the package, which replaces this object, keeping modules that are already loaded."""
        name = self.__name__
        with _lock:
            if sys.modules.get(name) is self:
                del sys.modules[name]
        package = importlib.import_module(name)
        for key, value in vars(self).items():
            if isinstance(value, ModuleType) and not key.startswith("__"):
                vars(package).setdefault(key, value)
        return package


class _PostponedLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return PostponedPackage(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Skip the package's code."""


class _PostponingFinder(MetaPathFinder):
    """Finds each package as postponed once, and leaves it to other finders afterwards."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._names:
            return None
        self._names.discard(fullname)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            spec.loader = _PostponedLoader()
        return spec


def postpone_packages(names: Iterable[str] = POSTPONED) -> None:
    """Import these packages without their `__init__` until it is needed, in the whole process."""
    sys.meta_path.insert(0, _PostponingFinder(names))


@contextmanager
def without_packages(names: Sequence[str] = ABSENT) -> Iterator[None]:
    """Import as if these packages were not installed; restore normal imports afterwards."""
    hidden = [name for name in names if name not in sys.modules]
    # Importing a module set to None fails like importing a missing one.
    modules = cast("dict[str, ModuleType | None]", sys.modules)
    modules.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        for name in hidden:
            del modules[name]
