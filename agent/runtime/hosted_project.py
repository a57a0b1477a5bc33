"""Imports of hosted projects with packages that are named like ours.

The modules of such a project are loaded as submodules of a separate package, and their import statements look
there first. So `import agent` imports the project's package in the project's code, and ours in our code.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

OURS = ("agent", "bot")


class HostedProject(MetaPathFinder):
    """Finder of a project's modules, below a package without a file whose path is the project's folders.

    `importlib.import_module` with the name of one of our packages still finds ours.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [str(folder) for folder in folders]
        self.name = f"_hosted_{sha256(self._folders[0].encode()).hexdigest()[:8]}"
        self.builtins: dict[str, Any] = {**vars(builtins), "__import__": self._import}
        self._owns = cache(self._find_owner)

    @classmethod
    def install(cls, folders: Sequence[Path]) -> HostedProject | None:
        """Return the project in these folders, or None if none of its modules is named like ours."""
        if not any(_has_foreign(folder, name) for folder in folders for name in OURS):
            return None
        project = cls(folders)
        if project.name not in sys.modules:
            package = ModuleType(project.name)
            package.__path__ = project._folders
            sys.modules[project.name] = package
            sys.meta_path.insert(0, project)
        return project

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of the project, and give it the project's `__import__`."""
        if not fullname.startswith(f"{self.name}."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _HostedLoader(spec.loader.name, spec.loader.path, self.builtins)
        return spec

    def import_module(self, name: str) -> ModuleType:
        """Import a module by the name that the project's code uses."""
        return importlib.import_module(f"{self.name}.{name}" if self._is_own(name) else name)

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """Replace `__import__` in the project's modules."""
        if level or not self._is_own(name):
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        found = builtins.__import__(f"{self.name}.{name}", globals, locals, fromlist or ())
        return found if fromlist else sys.modules[f"{self.name}.{name.partition('.')[0]}"]

    def _is_own(self, name: str) -> bool:
        return self._owns(name.partition(".")[0])

    def _find_owner(self, top: str) -> bool:
        """Return whether a top-level module is the project's.

        A folder without `__init__.py` is, unless a regular module elsewhere has its name.
        """
        if top in sys.stdlib_module_names:
            return False
        spec = PathFinder.find_spec(top, self._folders)
        if spec is None or spec.loader is not None or top in OURS:
            return spec is not None
        elsewhere = PathFinder.find_spec(top, [one for one in sys.path if one not in self._folders])
        return elsewhere is None or elsewhere.loader is None


class _HostedLoader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, names: Mapping[str, Any]) -> None:
        super().__init__(fullname, path)
        self._names = names

    def exec_module(self, module: ModuleType) -> None:
        """Run the module with the project's `__import__`."""
        vars(module)["__builtins__"] = self._names
        super().exec_module(module)


def _has_foreign(folder: Path, name: str) -> bool:
    """Return whether the folder has a module of this name that is not ours."""
    spec = PathFinder.find_spec(name, [str(folder)])
    ours = importlib.util.find_spec(name)
    if spec is None or ours is None:
        return False
    places = [Path(place).resolve() for place in ours.submodule_search_locations or ()]
    found = spec.submodule_search_locations
    return found is None or not {Path(place).resolve() for place in found}.issubset(places)
